package agent

import (
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// onHost finds the NIC with that permanent MAC address on the host; "" if the host does not have it.
func (p *plugs) onHost(mac heddle.MAC) (name string, err error) {
	if err := p.host.refresh(); err != nil {
		return "", err
	}
	n, _, _ := p.among(p.host.now().Links, nic.Card{MAC: mac}) // one that cannot be described may be it
	return n.Name, nil
}

// stillHere is the error for a NIC that the provider has taken out, as it says.
func stillHere(mac heddle.MAC, name string) error {
	return heddle.Errorf(heddle.Waited, "take out NIC", string(mac), "the provider has it no more, and the machine has it still, as "+name,
		"look at the hypervisor which device has that MAC address, and take it out there")
}

// leaks are NICs that the machine has, nobody wants, and the provider does not know. all is what the provider has.
func (p *plugs) leaks(all map[string]nic.Card) (found []heddle.Finding, err error) {
	p.mu.Lock()
	left := map[string]heddle.MAC{}
	for token, mac := range p.left {
		if _, known := all[token]; !known {
			left[token] = mac
		}
	}
	p.mu.Unlock()
	for _, token := range slices.Sorted(maps.Keys(left)) {
		mac := left[token]
		name, err := p.onHost(mac)
		if err != nil {
			return nil, err
		}
		if name != "" {
			still := stillHere(mac, name)
			found = append(found, heddle.Finding{Kind: "leftover", Object: pluggedObject + token, Detail: heddle.SentenceOf(still), Remedy: heddle.RemedyOf(still)})
		}
	}
	return found, nil
}
