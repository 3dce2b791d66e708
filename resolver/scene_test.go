package resolver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/world"
)

// scene is a host with two networks, their containers, a resolver, and name servers outside.
//
//	c1 (web), stranger ═══ app   10.1.0.1, fd01::1 ─┐
//	                  c2 (both) ═══╡                ├─ host ═══ outside 192.0.2.2, .3, 2001:db8::2
//	c3 (store)           ═══ back  10.2.0.1 ────────┘
type scene struct {
	dir, conf, uplink          string
	c1, c2, c3, stranger, away world.Netns
	far                        *far
	stop                       func() error
}

// The addresses at which the resolver answers, and those of the name servers.
const (
	app4, app6, back4  = "10.1.0.1", "fd01::1", "10.2.0.1"
	far4, other4, far6 = "192.0.2.2", "192.0.2.3", "2001:db8::2"
)

func newScene(t testing.TB) *scene {
	t.Helper()
	cell.Need(t)
	s := &scene{dir: t.TempDir(), conf: filepath.Join(t.TempDir(), "resolv.conf"), uplink: filepath.Join(t.TempDir(), "uplink.conf")}
	s.c1, s.c2 = world.NewNetns(t, "c1"), world.NewNetns(t, "c2")
	s.c3, s.stranger, s.away = world.NewNetns(t, "c3"), world.NewNetns(t, "stranger"), world.NewNetns(t, "outside")
	var l links
	l.bridge("app", app4+"/24", app6+"/64")
	l.bridge("back", back4+"/24")
	l.bridge("wan", "192.0.2.1/24", "2001:db8::1/64")
	l.join(s.c1, "app", "eth0", app4, "10.1.0.2/24", "fd01::2/64")
	l.join(s.c2, "app", "eth0", "", "10.1.0.3/24", "fd01::3/64")
	l.join(s.c2, "back", "eth1", "", "10.2.0.3/24")
	l.join(s.c3, "back", "eth0", back4, "10.2.0.4/24")
	l.join(s.stranger, "app", "eth0", app4, "10.1.0.9/24", "fd01::9/64")
	l.join(s.away, "wan", "eth0", "", far4+"/24", other4+"/24", far6+"/64")
	l.make(t)
	s.write(t, appNetwork())
	s.write(t, backNetwork())
	s.far = newFar(t, s.away)
	s.upstreams(t, far4)
	return s
}

// links are commands of ip(8), made at once: each start of a program takes its time.
type links struct {
	commands []string
	names    []string
}

func (l *links) add(format string, args ...any) {
	l.commands = append(l.commands, "ip "+fmt.Sprintf(format, args...))
}

func (l *links) bridge(name string, addrs ...string) {
	l.names = append(l.names, name)
	l.add("link add %s type bridge", name)
	l.add("link set %s up", name)
	for _, a := range addrs {
		l.add("addr add %s dev %s nodad", a, name)
	}
}

// join makes a port of a bridge for the namespace, and its default route if there is a gateway.
func (l *links) join(p world.Netns, bridge, ifname, gateway string, addrs ...string) {
	port := p.Name + "-" + bridge
	l.names = append(l.names, port)
	l.add("link add %s master %s type veth peer %s netns %s", port, bridge, ifname, p.Name)
	l.add("link set %s up", port)
	l.add("-n %s link set lo up", p.Name)
	l.add("-n %s link set %s up", p.Name, ifname)
	for _, a := range addrs {
		l.add("-n %s addr add %s dev %s nodad", p.Name, a, ifname)
	}
	if gateway != "" {
		l.add("-n %s route add default via %s", p.Name, gateway)
	}
}

func (l *links) make(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		for _, name := range l.names {
			cell.TrySh("ip link del %s", name)
		}
	})
	cell.Sh(t, "%s", strings.Join(l.commands, "\n"))
}

func addrs(all ...string) (some []netip.Addr) {
	for _, a := range all {
		some = append(some, netip.MustParseAddr(a))
	}
	return some
}

func endpoint(host, container, name string, aliases []string, at ...string) names.Endpoint {
	return names.Endpoint{ID: heddle.EndpointID{Container: container, IfName: "eth0"}, Host: host, Name: name, Aliases: aliases, Addrs: addrs(at...)}
}

// serving is an endpoint with published ports.
func serving(e names.Endpoint, ports ...string) names.Endpoint {
	e.Ports = ports
	return e
}

