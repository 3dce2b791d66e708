package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// parts tells of the provider in the status, if there is one.
func (p *plugs) parts() []heddle.PartStatus {
	pools := p.poolsText() + p.parents.text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider == nil && len(p.wanted)+len(p.left) == 0 {
		return nil
	}
	part := heddle.PartStatus{Name: "nics", State: "ok"}
	switch {
	case p.provider == nil:
		part.State, part.Detail = "warn", fmt.Sprintf("%d are plugged in, and heddled was started without --nic-grant or --nic-cloud", len(p.wanted)+len(p.left))
	case p.trouble != nil:
		part.State, part.Detail = "warn", fmt.Sprintf("%s; who plugs NICs in does not answer: %s", pools, p.trouble)
	case p.offer.Machine == "":
		part.Detail = "not asked yet"
	default:
		part.Detail = fmt.Sprintf("machine %s: %d of %d slots free, %s, networks %s", p.offer.Machine, p.offer.Free, p.offer.Slots, pools, strings.Join(p.offer.Networks, ", "))
	}
	return []heddle.PartStatus{part}
}

// poolsText tells of the pools in a few words: all of them, and each one.
func (p *plugs) poolsText() string {
	warm, cooling := 0, 0
	var each []string
	for _, w := range p.warmNetworks() {
		own := p.poolOf(w)
		warm, cooling = warm+own.Warm, cooling+own.Cooling
		each = append(each, fmt.Sprintf("%s: %d of %d", w.name, own.Warm, own.Target))
	}
	text := fmt.Sprintf("%d warm", warm)
	if cooling > 0 {
		text += fmt.Sprintf(", %d cooling", cooling)
	}
	if len(each) > 0 {
		slices.Sort(each)
		text += " (" + strings.Join(each, ", ") + ")"
	}
	return text
}

// poolOf tells of a network's pool.
func (p *plugs) poolOf(w warmNetwork) heddle.NICPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	own := p.poolLocked(w)
	ready, cooling := own.counts(now)
	return heddle.NICPool{Warm: ready, Cooling: cooling, Target: own.target(now), Least: w.least, Most: w.most}
}

// addressesEach is how many sets of further addresses a NIC may have, as the provider said last.
func (p *plugs) addressesEach() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer.Addresses
}

// slots tells of the machine's quota.
func (p *plugs) slots() *heddle.NICSlots {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.offer.Machine == "" {
		return nil
	}
	return &heddle.NICSlots{Machine: p.offer.Machine, Slots: p.offer.Slots, Free: p.offer.Free}
}

// poolStatus tells of a network's pool; nil if it has none.
func (p *plugs) poolStatus(network string) *heddle.NICPool {
	w, is := p.warmNetwork(network)
	if !is {
		return nil
	}
	own := p.poolOf(w)
	return &own
}
