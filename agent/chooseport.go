package agent

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// The first and the last port that is published where any will do. Nobody else chooses ports in this
// range: the kernel gives sockets those from 32768 on, masquerading uses those from 61000 on, and
// Kubernetes those from 30000 to 32767 (NodePort).
const (
	firstAnyPort = 20000
	lastAnyPort  = 29999
)

// choose returns the mappings that are asked for with a free port where the host's port is open. The
// caller holds the lock.
func (t *ports) choose(asked, earlier []heddle.PortMapping) ([]heddle.PortMapping, error) {
	all := make([]heddle.PortMapping, len(asked))
	own := portTable{}
	for _, i := range byLastPort(asked) {
		q := asked[i]
		if q.HostPortEnd = 0; asked[i].IsOpen() {
			var err error
			if q, err = t.chooseOne(asked[i], earlier, own); err != nil {
				return nil, err
			}
		}
		all[i] = q
		own[portKey(q)] = append(own[portKey(q)], published{PortMapping: q})
	}
	return all, nil
}

// byLastPort returns the mappings' positions: first those whose port is fixed, then the open ones, in
// the order of the last port that each may get. Who takes the lowest fitting port for one after the
// other finds ports for all, if there are any.
func byLastPort(all []heddle.PortMapping) []int {
	last := func(p heddle.PortMapping) uint16 {
		switch {
		case !p.IsOpen():
			return 0
		case p.HostPort == 0:
			return math.MaxUint16
		}
		return p.HostPortEnd
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(last(all[i]), last(all[j])) })
	return order
}

// chooseOne finds a port that is neither published, also not in own, nor listened on.
func (t *ports) chooseOne(p heddle.PortMapping, earlier []heddle.PortMapping, own portTable) (heddle.PortMapping, error) {
	for q := range candidates(p, earlier) {
		if t.all.has(q) || own.has(q) {
			continue
		}
		if err := t.listen(q); err == nil {
			return q, nil
		} else if !errors.Is(err, unix.EADDRINUSE) {
			return p, listenError(p, err)
		}
	}
	which := fmt.Sprintf("no port from %d to %d is free", firstAnyPort, lastAnyPort)
	if p.HostPort != 0 {
		which = fmt.Sprintf("no port from %d to %d is free", p.HostPort, p.HostPortEnd)
	}
	return p, heddle.Errorf(heddle.PortTaken, "publish port", p.String(), which, "choose another range, or name a free port")
}

// candidates are the ports that an open mapping may get: those that the endpoint had before, then
// those of the range from its beginning on, or any, from a random one on.
func candidates(p heddle.PortMapping, earlier []heddle.PortMapping) iter.Seq[heddle.PortMapping] {
	first, count, skip := firstAnyPort, lastAnyPort-firstAnyPort+1, 0
	if p.HostPort == 0 {
		skip = rand.N(count)
	} else {
		first, count = int(p.HostPort), int(p.HostPortEnd)-int(p.HostPort)+1
	}
	return func(yield func(heddle.PortMapping) bool) {
		for _, q := range earlier {
			if p.Admits(q) && !yield(q) {
				return
			}
		}
		q := p
		q.HostPortEnd = 0
		for i := range count {
			if q.HostPort = uint16(first + (skip+i)%count); !yield(q) {
				return
			}
		}
	}
}

// listenError says why a port cannot be published: listening on it failed.
func listenError(p heddle.PortMapping, err error) error {
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return heddle.Wrap(heddle.BadAddress, "publish port", p.String(), err, "name an address of this host")
	case errors.Is(err, unix.EPROTONOSUPPORT):
		return heddle.Wrap(heddle.NotOnKernel, "publish port", p.String(), err,
			"use a kernel that tracks SCTP (CONFIG_NF_CT_PROTO_SCTP), as Debian's does")
	}
	remedy := "choose another host port, or stop the program that listens there"
	if p.HostPort == heddle.ResolverPort {
		remedy = "name one address of the host with the port, as containers ask for names at port 53 of others; or start heddled with --resolver none"
	}
	return heddle.Wrap(heddle.PortTaken, "publish port", p.String(), err, remedy)
}
