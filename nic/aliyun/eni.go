package aliyun

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// Tags of NICs that an agent has ordered. They are the only record of whose NIC it is.
const (
	tagMachine = "heddle-machine" // the instance's ID
	tagToken   = "heddle-nic"     // nic.Order.Token
	tagNetwork = "heddle-network" // nic.Order.Network
)

// States of a NIC (ECS API, DescribeNetworkInterfaces).
const (
	creating     = "Creating"
	available    = "Available" // it is attached to no instance
	attaching    = "Attaching"
	inUse        = "InUse"
	detachingNIC = "Detaching"
	deleting     = "Deleting"
	createFailed = "CreateFailed"
)

// eni is a NIC as the API describes it.
type eni struct {
	ID         string `json:"NetworkInterfaceId"`
	MAC        string `json:"MacAddress"`
	Status     string
	VSwitchID  string `json:"VSwitchId"`
	PrimaryIP  string `json:"PrivateIpAddress"`
	Created    string `json:"CreationTime"`
	InstanceID string `json:"InstanceId"`
	Type       string // "Primary", "Secondary" and others
	PrivateIPs struct {
		Set []privateIP `json:"PrivateIpSet"`
	} `json:"PrivateIpSets"`
	IPv6 struct {
		Set []struct{ Ipv6Address string } `json:"Ipv6Set"`
	} `json:"Ipv6Sets"`
	Tags struct{ Tag []tag }
}

type tag struct{ TagKey, TagValue string }

type privateIP struct {
	PrivateIpAddress string
	Primary          bool
}

func (e eni) tag(key string) string {
	for _, t := range e.Tags.Tag {
		if t.TagKey == key {
			return t.TagValue
		}
	}
	return ""
}

// mac is the NIC's address as ours are written.
func (e eni) mac() heddle.MAC {
	m, _ := heddle.ParseMAC(e.MAC)
	return m
}

// addrs are the NIC's first addresses, at most one of each family. The IPv6 address is one that goes with no further IPv4 address.
func (e eni) addrs() (all []netip.Addr) {
	if a, err := netip.ParseAddr(e.PrimaryIP); err == nil {
		all = append(all, a)
	}
	six, four := e.sixes(), e.fours()
	for _, mayBe := range []func(a netip.Addr) bool{
		func(a netip.Addr) bool { return !origin(a).IsValid() },
		func(a netip.Addr) bool { return !slices.Contains(four, origin(a)) },
	} {
		if i := slices.IndexFunc(six, mayBe); i >= 0 {
			return append(all, six[i])
		}
	}
	return all
}

// spare begins the token of a NIC that is there twice: an agent was killed when it had ordered one, and ordered another before
// the cloud listed the first. Its ID in the cloud follows. No endpoint has such a token, so the agent has it taken out.
const spare = "x-"

// has reports whether the machine has the NIC, or is about to get it.
func (e eni) isWith(machine string) bool {
	return e.InstanceID == machine && (e.Status == inUse || e.Status == attaching)
}

// byToken returns the NICs by their tokens. Of several with one token that counts which is with the machine, and the others are spare. As long as none
// is, it is the newest, and none is spare: an order may be about to attach any of them.
func byToken(all []eni, machine string) map[string]eni {
	found := map[string]eni{}
	slices.SortFunc(all, func(a, b eni) int {
		return cmp.Or(cmp.Compare(rank(b, machine), rank(a, machine)), strings.Compare(b.Created, a.Created), strings.Compare(a.ID, b.ID))
	})
	for _, e := range all {
		token := e.tag(tagToken)
		first, is := found[token]
		switch {
		case nic.CheckToken(token) != nil || strings.HasPrefix(token, spare): // no agent made it
			found[spare+e.ID] = e
		case !is:
			found[token] = e
		case first.isWith(machine) && e.Status == available:
			found[spare+e.ID] = e
		}
	}
	return found
}

// rank says which of several NICs with one token counts.
func rank(e eni, machine string) int {
	if e.isWith(machine) {
		return 1
	}
	return 0
}

// find asks for NICs that a filter picks. Those that are being deleted are not among them.
func (a *api) find(ctx context.Context, object string, f filter) (all []eni, err error) {
	params := f.params()
	for {
		var page struct {
			NextToken            string
			NetworkInterfaceSets struct {
				NetworkInterfaceSet []eni
			}
		}
		if err := a.call(ctx, describeNICs, object, params, &page); err != nil {
			return nil, err
		}
		for _, e := range page.NetworkInterfaceSets.NetworkInterfaceSet {
			if e.Status != deleting && f.picks(e) {
				all = append(all, e)
			}
		}
		switch {
		case page.NextToken == "" || page.NextToken == params["NextToken"] || len(page.NetworkInterfaceSets.NetworkInterfaceSet) == 0:
			return all, nil
		case len(all) > maxNICs*4:
			return nil, refused(describeNICs.name, object, fmt.Errorf("it lists more than %d NICs", len(all)))
		}
		params["NextToken"] = page.NextToken
	}
}

// filter picks NICs; what is empty picks all.
type filter struct{ id, instance, machine, token string }

// params are a filter as the API takes it.
func (f filter) params() map[string]any {
	params := map[string]any{"MaxResults": 100}
	if f.id != "" {
		params["NetworkInterfaceId"] = []string{f.id}
	}
	if f.instance != "" {
		params["InstanceId"] = f.instance
	}
	tags := []string{}
	if f.machine != "" {
		tags = append(tags, tagMachine, f.machine)
	}
	if f.token != "" {
		tags = append(tags, tagToken, f.token)
	}
	if len(tags) > 0 {
		params["Tag"] = tagList(tags...)
	}
	return params
}

// picks reports whether the filter picks a NIC. What an API answers is looked at again: NICs that are none of ours are detached and deleted
// by nobody's mistake.
func (f filter) picks(e eni) bool {
	return (f.id == "" || e.ID == f.id) && (f.instance == "" || e.InstanceID == f.instance) &&
		(f.machine == "" || e.tag(tagMachine) == f.machine) && (f.token == "" || e.tag(tagToken) == f.token)
}

// tagList are tags, each a key and a value, as the API takes them.
func tagList(tags ...string) (list []map[string]any) {
	for i := 0; i < len(tags); i += 2 {
		list = append(list, map[string]any{"Key": tags[i], "Value": tags[i+1]})
	}
	return list
}
