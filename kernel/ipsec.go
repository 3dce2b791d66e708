package kernel

import (
	"errors"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Definitions from linux/xfrm.h: directions and actions of policies, and the group that reports
// their changes.
const (
	xfrmPolicyIn    = 0
	xfrmPolicyOut   = 1
	xfrmPolicyBlock = 1
	xfrmGroupPolicy = 4
	xfrmGetDefault  = 0x28 // XFRM_MSG_GETDEFAULT, since Linux 5.15
)

// xfrmDefaults are the default actions for packets that no policy matches (struct
// xfrm_userpolicy_default), for the directions in, forward and out.
type xfrmDefaults []byte

func (d xfrmDefaults) Serialize() []byte { return d }
func (d xfrmDefaults) Len() int          { return len(d) }

// secured lists the traffic that the host's IPsec policies protect or discard. A kernel without
// IPsec has none.
func (k *Kernel) secured() (all []heddle.Secured, err error) {
	var c *conn
	err = k.home.Do(func() (err error) {
		c, err = dial(unix.NETLINK_XFRM)
		return err
	})
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer c.close()
	found, err := list(c, func() *nl.NetlinkRequest {
		return request(nl.XFRM_MSG_GETPOLICY, 0, nl.NewIfInfomsg(unix.AF_UNSPEC))
	}, decodePolicy)
	if errors.Is(err, unix.EPERM) {
		return nil, nil // a process that may not ask may not change the network, either
	}
	if err != nil {
		return nil, err
	}
	byDefault, err := stopped(c)
	once := map[heddle.Secured]bool{}
	for _, s := range append(found, byDefault...) {
		if !once[s] {
			all = append(all, s)
		}
		once[s] = true
	}
	return all, err
}

// stopped returns all traffic if the host drops packets that no policy matches.
func stopped(c *conn) (all []heddle.Secured, err error) {
	err = c.get(request(xfrmGetDefault, 0, xfrmDefaults{0, 0, 0}), func(_ uint16, d []byte) {
		if len(d) < 3 || d[0] != xfrmPolicyBlock && d[2] != xfrmPolicyBlock {
			return
		}
		for _, zero := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
			everything := netip.PrefixFrom(zero, 0)
			all = append(all, heddle.Secured{Local: everything, Remote: everything})
		}
	})
	if errors.Is(err, unix.EINVAL) {
		return nil, nil // older kernels have no such default
	}
	return all, err
}

// decodePolicy reads a policy that may match UDP between hosts (struct xfrm_userpolicy_info and its
// attributes). It ignores ports and marks, so that too much traffic is left to the stack rather
// than too little. A policy of an xfrm interface matches what passes that interface, which is not
// the underlay's traffic.
func decodePolicy(b []byte) (s heddle.Secured, ok bool) {
	if len(b) < nl.SizeofXfrmUserpolicyInfo {
		return s, false
	}
	p := nl.DeserializeXfrmUserpolicyInfo(b)
	attrs := after(nl.SizeofXfrmUserpolicyInfo, b)
	switch {
	case p.Dir != xfrmPolicyIn && p.Dir != xfrmPolicyOut, // forwarded packets, or the policy of a socket
		p.Sel.Proto != 0 && p.Sel.Proto != unix.IPPROTO_UDP,
		p.Action != xfrmPolicyBlock && len(attrs.get(nl.XFRMA_TMPL)) == 0,
		number(attrs.get(nl.XFRMA_IF_ID)) != 0:
		return s, false
	}
	s.Local, s.Remote = selected(p.Sel.Saddr, p.Sel.PrefixlenS, p.Sel.Family), selected(p.Sel.Daddr, p.Sel.PrefixlenD, p.Sel.Family)
	if p.Dir == xfrmPolicyIn {
		s.Local, s.Remote = s.Remote, s.Local
	}
	return s, true
}

// selected is one end of the selector of a policy.
func selected(a nl.XfrmAddress, bits uint8, family uint16) netip.Prefix {
	addr := netip.AddrFrom16(a)
	if family == unix.AF_INET {
		addr = netip.AddrFrom4([4]byte(a[:4]))
	}
	return netip.PrefixFrom(addr, int(bits)).Masked()
}

// concernsPolicies recognises changes to IPsec policies: the fast path leaves the traffic
// of these policies to the stack.
func concernsPolicies(m message) bool {
	switch m.Header.Type {
	case nl.XFRM_MSG_NEWPOLICY, nl.XFRM_MSG_DELPOLICY, nl.XFRM_MSG_UPDPOLICY, nl.XFRM_MSG_FLUSHPOLICY, xfrmGetDefault:
		return true
	}
	return false
}
