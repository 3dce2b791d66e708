package kernel

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/google/nftables/userdata"
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// elements lists one of our sets; a set that is not there has none.
func (c *conn) elements(family, set string) ([]heddle.Element, error) {
	t, _ := firewall.TypeOf(family, set)
	lists, err := list(c, func() *nl.NetlinkRequest {
		r := nftRequest(unix.NFT_MSG_GETSETELEM, unix.NLM_F_ACK, family)
		r.AddData(textAttr(unix.NFTA_SET_ELEM_LIST_TABLE, heddle.Mark))
		r.AddData(textAttr(unix.NFTA_SET_ELEM_LIST_SET, set))
		return r
	}, func(b []byte) ([]heddle.Element, bool) {
		return decodeElements(b, heddle.Element{Family: family, Set: set}, t), true
	})
	if absent(err) {
		return nil, nil
	}
	var all []heddle.Element
	for _, l := range lists {
		all = append(all, l...)
	}
	return all, err
}

// element reads one element; a missing one gives nil.
func (c *conn) element(m member) (*heddle.Element, error) {
	t, _ := firewall.TypeOf(m.Family, m.Set)
	var found *heddle.Element
	err := c.get(m.request(unix.NFT_MSG_GETSETELEM, unix.NLM_F_ACK), func(_ uint16, b []byte) {
		for _, e := range decodeElements(b, heddle.Element{Family: m.Family, Set: m.Set}, t) {
			found = &e
		}
	})
	if absent(err) {
		return nil, nil
	}
	return found, err
}

func decodeElements(b []byte, like heddle.Element, t firewall.SetType) []heddle.Element {
	var all []heddle.Element
	for _, item := range attributes(after(nl.SizeofNfgenmsg, b).get(unix.NFTA_SET_ELEM_LIST_ELEMENTS)).all() {
		at := attributes(item)
		e := like
		e.Match = decode(t.Match, attributes(at.get(unix.NFTA_SET_ELEM_KEY)).get(unix.NFTA_DATA_VALUE))
		if t.Ranges {
			e.Match = joinBounds(e.Match, decode(t.Match, attributes(at.get(nftaSetElemKeyEnd)).get(unix.NFTA_DATA_VALUE)))
		}
		data := attributes(at.get(unix.NFTA_SET_ELEM_DATA))
		if v := data.get(unix.NFTA_DATA_VERDICT); v != nil {
			v := attributes(v)
			e.Value = []string{formatVerdict(int32(binary.BigEndian.Uint32(v.get(unix.NFTA_VERDICT_CODE))), text(v.get(unix.NFTA_VERDICT_CHAIN)))}
		} else if t.Value != nil {
			e.Value = decode(t.Value, data.get(unix.NFTA_DATA_VALUE))
		}
		all = append(all, e)
	}
	return all
}

// liveChain is a chain with the comments of its rules.
type liveChain struct {
	name, kind string
	hook       int // -1 if it is not a base chain
	priority   int32
	policy     uint32
	rules      []string
}

// liveSet is a set or map.
type liveSet struct {
	name           string
	isMap          bool
	keyLen         int
	valueLen       int
	verdicts, anon bool
	ranges         bool
}

// liveTable is one of our tables as the kernel has it.
type liveTable struct {
	exists   bool
	chains   map[string]*liveChain
	sets     map[string]liveSet
	counters map[string]uint64
}

// part describes one kind of object of a table: how it is listed, which attribute names its table,
// and which function stores it.
type part struct {
	kind, tableAttr int
	add             func(*liveTable, attributes)
}

var counterParts = []part{{unix.NFT_MSG_GETOBJ, unix.NFTA_OBJ_TABLE, (*liveTable).addCounter}}