func appNetwork() names.Network {
	return names.Network{ID: "00000000000000a1", Name: "app", Listen: addrs(app4, app6),
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24"), netip.MustParsePrefix("fd01::/64")},
		Endpoints: []names.Endpoint{
			serving(endpoint("", "c1", "web", []string{"www"}, "10.1.0.2", "fd01::2"), "80/tcp"),
			serving(endpoint("", "c2", "both", []string{"www"}, "10.1.0.3", "fd01::3"), "80/tcp"),
			serving(endpoint("host2", "c4", "far", nil, "10.1.0.4"), "53/udp", "8080/tcp"),
		}}
}

func backNetwork() names.Network {
	return names.Network{ID: "00000000000000b2", Name: "back", Internal: true, Listen: addrs(back4),
		Subnets: []netip.Prefix{netip.MustParsePrefix("10.2.0.0/24")},
		Endpoints: []names.Endpoint{
			endpoint("", "c2", "both", nil, "10.2.0.3"),
			endpoint("", "c3", "store", nil, "10.2.0.4"),
		}}
}

// write replaces a network's file, as the agent does.
func (s *scene) write(t testing.TB, n names.Network) {
	t.Helper()
	s.writeAs(t, n.ID+".json", n)
}

// writeAs writes a file of a network under a name of its own.
func (s *scene) writeAs(t testing.TB, name string, n names.Network) {
	t.Helper()
	text, err := json.Marshal(n)
	cell.Must(t, err)
	path := filepath.Join(s.dir, name)
	cell.Must(t, os.WriteFile(path+".new", text, 0o600))
	cell.Must(t, os.Rename(path+".new", path))
}

// upstreams replaces the host's list of name servers.
func (s *scene) upstreams(t testing.TB, all ...string) { writeServers(t, s.conf, all...) }

func writeServers(t testing.TB, path string, all ...string) {
	t.Helper()
	text := "search example.org\noptions ndots:1\n"
	for _, a := range all {
		text += "nameserver " + a + "\n"
	}
	cell.Must(t, os.WriteFile(path+".new", []byte(text), 0o644))
	cell.Must(t, os.Rename(path+".new", path))
}

// start starts the resolver in this process, and waits until it answers.
func (s *scene) start(t testing.TB, change ...func(*resolver.Options)) *scene {
	t.Helper()
	s.startOnly(t, change...)
	s.serves(t, app4, app6, back4)
	return s
}

// startOnly is start without the wait.
func (s *scene) startOnly(t testing.TB, change ...func(*resolver.Options)) {
	t.Helper()
	o := resolver.Options{Dir: s.dir, ResolvConf: s.conf, UplinkConf: s.uplink, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- resolver.Run(ctx, o) }()
	s.stop = func() error {
		cancel()
		err, ok := <-ended
		if ok {
			close(ended)
		}
		return err
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// patience is for what must happen, on a machine that has much else to do.
const patience = 30 * time.Second

// serves waits until the resolver answers at these addresses, and no others.
func (s *scene) serves(t testing.TB, all ...string) {
	t.Helper()
	want := addrs(all...)
	slices.SortFunc(want, netip.Addr.Compare)
	s.says(t, fmt.Sprint("serves ", all), func(st process.Status) bool { return slices.Equal(st.Serves, want) })
}

// says waits for a status.
func (s *scene) says(t testing.TB, what string, ok func(process.Status) bool) {
	t.Helper()
	var last *process.Status
	_, err := poll.Until(patience, 5*time.Millisecond, func() (err error) {
		last, err = process.ReadStatus(s.dir)
		if err == nil && (last == nil || !ok(*last)) {
			err = fmt.Errorf("the status is %+v", last)
		}
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// denies waits until the status tells of one container whose questions were not answered: this one.
func (s *scene) denies(t testing.TB, container string, ok func(process.Denied) bool) {
	t.Helper()
	s.says(t, "it denies questions of "+container, func(st process.Status) bool {
		return len(st.Denied) == 1 && st.Denied[0].Container == container && ok(st.Denied[0])
	})
}

// gone waits until a name is not known any more.
func (s *scene) gone(t testing.TB, from world.Netns, name string) {
	s.becomes(t, from, name, "NXDOMAIN")
}

// becomes waits until the addresses of a name are these.
func (s *scene) becomes(t testing.TB, from world.Netns, name, want string) {
	t.Helper()
	_, err := poll.Until(patience, 2*time.Millisecond, func() error {
		if got := text(exchange(t, from, "udp", app4, query(name+" A"))); got != want {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s does not become %s: %v", name, want, err)
	}
}
