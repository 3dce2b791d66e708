package managers_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

const (
	// endContainer ends the container without a word, and waits until the agent has noticed and the NIC has gone.
	endContainer = `ip netns delete w
tries=60; while heddle endpoint show w; do tries=$((tries - 1)); [ $tries -gt 0 ] || exit 1; sleep 0.5; done`
	// disguise has the container change all by which its NIC could be known.
	disguise = `ip netns exec w sh -ec 'ip link set eth0 down; ip link set eth0 address 52:54:00:00:00:77; ip link set eth0 alias mine; ip link set eth0 name uplink; ip link set uplink up'`
	// lookInside prints what the container's NIC is. Its number, and its name on the host, differ from round to round. The kernel
	// takes up to a second to say that it is up (net/core/link_watch.c).
	lookInside = `ip netns exec w sh -ec '
tries=50; until ip link show eth0 | grep -q "state UP"; do tries=$((tries - 1)); [ $tries -gt 0 ] || break; sleep 0.1; done
ip -o link show eth0 | sed "s/^[0-9]*/N/; s/was=eth[0-9]*/was=NAME/"
ip -o address show dev eth0 | sed "s/^[0-9]*/N/"
ip route; ip -6 route
cd /proc/sys/net; for f in ipv4/conf/eth0 ipv6/conf/eth0 ipv4/neigh/eth0 ipv6/neigh/eth0; do grep -r . $f 2>/dev/null || true; done | grep -v stable_secret'
ip netns exec w ping -n -c 1 -W 5 10.70.0.1 | grep -o "1 received"
ip netns exec w ping -n -c 1 -W 5 fd70::1 | grep -o "1 received"`
)

// attach makes a container, which is a bare namespace, and attaches it.
func (m *machine) attach(t *testing.T, network string) (e heddle.Endpoint) {
	t.Helper()
	out := m.run(t, "ip netns add w; heddle attach "+network+" --netns w -o json 2>/root/attach.err || { cat /root/attach.err; exit 1; }")
	var answer struct{ Endpoint *heddle.Endpoint }
	answer.Endpoint = &e
	cell.Must(t, json.Unmarshal([]byte(out), &answer))
	return e
}

// inside returns what the container's NIC is, without what differs from round to round. It fails the test unless that is what heddle
// gave.
func (m *machine) inside(t *testing.T, e heddle.Endpoint) string {
	t.Helper()
	out := m.run(t, lookInside)
	wants := []string{"N: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 ", string(e.MAC), "default via 10.70.0.1 dev eth0 proto 104", "default via fd70::1 dev eth0 proto 104",
		"ipv6/conf/eth0/accept_ra:0", "1 received\n1 received"}
	for _, a := range e.Addrs {
		wants = append(wants, " "+a.String()+" ")
	}
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("not %q in the container:\n%s", want, out)
		}
	}
	if n := strings.Count(out, " inet ") + strings.Count(out, " inet6 "); n != len(e.Addrs)+1 { // and the kernel's link-local one
		t.Errorf("%d addresses in the container, and %v are heddle's:\n%s", n, e.Addrs, out)
	}
	for _, a := range e.Addrs {
		out = strings.ReplaceAll(out, a.Addr().String(), "ADDRESS")
	}
	return linkLocal.ReplaceAllString(strings.ReplaceAll(out, string(e.MAC), "MAC"), "LINKLOCAL/64")
}

// linkLocal is an address that the kernel makes of the MAC address (RFC 4291, appendix A).
var linkLocal = regexp.MustCompile(`fe80::[0-9a-f:]+/64`)
