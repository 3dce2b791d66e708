package cloud

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"
)

// failure is an answer with a code of the API.
type failure struct {
	status int
	code   string
}

func (f failure) Error() string { return f.code }

func fail(code string) error { return failure{http.StatusBadRequest, code} }

// actions are those that the API has.
var actions = map[string]func(*Cloud, context.Context, query) (any, error){
	"CreateNetworkInterface":    (*Cloud).create,
	"AttachNetworkInterface":    (*Cloud).attach,
	"DetachNetworkInterface":    (*Cloud).detach,
	"DeleteNetworkInterface":    (*Cloud).delete,
	"DescribeNetworkInterfaces": (*Cloud).describe,
	"DescribeInstanceTypes":     (*Cloud).describeTypes,
	"DescribeVSwitches":         (*Cloud).describeVSwitches,

	"AssignPrivateIpAddresses":   (*Cloud).assignFours,
	"AssignIpv6Addresses":        (*Cloud).assignSixes,
	"UnassignPrivateIpAddresses": (*Cloud).unassignFours,
	"UnassignIpv6Addresses":      (*Cloud).unassignSixes,
}

// query are a request's parameters.
type query map[string]string

// list are the parameters name.1, name.2 and so on.
func (q query) list(name string) (all []string) {
	for i := 1; q[name+"."+strconv.Itoa(i)] != ""; i++ {
		all = append(all, q[name+"."+strconv.Itoa(i)])
	}
	return all
}

func (q query) tags() (all [][2]string) {
	for i := 1; q[fmt.Sprintf("Tag.%d.Key", i)] != ""; i++ {
		all = append(all, [2]string{q[fmt.Sprintf("Tag.%d.Key", i)], q[fmt.Sprintf("Tag.%d.Value", i)]})
	}
	return all
}

