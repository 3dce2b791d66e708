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
	IPv6       struct {
		Set []struct{ Ipv6Address string } `json:"Ipv6Set"`
	} `json:"Ipv6Sets"`
	Tags struct{ Tag []tag }
}

type tag struct{ TagKey, TagValue string }

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

// addrs are the NIC's addresses, at most one of each family.
func (e eni) addrs() (all []netip.Addr) {
	texts := []string{e.PrimaryIP}
	for _, x := range e.IPv6.Set[:min(len(e.IPv6.Set), 1)] {
		texts = append(texts, x.Ipv6Address)
	}
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// spare begins the token of a NIC that is there twice: an agent was killed when it had ordered one, and ordered another before
// the cloud listed the first. Its ID in the cloud follows. No endpoint has such a token, so the agent has it taken out.
const spare = "x-"

// byToken returns the NICs by their tokens. Of two with one token, that counts which is in the machine, or else the newer one.
func byToken(all []eni, machine string) map[string]eni {
	found := map[string]eni{}
	slices.SortFunc(all, func(a, b eni) int {
		return cmp.Or(-cmp.Compare(boolInt(a.InstanceID == machine), boolInt(b.InstanceID == machine)), -strings.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	for _, e := range all {
		token := e.tag(tagToken)
		if _, is := found[token]; is || nic.CheckToken(token) != nil || strings.HasPrefix(token, spare) {
			token = spare + e.ID
		}
		found[token] = e
	}
	return found
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// find asks for NICs with all the parameters. Those that are being deleted are not among them.
func (a *api) find(ctx context.Context, object string, params map[string]any) (all []eni, err error) {
	params["MaxResults"] = 100
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
			if e.Status != deleting {
				all = append(all, e)
			}
		}
		if page.NextToken == "" {
			return all, nil
		}
		if len(all) > maxNICs*4 {
			return nil, refused(describeNICs.name, object, fmt.Errorf("it lists more than %d NICs", len(all)))
		}
		params["NextToken"] = page.NextToken
	}
}

// tagged are parameters that find or make NICs with tags.
func tagged(tags ...string) map[string]any {
	var list []map[string]any
	for i := 0; i < len(tags); i += 2 {
		list = append(list, map[string]any{"Key": tags[i], "Value": tags[i+1]})
	}
	return map[string]any{"Tag": list}
}
