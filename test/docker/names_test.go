package docker_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/world"
)

// withResolver has the agents run resolvers.
func withResolver(o *lab.Options) {
	o.AgentCommand = append(o.AgentCommand, "--resolver", "gateway")
}

// app is the same file on two hosts, each of which runs one of its services.
const app = `version: "3"
services:
  web:
    image: box
    command: sleep 36000
    stop_signal: SIGKILL
    restart: always
    networks: {both: {aliases: [www, "*", "two words", "-dash"]}}
  db:
    image: box
    container_name: Database
    command: sleep 36000
    stop_signal: SIGKILL
    restart: always
    networks: {both: {aliases: [sql]}}
networks:
  both: {external: true}
`

// outsideName is a name that only the hosts' name server knows.
const outsideName, outsideAddr, outsideAddr6 = "www.outside.example", "198.51.100.7", "2001:db8:ff::7"

// composeNames has the containers of an unchanged Compose file find each other across hosts, whatever is
// killed, stopped and renamed. The hosts' name server is on the third one.
func composeNames(t *testing.T, l *docker.Lab) {
	docker.Need(t, "docker-compose", "dnsmasq")
	a, b, c := l.Hosts[0], l.Hosts[1], l.Hosts[2]
	c.Run(t, "dnsmasq", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--listen-address="+c.Addr4.String(),
		"--address=/"+outsideName+"/"+outsideAddr, "--address=/"+outsideName+"/"+outsideAddr6)
	for _, h := range []*docker.Host{a, b} {
		h.Run(t, "sh", "-c", "echo nameserver "+c.Addr4.String()+" >/etc/resolv.conf")
	}
	if os.Getenv("HEDDLE_DOCKER") != "" { // a current engine asks for its containers only servers that it was told of
		if said := a.Heddle(t, "status"); !strings.Contains(said, "daemon.json") {
			t.Errorf("of name servers that dockerd asks from the host, the status says\n%s", said)
		}
		for _, h := range []*docker.Host{a, b} {
			h.DockerArgs = []string{"--dns", c.Addr4.String()}
			h.StopDocker(t)
			h.StartDocker(t)
		}
	}
	a.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--ipv6", "--subnet", "10.2.0.0/24", "--subnet", "fd02::/64", "both")
	everywhere(t, l, "both", true)
	compose := write(t, app)
	a.Run(t, "docker-compose", "-p", "app", "-f", compose, "up", "-d", "web")
	b.Run(t, "docker-compose", "-p", "app", "-f", compose, "up", "-d", "db")
	web, db := party{a, "app_web_1", "both"}, party{b, "Database", "both"}
	all := func(after string) {
		t.Helper()
		for _, name := range []string{"db", "database", "sql", "DB.both"} {
			web.finds(t, db, name, after)
		}
		for _, name := range []string{"web", "app_web_1", "www"} {
			db.finds(t, web, name, after)
		}
	}
	all("start")
	web.hears(t, "nobody", "NXDOMAIN")
	web.hears(t, outsideName, outsideAddr, outsideAddr6)
	t.Run("left out", func(t *testing.T) {
		if said := a.Heddle(t, "status"); !strings.Contains(said, "app_web_1") || !strings.Contains(said, "the alias") {
			t.Errorf("of names that are none, the status says\n%s", said)
		}
	})
	a.KillAgent(t)
	web.finds(t, db, "db", "the agent's death")
	db.finds(t, web, "web", "the agent's death")
	b.Docker(t, "rename", "Database", "data")
	db.name = "data"
	db.hears(t, outsideName, outsideAddr, outsideAddr6)
	a.StartAgent(t)
	web.finds(t, db, "data", "a rename")
	web.hears(t, "database", "NXDOMAIN")
	all = func(after string) {
		t.Helper()
		web.finds(t, db, "db", after)
		db.finds(t, web, "web", after)
	}
	all("the agent's restart")
	b.KillDocker()
	b.StartDocker(t)
	all("dockerd's restart")
	t.Run("clash", func(t *testing.T) {
		run(t, a, "data", "--net", "both")
		world.Soon(t, "who poses as another is told", func() error {
			if said := c.Heddle(t, "status"); !strings.Contains(said, "data on both") {
				return errors.New(said)
			}
			return nil
		})
		web.hears(t, "db", db.addrs(t)...)
		a.Docker(t, "rm", "-f", "data")
	})
	t.Run("internal", func(t *testing.T) { internalNames(t, l) })
	b.Docker(t, "network", "disconnect", "both", "data")
	web.hears(t, "db", "NXDOMAIN")
	a.Run(t, "docker-compose", "-p", "app", "-f", compose, "down")
	b.Docker(t, "rm", "-f", "data")
	b.Docker(t, "network", "rm", "both")
	everywhere(t, l, "both", false)
}

// internalNames has containers on a network without a way out find each other, and nothing else.
func internalNames(t *testing.T, l *docker.Lab) {
	a, b := l.Hosts[0], l.Hosts[1]
	a.Docker(t, "network", "create", "-d", "heddle", "--ipam-driver", "heddle", "--internal", "--subnet", "10.3.0.0/24", "within")
	everywhere(t, l, "within", true)
	one, two := party{a, "in1", "within"}, party{b, "in2", "within"}
	run(t, a, "in1", "--net", "within")
	run(t, b, "in2", "--net", "within")
	one.finds(t, two, "in2", "start")
	one.hears(t, "db", "NXDOMAIN")
	if out, err := a.TryDocker("exec", "in1", "nslookup", outsideName); err == nil || strings.Contains(out, outsideAddr) {
		t.Errorf("a name of the outside within: %v %s", err, out)
	}
	a.Docker(t, "rm", "-f", "in1")
	b.Docker(t, "rm", "-f", "in2")
	a.Docker(t, "network", "rm", "within")
	everywhere(t, l, "within", false)
}

// party is a container on a network.
type party struct {
	host          *docker.Host
	name, network string
}

func (p party) addrs(t *testing.T) []string {
	t.Helper()
	return strings.Fields(p.host.Docker(t, "inspect", "--format",
		"{{with .NetworkSettings.Networks."+p.network+"}}{{.IPAddress}} {{.GlobalIPv6Address}}{{end}}", p.name))
}

// finds waits until the container is told another one's addresses for a name.
func (p party) finds(t *testing.T, other party, name, after string) {
	t.Helper()
	t.Logf("%s finds %s after %s", p.name, name, after)
	p.hears(t, name, other.addrs(t)...)
}

// told are the answers of nslookup, after the server's own address.
var told = regexp.MustCompile(`(?m)^Address(?: \d+)?: (\S+)|(NXDOMAIN|SERVFAIL|REFUSED|timed out)`)

// hears waits until the container's own resolver answers a question for a name so: with addresses,
// or a code.
func (p party) hears(t *testing.T, name string, want ...string) {
	t.Helper()
	slices.Sort(want)
	world.Within(t, backTime, fmt.Sprintf("%s asks for %s", p.name, name), func() error {
		out, _ := p.host.TryDocker("exec", p.name, "nslookup", name)
		var all []string
		for _, m := range told.FindAllStringSubmatch(out, -1) {
			if a, err := netip.ParseAddr(m[1]); err == nil {
				all = append(all, a.String())
			} else if m[2] != "" {
				all = append(all, m[2])
			}
		}
		slices.Sort(all)
		if all = slices.Compact(all); !slices.Equal(all, want) {
			return fmt.Errorf("it is told %v, not %v:\n%s", all, want, out)
		}
		return nil
	})
}

// write writes a Compose file to a folder that all hosts see.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker-compose.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
