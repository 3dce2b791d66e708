// Package cloud is a local server of the part of a cloud's API that NICs need: Alibaba Cloud's (actions of ECS and VPC), or that of EC2 (the query form with answers in
// XML), with signed requests, and the metadata service with sessions and the credentials of a role. Both are mouths of the same tables, whose words are Alibaba Cloud's.
// States change some time after an answer, what is described lags behind, and faults can be switched on. With a hypervisor it makes real switch ports, and plugs real NICs into real machines; without one
// its NICs are in its tables alone.
package cloud

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/service"
)

// What the one instance's metadata says.
const (
	Region    = "local-1"
	role      = "heddle"
	accessKey = "STS.local"
	secret    = "a secret of the local cloud"
	session   = "a session of the local cloud"
)

// Options are what a cloud has.
type Options struct {
	// Instance is the ID of the instance that asks, Type its type, NICs how many NICs that type may have, with the primary one.
	Instance, Type string
	NICs           int
	IPv4s, IPv6s   int                // addresses, and prefixes, that a NIC of that type may have
	Xen            bool               // a type of EC2 whose NICs have no prefixes
	VSwitches      map[string]VSwitch // by ID
	// Ports and Machine make real NICs; nil if there are none.
	Ports   Ports           `json:"-"`
	Machine service.Machine `json:"-"`
}

// VSwitch is a subnet.
type VSwitch struct {
	// Network is that of the hypervisor's agent, if there is one.
	Network string
	V4, V6  netip.Prefix
	// Free is how many addresses are left.
	Free int
}

// Faults are how the cloud misbehaves.
type Faults struct {
	// Delay is how long a change of state takes, Lag how much older than now is what is described.
	Delay, Lag time.Duration
	// Throttled is how many of the next requests are refused.
	Throttled int
	// Away has each request fail; Lost has each do its work, and fail then.
	Away, Lost bool
	// LostOf is Lost for one action.
	LostOf string
	// Unfiltered has all NICs described, whatever was asked.
	Unfiltered bool
	// Empty has lists begin with a page that has no NIC, as EC2's may.
	Empty bool
	// Stuck has NICs stay in Detaching.
	Stuck bool
	// Unsaid has nothing said of NICs' attachments, and Hidden are NICs that are not described.
	Unsaid bool
	Hidden []string
	// Refuse has an action answered with a code.
	Refuse map[string]string
	// Crumbled has subnets have no free prefix.
	Crumbled bool
	// Given is what is said to have been assigned, whatever was; nil is the truth. Listed are further IPv4 addresses with which each NIC is listed
	// besides its own.
	Given, Listed []string
}

// Ports makes real switch ports.
type Ports interface {
	service.Ports
	// Further gives a port one more set of further addresses, with those addresses in it. It has so many.
	Further(ctx context.Context, p service.Port, has int, ips ...netip.Addr) ([]netip.Prefix, error)
}

// Cloud is the state of the server. Its methods may be called at the same time.
type Cloud struct {
	Options

	mu     sync.Mutex
	faults Faults
	nics   map[string]*history // by ID
	noRole bool
	forgot int               // how often sessions were forgotten
	last   int               // the number of the newest NIC
	made   map[string]string // the IDs of NICs by client token
	// given are what was assigned, by client token.
	given  map[string][]netip.Addr
	blocks map[string][]netip.Prefix
	calls  map[string]int // by action
}

// state is a NIC at a time. The zero Status is none: it is deleted.
type state struct {
	at                     time.Time
	ID, Status, Instance   string
	VSwitch, Name, Created string
	Type                   string
	MAC                    heddle.MAC
	Addrs                  []netip.Addr
	Fours, Sixes           []netip.Addr // the further ones
	Blocks, SixBlocks      []netip.Prefix
	Tags                   [][2]string
	Index                  int  // of the device, where the caller chooses it
	Tied                   bool // it goes with its instance
	port                   service.Port
}

// history has a NIC's states, the newest last.
type history []state

func (h history) now() state { return h[len(h)-1] }

// before is the state as it was at a time.
func (h history) before(at time.Time) (s state) {
	for _, one := range h {
		if !one.at.After(at) {
			s = one
		}
	}
	return s
}

// New returns a cloud, with one instance that has a primary NIC.
func New(o Options) *Cloud {
	c := &Cloud{Options: o, nics: map[string]*history{}, made: map[string]string{}, given: map[string][]netip.Addr{}, blocks: map[string][]netip.Prefix{}, calls: map[string]int{}}
	c.nics["eni-primary"] = &history{{ID: "eni-primary", Status: "InUse", Instance: o.Instance, Type: "Primary", MAC: "0a:00:00:00:00:01"}}
	return c
}

