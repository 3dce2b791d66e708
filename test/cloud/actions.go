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
	said   string // beside the code
}

func (f failure) Error() string { return f.code }

func fail(code string) error { return failure{http.StatusBadRequest, code, ""} }

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

func (c *Cloud) create(ctx context.Context, q query) (s state, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.made[q["ClientToken"]]; id != "" {
		return c.nics[id].now(), nil
	}
	token := cmp.Or(q["ClientToken"], fmt.Sprint("none ", c.last))
	v, is := c.VSwitches[q["VSwitchId"]]
	switch {
	case !is:
		return s, fail("InvalidVSwitchId.NotFound")
	case len(q.list("SecurityGroupIds")) == 0:
		return s, fail("MissingParameter")
	case v.Free == 0:
		return s, fail("InvalidVSwitchId.IpNotEnough")
	}
	var want []netip.Addr
	for _, text := range append(q.list("Ipv6Address"), q["PrimaryIpAddress"]) {
		if text == "" {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil || !v.V4.Contains(a) && !v.V6.Contains(a) {
			return s, fail("InvalidIp.Address")
		}
		want = append(want, a)
	}
	c.last++
	s = state{ID: fmt.Sprintf("eni-local%d", c.last), Status: "Creating", VSwitch: q["VSwitchId"], Type: "Secondary", Tags: q.tags(),
		Created: time.Now().UTC().Format(time.RFC3339Nano)}
	if err := c.makeLocked(ctx, v, &s, want, q["Ipv6AddressCount"] != ""); err != nil {
		return s, fail("InvalidIp.IpAssigned")
	}
	v.Free--
	c.VSwitches[s.VSwitch] = v
	c.putLocked(s)
	c.made[token] = s.ID
	c.become(s.ID, "Available", "", c.faults.Delay, nil)
	return s, nil
}

// change finds a NIC that is to change its state, which must be one of from.
func (c *Cloud) changeLocked(q query, from, to, instance string) (state, error) {
	h := c.nics[q["NetworkInterfaceId"]]
	if h == nil || h.now().Status == "" {
		return state{}, fail("InvalidEniId.NotFound")
	}
	s := h.now()
	if s.Status != from {
		return s, forbid("InvalidOperation.InvalidEniState")
	}
	s.Status, s.Instance = to, instance
	c.putLocked(s)
	return s, nil
}

func (c *Cloud) attach(q query) (s state, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	has, index := 0, -1
	if q["DeviceIndex"] != "" {
		if index, err = strconv.Atoi(q["DeviceIndex"]); err != nil {
			return s, fail("InvalidParameterValue")
		}
	}
	for _, h := range c.nics {
		if h.now().Instance != q["InstanceId"] {
			continue
		}
		has++
		if h.now().Index == index {
			return h.now(), failure{http.StatusBadRequest, "InvalidParameterValue", fmt.Sprintf("Instance '%s' already has an interface attached at device index '%d'.", q["InstanceId"], index)}
		}
	}
	if has >= c.NICs {
		return s, fail("EniPerInstanceLimitExceeded")
	}
	if s, err = c.changeLocked(q, "Available", "Attaching", q["InstanceId"]); err != nil {
		return s, err
	}
	s.Index = max(0, index)
	c.putLocked(s)
	c.become(s.ID, "InUse", s.Instance, c.faults.Delay, func(ctx context.Context) error {
		if c.Machine == nil {
			return nil
		}
		open := func(queues int) ([]*os.File, error) { return c.Ports.Open(s.port, queues) }
		return c.Machine.Plug(ctx, s.port.TAP, s.port.Card.MAC, s.port.Card.MTU, 1, false, open)
	})
	return s, nil
}

func (c *Cloud) detach(q query) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.changeLocked(q, "InUse", "Detaching", q["InstanceId"])
	if err != nil || c.faults.Stuck {
		return err
	}
	c.become(s.ID, "Available", "", c.faults.Delay, c.unplug(s))
	return nil
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

func (c *Cloud) delete(ctx context.Context, q query) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.changeLocked(q, "Available", "Deleting", "")
	if err != nil {
		return err
	}
	if c.Ports != nil {
		if err := c.Ports.Remove(ctx, s.port); err != nil {
			return err
		}
	}
	v := c.VSwitches[s.VSwitch]
	v.Free += 1 + len(s.Fours) + blockSize*len(s.Blocks)
	c.VSwitches[s.VSwitch] = v
	s.Fours, s.Sixes, s.Blocks, s.SixBlocks = nil, nil, nil, nil
	c.putLocked(s)
	c.become(s.ID, "", "", c.faults.Delay, nil)
	return nil
}

// pageSize is how many NICs an answer has at most, whatever was asked: so that callers ask for the next page.
const pageSize = 3

// list are the NICs that a request picks, as they are told now, and which come next.
func (c *Cloud) list(q query) (found []state, next string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids, tags := q.list("NetworkInterfaceId"), q.tags()
	skip, _ := strconv.Atoi(q["NextToken"])
	seen := 0
	for _, id := range slices.Sorted(maps.Keys(c.nics)) {
		s := c.nics[id].before(time.Now().Add(-c.faults.Lag))
		if s.Status == "" || slices.Contains(c.faults.Hidden, id) || !c.faults.Unfiltered && (len(ids) > 0 && !slices.Contains(ids, id) || q["InstanceId"] != "" && s.Instance != q["InstanceId"] ||
			slices.ContainsFunc(tags, func(t [2]string) bool { return !slices.Contains(s.Tags, t) })) {
			continue
		}
		seen++
		switch {
		case seen <= skip:
		case len(found) == pageSize:
			next = strconv.Itoa(skip + pageSize)
		default:
			found = append(found, s)
		}
	}
	return found, next
}

// vSwitch finds a subnet.
func (c *Cloud) vSwitch(id string) (v VSwitch, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, is = c.VSwitches[id]
	return v, is
}