var tableParts = append([]part{
	{unix.NFT_MSG_GETTABLE, unix.NFTA_TABLE_NAME, func(t *liveTable, _ attributes) { t.exists = true }},
	{unix.NFT_MSG_GETCHAIN, unix.NFTA_CHAIN_TABLE, (*liveTable).addChain},
	{unix.NFT_MSG_GETSET, unix.NFTA_SET_TABLE, (*liveTable).addSet},
	{unix.NFT_MSG_GETRULE, unix.NFTA_RULE_TABLE, (*liveTable).addRule},
}, counterParts...)

func newLiveTable() *liveTable {
	return &liveTable{chains: map[string]*liveChain{}, sets: map[string]liveSet{}, counters: map[string]uint64{}}
}

// table reads one of our tables, without its elements.
func (c *conn) table(family string) (*liveTable, error) {
	t := newLiveTable()
	return t, c.tableParts(family, t, tableParts)
}

func (c *conn) tableParts(family string, t *liveTable, parts []part) error {
	for _, p := range parts {
		rows, err := list(c, func() *nl.NetlinkRequest {
			r := nftRequest(p.kind, unix.NLM_F_ACK, family)
			// Chains and tables cannot be filtered by the kernel; the rest can.
			r.AddData(textAttr(p.tableAttr, heddle.Mark))
			return r
		}, func(b []byte) (attributes, bool) {
			// rows are kept after the exchange, and the next exchange overwrites the buffer
			at := after(nl.SizeofNfgenmsg, slices.Clone(b))
			return at, text(at.get(uint16(p.tableAttr))) == heddle.Mark
		})
		if err != nil && !absent(err) {
			return err
		}
		for _, at := range rows {
			p.add(t, at)
		}
	}
	return nil
}

func (t *liveTable) addChain(at attributes) {
	c := &liveChain{name: text(at.get(unix.NFTA_CHAIN_NAME)), kind: text(at.get(unix.NFTA_CHAIN_TYPE)), hook: -1}
	if hook := attributes(at.get(unix.NFTA_CHAIN_HOOK)); hook != nil {
		c.hook = int(bigEndian(hook.get(unix.NFTA_HOOK_HOOKNUM)))
		c.priority = int32(bigEndian(hook.get(unix.NFTA_HOOK_PRIORITY)))
		c.policy = bigEndian(at.get(unix.NFTA_CHAIN_POLICY))
	}
	t.chains[c.name] = c
}

func (t *liveTable) addSet(at attributes) {
	flags := bigEndian(at.get(unix.NFTA_SET_FLAGS))
	s := liveSet{
		name: text(at.get(unix.NFTA_SET_NAME)), isMap: flags&unix.NFT_SET_MAP != 0, anon: flags&unix.NFT_SET_ANONYMOUS != 0,
		ranges: flags&unix.NFT_SET_INTERVAL != 0,
		keyLen: int(bigEndian(at.get(unix.NFTA_SET_KEY_LEN))), valueLen: int(bigEndian(at.get(unix.NFTA_SET_DATA_LEN))),
		verdicts: bigEndian(at.get(unix.NFTA_SET_DATA_TYPE)) == unix.NFT_DATA_VERDICT,
	}
	if s.verdicts {
		s.valueLen = 0
	}
	t.sets[s.name] = s
}

func (t *liveTable) addCounter(at attributes) {
	packets := attributes(at.get(unix.NFTA_OBJ_DATA)).get(unix.NFTA_COUNTER_PACKETS)
	if bigEndian(at.get(unix.NFTA_OBJ_TYPE)) == unix.NFT_OBJECT_COUNTER && len(packets) == 8 {
		t.counters[text(at.get(unix.NFTA_OBJ_NAME))] = binary.BigEndian.Uint64(packets)
	}
}

// addRule notes a rule's comment; a rule without one has an empty comment.
func (t *liveTable) addRule(at attributes) {
	if c := t.chains[text(at.get(unix.NFTA_RULE_CHAIN))]; c != nil {
		comment, _ := userdata.GetString(at.get(unix.NFTA_RULE_USERDATA), userdata.TypeComment)
		c.rules = append(c.rules, strings.TrimRight(comment, "\x00"))
	}
}

func bigEndian(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}
