package policy_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestFlowsGoOn: when the kernel's log ends, who reads what is refused is told so, the status says it, and the agent begins anew by itself.
func TestFlowsGoOn(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", named("db")), w.Pod(t, "other", "net")
	enforce(t, w, twoWays)
	log := flowsOf(t, w)
	for i := range uint16(2) {
		log.last(t, other, frame(other.Endpoint.MAC, db.Endpoint.MAC, ip(other.V4(), db.V4(), udp, datagram(1, 1000+i, nil))))
		endLog(t, w)
		missed := func(word string) func(events.Event) bool {
			return func(e events.Event) bool { return e.Action == events.Missed && strings.Contains(e.Detail, word) }
		}
		if all := log.until(missed("from now on is not seen")); len(all) > 1 {
			t.Errorf("told is %+v", all)
		}
		log.until(missed("seen again"))
		if p := w.Status().Part("flows"); p.Name != "" {
			t.Errorf("the status says %+v", p)
		}
	}
	w.AuditEmpty(t)
}

// endLog has the agent's socket for what is refused get an error: the kernel's answer to a message of the test by the same socket.
func endLog(t *testing.T, w *world.World) {
	t.Helper()
	listener := w.Host.Sh(t, "awk '$1 == %d {print $2}' /proc/net/netfilter/nfnetlink_log", firewall.RefusedGroup)
	port, err := strconv.ParseUint(strings.TrimSpace(listener), 10, 32)
	cell.Must(t, err)
	files, err := os.ReadDir("/proc/self/fd")
	cell.Must(t, err)
	for _, f := range files {
		fd, _ := strconv.Atoi(f.Name())
		if a, err := unix.Getsockname(fd); err == nil && fmt.Sprint(a) == fmt.Sprint(&unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: uint32(port)}) {
			message := []byte{20, 0, 0, 0, 99, unix.NFNL_SUBSYS_ULOG, unix.NLM_F_REQUEST, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // of a type that there is not
			cell.Must(t, unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
			return
		}
	}
	t.Fatalf("no socket has port %d", port)
}
