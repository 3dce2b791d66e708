package agent

import "github.com/heddle-network/heddle"

// restore notes, at start, that a recorded endpoint has its NIC.
func (p *plugs) restore(e heddle.Endpoint) {
	if e.NIC != nil && e.NIC.Plugged != nil {
		p.want(e.NIC.Plugged.Token, e.MAC)
	}
	p.parents.restore(e)
}

func (p *plugs) want(token string, mac heddle.MAC) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted[token] = mac
	delete(p.left, token)
}

// chosen is nic.Order.Chosen of an order that asked for a MAC address: NIC managers are told to ignore the one that the NIC has.
func (p *plugs) chosen(token string, asked heddle.MAC) func(heddle.MAC) error {
	return func(mac heddle.MAC) error {
		if mac == asked {
			return nil
		}
		if err := p.holds.keepOff(heddle.NIC{MAC: mac}); err != nil {
			return err
		}
		p.want(token, mac)
		_, err := p.holds.freeOnce(asked, func() {})
		return err
	}
}

// wantedMAC is the MAC address of a NIC that somebody wants.
func (p *plugs) wantedMAC(token string) heddle.MAC {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted[token]
}

// unwant notes that nobody wants a NIC that was not ordered.
func (p *plugs) unwant(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.wanted, token)
}

// unsure reports whether NICs of an earlier agent may be there that are not known yet.
func (p *plugs) unsure() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.provider != nil && !p.looked
}

// sure notes that all NICs are known. What an earlier agent has left of others can be removed then.
func (p *plugs) sure() {
	p.mu.Lock()
	first := !p.looked
	p.looked = true
	p.mu.Unlock()
	if first && p.prune != nil {
		p.prune()
	}
}

// leave notes that nobody wants a NIC any more.
func (p *plugs) leave(token string, mac heddle.MAC) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(token, mac)
}

// leaveStray is leave for a NIC that the provider has, unless somebody has got it meanwhile.
func (p *plugs) leaveStray(token string, mac heddle.MAC) {
	p.mu.Lock()
	before := p.left[token]
	if p.wanted[token] == "" {
		p.leaveLocked(token, mac)
	}
	p.mu.Unlock()
	if before != "" && before != mac { // that one was asked for, and the provider chose another
		p.holds.freeOnce(before, func() {})
	}
}

func (p *plugs) leaveLocked(token string, mac heddle.MAC) {
	delete(p.wanted, token)
	delete(p.suspect, token)
	p.left[token] = mac
}

// leftMAC is the MAC address of a NIC that may not have been taken out; "" of any other one.
func (p *plugs) leftMAC(token string) heddle.MAC {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[token]
}

func (p *plugs) wants(token string) bool {
	return p.wantedMAC(token) != ""
}

// has reports whether a NIC with that MAC address is wanted, or may not have been taken out.
func (p *plugs) has(mac heddle.MAC) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, some := range []map[string]heddle.MAC{p.wanted, p.left} {
		for _, one := range some {
			if one == mac {
				return true
			}
		}
	}
	return false
}
