package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The nftables part of the netlink socket (linux/netfilter/nf_tables.h).

var nftFamilies = map[string]uint8{"inet": unix.NFPROTO_INET, "bridge": unix.NFPROTO_BRIDGE}

// nftRequest starts a message to nf_tables. It is not acknowledged unless the caller asks for that.
func nftRequest(kind, flags int, family string) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_NFTABLES<<8|kind, flags)
	r.AddData(&nl.Nfgenmsg{NfgenFamily: nftFamilies[family], Version: nl.NFNETLINK_V0})
	return r
}

// batchMark opens or closes a batch, which the kernel applies as a whole or not at all.
func batchMark(kind int) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, 0)
	// res_id is big-endian, whatever the host.
	subsystem := nl.NativeEndian().Uint16(binary.BigEndian.AppendUint16(nil, unix.NFNL_SUBSYS_NFTABLES))
	r.AddData(&nl.Nfgenmsg{ResId: subsystem})
	return r
}

// batch sends the messages as one transaction. The kernel answers before sendto returns, with an
// error for every message that failed. So the answers that are queued afterwards are complete.
func (c *conn) batch(reqs ...*nl.NetlinkRequest) error {
	if len(reqs) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.next
	reqs[len(reqs)-1].Flags |= unix.NLM_F_ACK
	all := append([]*nl.NetlinkRequest{batchMark(unix.NFNL_MSG_BATCH_BEGIN)}, reqs...)
	if err := c.send(append(all, batchMark(unix.NFNL_MSG_BATCH_END))); err != nil {
		return err
	}
	return c.drain(first)
}

// drain reads the answers that are queued and returns the first failure.
func (c *conn) drain(first uint32) error {
	var failed error
	for answered := false; ; {
		msgs, err := c.receive(unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			if !answered {
				return errors.New("no answer to the batch")
			}
			return failed
		}
		if err != nil {
			return err
		}
		for _, m := range msgs {
			if m.Header.Seq < first || m.Header.Type != unix.NLMSG_ERROR {
				continue
			}
			answered = true
			if r := parseAck(m); r != nil && failed == nil {
				failed = r
			}
		}
	}
}

// member is an element in the kernel's form.
type member struct {
	heddle.Element
	key, value []byte
	// end is the last key of an element in a set of ranges.
	end     []byte
	verdict *nl.RtAttr
}

// newMember encodes an element.
func newMember(e heddle.Element) (member, error) {
	t, known := firewall.TypeOf(e.Family, e.Set)
	if !known {
		return member{}, fmt.Errorf("no set %s of ours in %s", e.Set, e.Family)
	}
	m := member{Element: e}
	var err error
	if m.key, m.end, err = encodeMatch(t, e.Match); err != nil {
		return member{}, err
	}
	switch {
	case t.Value == nil:
	case t.Value[0] == firewall.TypeVerdict && len(e.Value) == 1:
		m.verdict, err = verdictAttr(e.Value[0])
	default:
		m.value, err = encode(t.Value, e.Value)
	}
	return m, err
}

// encodeMatch encodes the key and, for a set of ranges, the last key.
func encodeMatch(t firewall.SetType, match []string) (key, end []byte, err error) {
	if !t.Ranges {
		key, err = encode(t.Match, match)
		return key, nil, err
	}
	first, last, err := bounds(match)
	if err != nil {
		return nil, nil, err
	}
	if key, err = encode(t.Match, first); err == nil {
		end, err = encode(t.Match, last)
	}
	return key, end, err
}

func verdictAttr(s string) (*nl.RtAttr, error) {
	code, chain, err := parseVerdict(s)
	if err != nil {
		return nil, err
	}
	v := nl.NewRtAttr(unix.NFTA_DATA_VERDICT|unix.NLA_F_NESTED, nil)
	v.AddRtAttr(unix.NFTA_VERDICT_CODE, nl.BEUint32Attr(uint32(code)))
	if chain != "" {
		v.AddRtAttr(unix.NFTA_VERDICT_CHAIN, nl.ZeroTerminated(chain))
	}
	return v, nil
}

// request is an NFT_MSG_NEWSETELEM, NFT_MSG_DELSETELEM or NFT_MSG_GETSETELEM request about the
// element.
func (m member) request(kind, flags int) *nl.NetlinkRequest {
	r := nftRequest(kind, flags, m.Family)
	r.AddData(textAttr(unix.NFTA_SET_ELEM_LIST_TABLE, heddle.Mark))
	r.AddData(textAttr(unix.NFTA_SET_ELEM_LIST_SET, m.Set))
	elements := nl.NewRtAttr(unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED, nil)
	one := elements.AddRtAttr(unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, nil)
	one.AddRtAttr(unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, nil).AddRtAttr(unix.NFTA_DATA_VALUE, m.key)
	if m.end != nil {
		one.AddRtAttr(nftaSetElemKeyEnd|unix.NLA_F_NESTED, nil).AddRtAttr(unix.NFTA_DATA_VALUE, m.end)
	}
	if kind == unix.NFT_MSG_NEWSETELEM && m.verdict != nil {
		one.AddRtAttr(unix.NFTA_SET_ELEM_DATA|unix.NLA_F_NESTED, nil).AddChild(m.verdict)
	}
	if kind == unix.NFT_MSG_NEWSETELEM && m.value != nil {
		one.AddRtAttr(unix.NFTA_SET_ELEM_DATA|unix.NLA_F_NESTED, nil).AddRtAttr(unix.NFTA_DATA_VALUE, m.value)
	}
	r.AddData(elements)
	return r
}
