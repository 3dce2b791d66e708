package firewall

import (
	"strings"

	"github.com/heddle-network/heddle"
)

// SetType describes a set or map: the nft types of the parts of the key and, for a map, of the
// value.
type SetType struct {
	Match, Value []string
	// Ranges lets a part of the key be a prefix ("flags interval").
	Ranges bool
}

// The nft types in use. nd_target is an IPv6 address compared as the raw target field of a
// neighbour message (RFC 4861, 4.3 and 4.4), which nft 1.0.6 cannot name. inner4 and inner6 are the
// source addresses of the packet inside a VXLAN packet (RFC 7348, section 5), counted from the
// outer UDP header: 8 bytes of UDP, 8 of VXLAN, 14 of Ethernet, then 12 or 8 of IP. quoted4 and
// quoted6 are the destination of the packet that an ICMP error quotes (RFC 792, RFC 4443): 8 bytes
// of ICMP, then 16 or 24 of IP.
const (
	TypeIfName   = "ifname"
	TypeMAC      = "ether_addr"
	TypeIPv4     = "ipv4_addr"
	TypeIPv6     = "ipv6_addr"
	TypeNDTarget = "nd_target"
	TypeInner4   = "inner4"
	TypeInner6   = "inner6"
	TypeQuoted4  = "quoted4"
	TypeQuoted6  = "quoted6"
	TypeProto    = "inet_proto"
	TypePort     = "inet_service"
	TypeGroup    = "devgroup"
	TypeVerdict  = "verdict"
)

var setTypes = map[string]SetType{
	"bridge/macs":   {Match: []string{TypeIfName, TypeMAC}},
	"bridge/addrs4": {Match: []string{TypeIfName, TypeIPv4}},
	"bridge/addrs6": {Match: []string{TypeIfName, TypeIPv6}},
	"bridge/nd":     {Match: []string{TypeIfName, TypeNDTarget}},
	// the addresses whose packets an ICMP error from that port may be about
	"bridge/quoted4": {Match: []string{TypeIfName, TypeQuoted4}},
	"bridge/quoted6": {Match: []string{TypeIfName, TypeQuoted6}},
	// ports with a policy, and the addresses of all endpoints of this host
	"bridge/policed-out": {Match: []string{TypeIfName}, Value: []string{TypeVerdict}},
	"bridge/policed-in":  {Match: []string{TypeIfName}, Value: []string{TypeVerdict}},
	"bridge/guests4":     {Match: []string{TypeIPv4}},
	"bridge/guests6":     {Match: []string{TypeIPv6}},
	"bridge/who4":        {Match: []string{TypeGroup, TypeIPv4}, Value: []string{TypeMAC}},
	"bridge/who6":        {Match: []string{TypeGroup, TypeNDTarget}, Value: []string{TypeMAC}},
	// addresses that one of several endpoints holds: their announcements, and the holder's MAC address
	"bridge/announces4": {Match: []string{TypeGroup, TypeIPv4, TypeIPv4}},
	"bridge/holds4":     {Match: []string{TypeGroup, TypeIPv4}, Value: []string{TypeMAC}},
	"bridge/holds6":     {Match: []string{TypeGroup, TypeNDTarget}, Value: []string{TypeMAC}},
	// ports that are next hops of a VPC's routes
	"bridge/routed": {Match: []string{TypeIfName}, Value: []string{TypeVerdict}},
	"bridge/quotes": {Match: []string{TypeIfName}, Value: []string{TypeVerdict}},
	"bridge/loops":  {Match: []string{TypeIfName}, Value: []string{TypeVerdict}},
	"inet/macs":     {Match: []string{TypeIfName, TypeMAC}},
	"inet/quoted4":  {Match: []string{TypeIfName, TypeQuoted4}},
	"inet/quoted6":  {Match: []string{TypeIfName, TypeQuoted6}},
	// what a routed endpoint may send, checked in one lookup; and who may ask the resolver by a device
	// that the host has beside containers
	"inet/sends4": {Match: []string{TypeIfName, TypeMAC, TypeIPv4}},
	"inet/sends6": {Match: []string{TypeIfName, TypeMAC, TypeIPv6}},
	// devices on which the host receives what containers beside it send, with their MAC addresses
	"inet/beside": {Match: []string{TypeIfName, TypeMAC}},
	// packets from a network's devices, and from one network to another
	"inet/doors": {Match: []string{TypeGroup}, Value: []string{TypeVerdict}},
	"inet/ways":  {Match: []string{TypeGroup, TypeGroup}, Value: []string{TypeVerdict}},
	// routed endpoints of this host
	"inet/near4": {Match: []string{TypeIPv4}, Value: []string{TypeVerdict}},
	"inet/near6": {Match: []string{TypeIPv6}, Value: []string{TypeVerdict}},
	// ICMP errors from the host itself to a network's containers
	"inet/errors": {Match: []string{TypeGroup}, Value: []string{TypeVerdict}},
	// UDP ports of tunnels: packets that arrive, are for the host, pass through it, and leave it
	"inet/arriving": {Match: []string{TypePort}, Value: []string{TypeVerdict}},
	"inet/landing":  {Match: []string{TypePort}, Value: []string{TypeVerdict}},
	"inet/passing":  {Match: []string{TypePort}, Value: []string{TypeVerdict}},
	"inet/leaving":  {Match: []string{TypePort}, Value: []string{TypeVerdict}},
	// all underlay addresses of peers, used by tunnels or not
	"inet/hosts4": {Match: []string{TypeIPv4}},
	"inet/hosts6": {Match: []string{TypeIPv6}},
	"inet/peers4": {Match: []string{TypeIPv4}},
	"inet/peers6": {Match: []string{TypeIPv6}},
	// peers whose tunnels send from privileged ports
	"inet/privileged4": {Match: []string{TypeIPv4}},
	"inet/privileged6": {Match: []string{TypeIPv6}},
	// who may send from where: the outer source, and a block of inner sources
	"inet/origins44": {Match: []string{TypeIPv4, TypeInner4}, Ranges: true},
	"inet/origins46": {Match: []string{TypeIPv4, TypeInner6}, Ranges: true},
	"inet/origins64": {Match: []string{TypeIPv6, TypeInner4}, Ranges: true},
	"inet/origins66": {Match: []string{TypeIPv6, TypeInner6}, Ranges: true},
	// the same for single inner sources, which may lie in another peer's block
	"inet/strays44": {Match: []string{TypeIPv4, TypeInner4}},
	"inet/strays46": {Match: []string{TypeIPv4, TypeInner6}},
	"inet/strays64": {Match: []string{TypeIPv6, TypeInner4}},
	"inet/strays66": {Match: []string{TypeIPv6, TypeInner6}},
	// interfaces that lead outside although their names look like those of other engines' devices
	"inet/outlets": {Match: []string{TypeIfName}},
	// NICs that the host has for its containers alone
	"inet/nics":  {Match: []string{TypeIfName}},
	"inet/gate4": {Match: []string{TypeIPv4}, Value: []string{TypeVerdict}},
	"inet/gate6": {Match: []string{TypeIPv6}, Value: []string{TypeVerdict}},
	"inet/from":  {Match: []string{TypeGroup}, Value: []string{TypeVerdict}},
	"inet/to":    {Match: []string{TypeGroup}, Value: []string{TypeVerdict}},
	"inet/masq":  {Match: []string{TypeGroup}, Value: []string{TypeVerdict}},
	"inet/spans": {Match: []string{TypeGroup}},
	// from where (everywhere) to which subnets of other hosts' containers translated packets may go;
	// our sets of ranges have two parts, and the rules of nft turn a group's bytes in these
	"inet/public4": {Match: []string{TypeIPv4, TypeIPv4}, Ranges: true},
	"inet/public6": {Match: []string{TypeIPv6, TypeIPv6}, Ranges: true},
	"inet/allowed": {Match: []string{TypeGroup, TypeGroup}},
	"inet/ports4":  {Match: []string{TypeIPv4, TypeProto, TypePort}, Value: []string{TypeIPv4, TypePort}},
	"inet/ports6":  {Match: []string{TypeIPv6, TypeProto, TypePort}, Value: []string{TypeIPv6, TypePort}},
	"inet/any4":    {Match: []string{TypeProto, TypePort}, Value: []string{TypeIPv4, TypePort}},
	"inet/any6":    {Match: []string{TypeProto, TypePort}, Value: []string{TypeIPv6, TypePort}},
	// questions for names, by network, sender and the name server that is asked, and who answers them
	"inet/asks4": {Match: []string{TypeGroup, TypeIPv4, TypeIPv4}, Value: []string{TypeIPv4}},
	"inet/asks6": {Match: []string{TypeGroup, TypeIPv6, TypeIPv6}, Value: []string{TypeIPv6}},
	// ports of the host in the range that masquerading uses
	"inet/taken": {Match: []string{TypeProto, TypePort}},
}