func (c *Cloud) create(ctx context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.made[q["ClientToken"]]; id != "" {
		return describe(c.nics[id].now()), nil
	}
	token := cmp.Or(q["ClientToken"], fmt.Sprint("none ", c.last))
	v, is := c.VSwitches[q["VSwitchId"]]
	switch {
	case !is:
		return nil, fail("InvalidVSwitchId.NotFound")
	case len(q.list("SecurityGroupIds")) == 0:
		return nil, fail("MissingParameter")
	case v.Free == 0:
		return nil, fail("InvalidVSwitchId.IpNotEnough")
	}
	var want []netip.Addr
	for _, text := range append(q.list("Ipv6Address"), q["PrimaryIpAddress"]) {
		if text == "" {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil || !v.V4.Contains(a) && !v.V6.Contains(a) {
			return nil, fail("InvalidIp.Address")
		}
		want = append(want, a)
	}
	c.last++
	s := state{ID: fmt.Sprintf("eni-local%d", c.last), Status: "Creating", VSwitch: q["VSwitchId"], Type: "Secondary", Tags: q.tags(),
		Created: time.Now().UTC().Format(time.RFC3339Nano)}
	if err := c.makeLocked(ctx, v, &s, want, q["Ipv6AddressCount"] != ""); err != nil {
		return nil, fail("InvalidIp.IpAssigned")
	}
	v.Free--
	c.VSwitches[s.VSwitch] = v
	c.putLocked(s)
	c.made[token] = s.ID
	c.become(s.ID, "Available", "", c.faults.Delay, nil)
	return describe(s), nil
}

// change finds a NIC that is to change its state, which must be one of from.
func (c *Cloud) changeLocked(q query, from, to, instance string) (state, error) {
	h := c.nics[q["NetworkInterfaceId"]]
	if h == nil || h.now().Status == "" {
		return state{}, fail("InvalidEniId.NotFound")
	}
	s := h.now()
	if s.Status != from {
		return s, failure{http.StatusForbidden, "InvalidOperation.InvalidEniState"}
	}
	s.Status, s.Instance = to, instance
	c.putLocked(s)
	return s, nil
}

func (c *Cloud) attach(_ context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has := 0
	for _, h := range c.nics {
		if h.now().Instance == q["InstanceId"] {
			has++
		}
	}
	if has >= c.NICs {
		return nil, fail("EniPerInstanceLimitExceeded")
	}
	s, err := c.changeLocked(q, "Available", "Attaching", q["InstanceId"])
	if err != nil {
		return nil, err
	}
	c.become(s.ID, "InUse", s.Instance, c.faults.Delay, func(ctx context.Context) error {
		if c.Machine == nil {
			return nil
		}
		open := func(queues int) ([]*os.File, error) { return c.Ports.Open(s.port, queues) }
		return c.Machine.Plug(ctx, s.port.TAP, s.port.Card.MAC, s.port.Card.MTU, 1, false, open)
	})
	return map[string]any{}, nil
}

func (c *Cloud) detach(_ context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.changeLocked(q, "InUse", "Detaching", q["InstanceId"])
	if err != nil || c.faults.Stuck {
		return map[string]any{}, err
	}
	c.become(s.ID, "Available", "", c.faults.Delay, c.unplug(s))
	return map[string]any{}, nil
}

// unplug takes a real NIC out, if there is one.
func (c *Cloud) unplug(s state) func(context.Context) error {
	return func(ctx context.Context) error {
		if c.Machine == nil {
			return nil
		}
		return c.Machine.Unplug(ctx, s.port.TAP)
	}
}

func (c *Cloud) delete(ctx context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.changeLocked(q, "Available", "Deleting", "")
	if err != nil {
		return nil, err
	}
	if c.Ports != nil {
		if err := c.Ports.Remove(ctx, s.port); err != nil {
			return nil, err
		}
	}
	v := c.VSwitches[s.VSwitch]
	v.Free += 1 + len(s.Fours)
	c.VSwitches[s.VSwitch] = v
	s.Fours, s.Sixes = nil, nil
	c.putLocked(s)
	c.become(s.ID, "", "", c.faults.Delay, nil)
	return map[string]any{}, nil
}

// pageSize is how many NICs an answer has at most, whatever was asked: so that callers ask for the next page.
const pageSize = 3

func (c *Cloud) describe(_ context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids, tags := q.list("NetworkInterfaceId"), q.tags()
	var found []any
	skip, _ := strconv.Atoi(q["NextToken"])
	next, seen := "", 0
	for _, id := range slices.Sorted(maps.Keys(c.nics)) {
		s := c.nics[id].before(time.Now().Add(-c.faults.Lag))
		if s.Status == "" || !c.faults.Unfiltered && (len(ids) > 0 && !slices.Contains(ids, id) || q["InstanceId"] != "" && s.Instance != q["InstanceId"] ||
			slices.ContainsFunc(tags, func(t [2]string) bool { return !slices.Contains(s.Tags, t) })) {
			continue
		}
		seen++
		switch {
		case seen <= skip:
		case len(found) == pageSize:
			next = strconv.Itoa(skip + pageSize)
		default:
			found = append(found, c.told(s))
		}
	}
	return map[string]any{"NextToken": next, "NetworkInterfaceSets": map[string]any{"NetworkInterfaceSet": found}}, nil
}

func (c *Cloud) describeTypes(_ context.Context, q query) (any, error) {
	var all []any
	if slices.Contains(q.list("InstanceTypes"), c.Type) {
		all = append(all, map[string]any{"InstanceTypeId": c.Type, "EniQuantity": c.NICs, "EniPrivateIpAddressQuantity": c.IPv4s, "EniIpv6AddressQuantity": c.IPv6s})
	}
	return map[string]any{"InstanceTypes": map[string]any{"InstanceType": all}}, nil
}

func (c *Cloud) describeVSwitches(_ context.Context, q query) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []any
	if v, is := c.VSwitches[q["VSwitchId"]]; is {
		text := map[string]any{"VSwitchId": q["VSwitchId"], "CidrBlock": v.V4.String(), "AvailableIpAddressCount": v.Free, "Ipv6CidrBlock": ""}
		if v.V6.IsValid() {
			text["Ipv6CidrBlock"] = v.V6.String()
		}
		all = append(all, text)
	}
	return map[string]any{"VSwitches": map[string]any{"VSwitch": all}, "TotalCount": len(all)}, nil
}
