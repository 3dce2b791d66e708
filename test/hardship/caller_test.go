package hardship_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// caller has some containers, and does one thing at a time with them.
type caller struct {
	*storm
	number int
	random *rand.Rand
	agent  *client.Client
	fates  map[heddle.EndpointID]fate
}

// fate is what a caller knows of an endpoint.
type fate struct {
	// network is the one it is on, if any.
	network string
	// unknown says that the agent died before it answered.
	unknown bool
	// buried says that its container has died since.
	buried bool
}

func (c *caller) pod(p int) string { return fmt.Sprintf("storm%d-%d", c.number, p) }

// work goes on until the storm is over. An agent that is away is an excuse for
// an error, and a dead container whose devices the kernel has not removed yet.
func (c *caller) work() {
	c.agent = client.New(c.socket)
	for !c.done.Load() {
		p, second := c.random.IntN(podsEach), c.random.IntN(3) == 0
		id := heddle.EndpointID{Container: c.pod(p), IfName: "eth0"}
		if second {
			id.IfName = "eth1"
		}
		var err error
		switch dice := c.random.IntN(100); {
		case dice < 45:
			err = c.attach(id, p)
		case dice < 85:
			err = c.detach(id)
		case dice < 90:
			c.die(id.Container)
		case dice < 95:
			_, _, err = c.agent.CreateNetwork(ctx, wild(c.random.IntN(len(terrains))), false)
		default:
			err = c.agent.DeleteNetwork(ctx, wild(c.random.IntN(len(terrains))).Name)
			if refused(err, heddle.NetworkInUse, heddle.NoNetwork) {
				err = nil
			}
		}
		switch {
		case err == nil:
			c.operations.Add(1)
		case away(err), c.fates[id].buried && held(err):
			time.Sleep(5 * time.Millisecond)
		default:
			c.t.Errorf("%s: %v", id, err)
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// attach asks for any network, calm or wild; some containers publish a port.
func (c *caller) attach(id heddle.EndpointID, p int) error {
	number := c.random.IntN(len(terrains))
	q := heddle.AttachRequest{Network: fmt.Sprint("net", number), ID: id, Netns: "/run/netns/" + id.Container}
	if c.random.IntN(2) == 0 {
		q.Network = wild(number).Name
	}
	if p == 0 && id.IfName == "eth0" && terrains[number].ports {
		q.Ports = []heddle.PortMapping{{HostPort: uint16(20000 + c.number), ContainerPort: 80, Protocol: "tcp"}}
	}
	old := c.fates[id]
	_, err := c.agent.Attach(ctx, q)
	switch {
	case err == nil:
		c.fates[id] = fate{network: q.Network}
	case refused(err, heddle.EndpointDiffers) && (old.unknown || old.network != "" && old.network != q.Network):
		return nil // it is on another network since before
	case refused(err, heddle.RoutesClash) && c.maybeOn(sibling(id), q.Network):
		return nil // a container has one interface on a subnet
	case refused(err, heddle.NoNetwork, heddle.NICTaken):
		return nil // nobody has created it, somebody has deleted it, or others have its NICs
	case away(err):
		c.fates[id] = fate{unknown: true, buried: old.buried}
	}
	return err
}

// sibling is the container's other interface.
func sibling(id heddle.EndpointID) heddle.EndpointID {
	if id.IfName == "eth0" {
		id.IfName = "eth1"
	} else {
		id.IfName = "eth0"
	}
	return id
}

// maybeOn reports whether the endpoint is on the network as far as is known.
func (c *caller) maybeOn(id heddle.EndpointID, network string) bool {
	f := c.fates[id]
	return f.unknown || f.network == network
}

func (c *caller) detach(id heddle.EndpointID) error {
	old := c.fates[id]
	found, err := c.agent.Detach(ctx, id)
	switch {
	case err != nil:
		c.fates[id] = fate{unknown: true, buried: old.buried}
	case !old.unknown && !old.buried && found != (old.network != ""): // a dead container's NIC may have been taken home
		err = fmt.Errorf("detached: %v; it was on %q", found, old.network)
	default:
		c.fates[id] = fate{}
	}
	return err
}

// die ends a container without a word, and another one comes by its name.
func (c *caller) die(pod string) {
	if out, err := cell.TrySh("ip netns del %s; ip netns add %[1]s", pod); err != nil {
		c.t.Errorf("container %s: %v %s", pod, err, out)
	}
	for _, name := range []string{"eth0", "eth1"} {
		id := heddle.EndpointID{Container: pod, IfName: name}
		if f := c.fates[id]; f != (fate{}) {
			f.buried = true
			c.fates[id] = f
		}
	}
}

// bury detaches the endpoints of containers that have died.
func (c *caller) bury(a *cell.Agent) {
	for id, f := range c.fates {
		if f.buried {
			_, err := poll.Until(time.Minute, 100*time.Millisecond, func() error {
				_, err := a.Detach(ctx, id)
				if held(err) {
					return err
				}
				return poll.Final(err)
			})
			cell.Must(c.t, err)
			c.fates[id] = fate{}
		}
	}
}

// held reports whether it is not proven yet that a container has let go of what it had. Of one that has died the kernel
// removes the devices in the background, one namespace after the other, those of other tests among them.
func held(err error) bool { return refused(err, heddle.Quarantined, heddle.InQuarantine) }

// away reports whether the agent was away, so that it is not known whether it
// did what it was asked.
func away(err error) bool {
	var known *heddle.Error
	if errors.As(err, &known) && (known.Kind == heddle.Unreachable || known.Code == heddle.Stopping) {
		return true
	}
	return strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "connection reset")
}

// refused reports whether the error has one of the codes.
func refused(err error, codes ...heddle.Code) bool {
	var known *heddle.Error
	return errors.As(err, &known) && slices.Contains(codes, known.Code)
}