// Set has the cloud misbehave from now on.
func (c *Cloud) Set(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// current are the faults that are switched on.
func (c *Cloud) current() Faults {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// Calls is how often an action was called.
func (c *Cloud) Calls(action string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[action]
}

// IDs lists the NICs that there are, besides the primary one.
func (c *Cloud) IDs() (all []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, h := range c.nics {
		if s := h.now(); s.Status != "" && s.Type != "Primary" {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all
}

// Further lists the further addresses that a NIC has.
func (c *Cloud) Further(id string) []netip.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.nics[id].now()
	return slices.Concat(s.Fours, s.Sixes)
}

// Blocks lists the prefixes that a NIC has.
func (c *Cloud) Blocks(id string) []netip.Prefix {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.nics[id].now()
	return slices.Concat(s.Blocks, s.SixBlocks)
}

// Put makes a NIC as somebody else would have, in a state of the caller's choice.
func (c *Cloud) Put(id, status, instance string, tags ...[2]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.putLocked(state{ID: id, Status: status, Instance: instance, VSwitch: c.anyVSwitch(), MAC: c.macLocked(), Tags: tags, Type: "Secondary", Created: time.Now().UTC().Format(time.RFC3339)})
}

// PutAt makes a NIC as somebody else would have: attached at a device index.
func (c *Cloud) PutAt(id, instance string, index int, tags ...[2]string) {
	c.Put(id, "InUse", instance, tags...)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.nics[id].now()
	s.Index = index
	c.putLocked(s)
}

// Indexes lists the device indexes of an instance's NICs.
func (c *Cloud) Indexes(instance string) (all []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.nics {
		if s := h.now(); s.Status != "" && s.Instance == instance {
			all = append(all, s.Index)
		}
	}
	slices.Sort(all)
	return all
}

// Tied reports whether the cloud deletes a NIC with its instance.
func (c *Cloud) Tied(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nics[id].now().Tied
}

func (c *Cloud) anyVSwitch() string {
	for id := range c.VSwitches {
		return id
	}
	return ""
}

func (c *Cloud) macLocked() heddle.MAC {
	return heddle.MAC(fmt.Sprintf("00:16:3e:00:%02x:%02x", c.last/256, c.last%256))
}

// putLocked adds a state to a NIC's history.
func (c *Cloud) putLocked(s state) {
	s.at = time.Now()
	if c.nics[s.ID] == nil {
		c.nics[s.ID] = &history{}
	}
	*c.nics[s.ID] = append(*c.nics[s.ID], s)
}

// become has a NIC change its state after a delay, when do has been done.
func (c *Cloud) become(id, status, instance string, delay time.Duration, do func(context.Context) error) {
	go func() {
		time.Sleep(delay)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if do != nil {
			if err := do(ctx); err != nil {
				fmt.Println("cloud:", id, status, err)
				return
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		s := c.nics[id].now()
		s.Status, s.Instance = status, instance
		if instance == "" {
			s.Index, s.Tied = 0, false
		}
		c.putLocked(s)
	}()
}

// makeLocked gives a new NIC its addresses: those of a real port, or the next ones.
func (c *Cloud) makeLocked(ctx context.Context, v VSwitch, s *state, want []netip.Addr, v6 bool) error {
	if c.Ports != nil {
		port, err := c.Ports.Make(ctx, c.Instance, nic.Order{Token: s.ID, Network: v.Network, IPs: want}, false)
		if err != nil {
			return err
		}
		s.port, s.MAC = port, port.Card.MAC
		for _, a := range port.Card.Addrs {
			s.Addrs = append(s.Addrs, a.Addr())
		}
		return nil
	}
	s.MAC, s.Addrs = c.macLocked(), want
	for _, p := range []netip.Prefix{v.V4, v.V6} {
		if !p.IsValid() || slices.ContainsFunc(want, p.Contains) || p == v.V6 && !v6 {
			continue
		}
		a := p.Addr()
		for range c.last + 10 {
			a = a.Next()
		}
		s.Addrs = append(s.Addrs, a)
	}
	return nil
}

// Finish ends the detaching of NICs that were stuck, and of all to come.
func (c *Cloud) Finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.Stuck = false
	for id, h := range c.nics {
		if s := h.now(); s.Status == "Detaching" {
			c.become(id, "Available", "", 0, c.unplug(s))
		}
	}
}
