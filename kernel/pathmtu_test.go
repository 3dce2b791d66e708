package kernel

import (
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"golang.org/x/sys/unix"
)

// The MTU of a route bounds what containers send through it, also if it is lowered while they send:
// they are notified (RFC 1191, RFC 8201).
func TestRouteMTU(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	r.containerOnTunnels()
	state := tunnelPlan(2, 1)
	r.apply(heddle.Plan{Host: state})
	senders := map[netip.Addr]int{}
	for _, text := range []string{"10.30.1.5", "10.30.2.5", "fd30:0:0:1::5", "fd30:0:0:2::5"} {
		to := netip.MustParseAddr(text)
		senders[to] = r.unboundedSender(to)
	}
	for to, fd := range senders {
		defer unix.Close(fd)
		if mtu := learns(t, fd, to, 1400); mtu != 1400 {
			t.Errorf("to %s: the container has learnt an MTU of %d, and the route has 1400", to, mtu)
		}
	}
	for i := range state.Routes {
		state.Routes[i].MTU = 1320
	}
	if made := r.apply(heddle.Plan{Host: state}); len(made) != len(state.Routes) {
		t.Errorf("lowered %v", made)
	}
	r.clean(heddle.Plan{Host: state})
	for to, fd := range senders {
		if mtu := learns(t, fd, to, 1320); mtu != 1320 {
			t.Errorf("to %s: the container has learnt an MTU of %d, and the route has 1320 now", to, mtu)
		}
	}
}

// containerOnTunnels joins the container to a host that routes.
func (r *room) containerOnTunnels() {
	r.t.Helper()
	r.sh(`ip link add p0 type veth peer name eth0 netns ` + r.pod + `
sysctl -qw net/ipv4/ip_forward=1 net/ipv6/conf/all/forwarding=1
ip link set p0 up; ip address add 10.30.9.1/24 dev p0; ip address add fd30:9::1/64 dev p0 nodad
ip -n ` + r.pod + ` link set eth0 up; ip -n ` + r.pod + ` address add 10.30.9.2/24 dev eth0; ip -n ` + r.pod + ` address add fd30:9::2/64 dev eth0 nodad
ip -n ` + r.pod + ` route add default via 10.30.9.1; ip -n ` + r.pod + ` -6 route add default via fd30:9::1`)
}

// unboundedSender opens an unboundedSender socket in the container.
func (r *room) unboundedSender(to netip.Addr) (fd int) {
	r.t.Helper()
	cell.Must(r.t, r.podNS.Do(func() (err error) {
		fd, err = unboundedSender(to)
		return err
	}))
	return fd
}

// unboundedSender is a UDP socket whose packets may not be fragmented.
func unboundedSender(to netip.Addr) (int, error) {
	if to.Is4() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
		}
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: 9, Addr: to.As4()})
		}
		return fd, err
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
	}
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet6{Port: 9, Addr: to.As16()})
	}
	return fd, err
}

// learns sends packets of the assumed path MTU, until that is the given MTU or ten seconds are
// over.
func learns(t *testing.T, fd int, to netip.Addr, want int) (mtu int) {
	t.Helper()
	poll.Until(10*time.Second, 20*time.Millisecond, poll.True(func() bool {
		var err error
		headers := 28
		if to.Is4() {
			mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU)
		} else {
			headers = 48
			mtu, err = unix.GetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU)
		}
		cell.Must(t, err)
		if mtu > want {
			unix.Write(fd, make([]byte, mtu-headers)) // an error reports the new MTU
		}
		return mtu <= want
	}))
	return mtu
}