// groupTypes are the types of the sets of groups' addresses.
var groupTypes = map[string]SetType{GroupPrefix + "4-": {Match: []string{TypeIPv4}}, GroupPrefix + "6-": {Match: []string{TypeIPv6}}}

// TypeOf returns the type of one of our sets, such as "bridge", "macs".
func TypeOf(family, set string) (SetType, bool) {
	if begin := GroupPrefix + "4-"; family == "bridge" && len(set) > len(begin) {
		if t, is := groupTypes[set[:len(begin)]]; is {
			return t, true
		}
	}
	t, ok := setTypes[family+"/"+set]
	return t, ok
}

// Group is the set of a group's addresses of one family.
func Group(name string) heddle.Firewall {
	t, _ := TypeOf("bridge", name)
	return heddle.Firewall{Family: "bridge", Kind: "set", Name: name, Spec: t.spec()}
}

func sets(family string, names ...string) []heddle.Firewall {
	var all []heddle.Firewall
	for _, name := range names {
		t := setTypes[family+"/"+name]
		kind := "set"
		if t.Value != nil {
			kind = "map"
		}
		all = append(all, heddle.Firewall{Family: family, Kind: kind, Name: name, Spec: t.spec()})
	}
	return all
}

// typeExample is how nft writes a type. A raw payload has no type name, only an example.
var typeExample = map[string]string{
	TypeIfName: "iifname", TypeMAC: "ether saddr", TypeGroup: "meta iifgroup", TypeNDTarget: "@th,64,128",
	TypeIPv4: "ip saddr", TypeIPv6: "ip6 saddr", TypeInner4: "@th,336,32", TypeInner6: "@th,304,128",
	TypeQuoted4: "@th,192,32", TypeQuoted6: "@th,256,128",
}

// isRaw reports whether a type is that of a raw payload.
func isRaw(kind string) bool { return strings.HasPrefix(typeExample[kind], "@") }

func (t SetType) spec() string {
	raw := false
	for _, p := range t.Match {
		raw = raw || isRaw(p)
	}
	join := func(parts []string) string {
		s := ""
		for i, p := range parts {
			if i > 0 {
				s += " . "
			}
			if raw {
				p = typeExample[p]
			}
			s += p
		}
		return s
	}
	word := "type "
	if raw {
		word = "typeof "
	}
	s := word + join(t.Match)
	if t.Value != nil {
		s += " : " + join(t.Value)
	}
	if t.Ranges {
		s += "; flags interval"
	}
	return s + ";"
}
