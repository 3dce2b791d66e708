package ipam

import (
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
)

// None is the source of networks without subnets. Their endpoints have no address, or one that does
// not come from us, such as that of a NIC. Their addresses are not recorded here.
type None struct{}

func (None) Gives() bool { return false }

func (None) Take(heddle.EndpointID, []netip.Addr) ([]netip.Prefix, error) { return nil, nil }

func (None) Preview(heddle.EndpointID, []netip.Addr) ([]netip.Prefix, error) { return nil, nil }

// TakeOne refuses: there is no subnet to take an address from.
func (None) TakeOne(subnet netip.Prefix, _ netip.Addr, _ func(netip.Addr) heddle.EndpointID) (netip.Prefix, error) {
	return netip.Prefix{}, heddle.Errorf(heddle.OutsidePool, "lease an address of", subnet.String(), "the network has no subnet", "create a network with --subnet")
}

func (None) Give(heddle.EndpointID) []netip.Addr { return nil }

func (None) Restore(heddle.EndpointID, []netip.Prefix) error { return nil }

func (None) RestoreQuarantine(netip.Addr, time.Time) {}

func (None) SetCursor(map[heddle.Family]netip.Addr) {}

func (None) Cursor() map[heddle.Family]netip.Addr { return nil }

func (None) Holder(netip.Addr) (heddle.EndpointID, bool) { return heddle.EndpointID{}, false }

func (None) Held() map[heddle.EndpointID][]netip.Prefix { return nil }

func (None) Stats() []Stats { return nil }
