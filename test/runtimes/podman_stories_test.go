package runtimes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestPodman tells every story in every mode, with one installation and image.
func TestPodman(t *testing.T) { newPodman(t).tell() }

func (p podman) tell() {
	for _, w := range told(p.t) {
		p.sub(w.mode, func() {
			p.networks(w)
			p.story("run", p.tellRun)
			if !w.briefly() {
				p.story("pod", p.tellPod, 0)
				p.story("networks", p.tellNetworks, 1)
				p.story("restart", p.tellRestart, 2)
				p.story("crash", p.tellCrash, 0)
			}
			if w.mode == "bridge" {
				p.story("crowd", p.tellCrowd, 1)
			}
			p.forget()
		})
	}
}

// story is a subtest after which no container is left, and nothing of one.
func (p podman) story(name string, tell func(), turn ...int) {
	p.sub(name, func() {
		takeTurn(p.t, turn)
		defer func() {
			p.clear()
			p.empty()
		}()
		tell()
	})
}

// tellRun gives a container the addresses it asks for, and publishes its port.
func (p podman) tellRun() {
	want := at(20, 7)
	a := p.run("a", fmt.Sprintf("--network blue --ip %s --ip6 %s", want[0], want[1])+p.mac("0a:00:00:00:00:07")+p.publish(8080))
	b := p.run("b", "--network blue")
	e := p.endpoint(p.id("a"), "eth0")
	if got := addrs(e); fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("the agent gave %s, want %s", got, want)
	}
	if !p.wiring.nics && e.MAC != "0a:00:00:00:00:07" {
		p.t.Errorf("the agent gave %s", e.MAC)
	}
	const seen = "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{.GlobalIPv6Address}} {{.MacAddress}}{{end}}"
	if got := p.ask("a", seen); got != fmt.Sprintf("%s %s %s", want[0], want[1], e.MAC) {
		p.t.Errorf("podman shows %q", got)
	}
	if got := p.do("exec a /bin/ip -o link show eth0"); !strings.Contains(got, string(e.MAC)) {
		p.t.Errorf("the container has %s", got)
	}
	b.Gets(p.t, "a", 80, want...)
	p.own.Gets(p.t, "a", 80, want...)
	a.Gets(p.t, "b", 80, addrs(p.endpoint(p.id("b"), "eth0"))...)
	a.Reaches(p.t, world.Beyond4, world.Beyond6)
	p.published("a", 8080, b)
	p.published("a", 8080, a)
	p.refuses("address 10.20.0.7 is taken", "--network blue --ip "+want[0].String(), "HDL-2007")
	if p.wiring.onLAN {
		p.portOnLAN("--network blue -p 8080:80")
	} else {
		p.refuses("port 8080 is published", "--network blue -p 8080:80", p.taken)
	}
	p.do("rm -f -t 0 a")
	p.notPublished(8080)
}

// refuses checks that a container that cannot be had is refused with our words,
// and leaves nothing.
func (p podman) refuses(what, flags, words string) {
	p.t.Helper()
	before, err := p.Endpoints(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cell.TrySh("podman run --rm %s box /bin/sleep 0", flags)
	if err == nil || !strings.Contains(out, words) {
		p.t.Errorf("%s: %v %s, want %s", what, err, out, words)
	}
	if after, err := p.Endpoints(ctx); err != nil || len(after) != len(before) {
		p.t.Errorf("%s: %d endpoints before, %d after %v", what, len(before), len(after), err)
	}
}

// tellPod lets two containers share one address.
func (p podman) tellPod() {
	p.do("pod create --name pod --network blue --infra-image box --infra-command '/bin/sleep 1000'" + p.publish(8081))
	p.do("run -d --pod pod --name first box /bin/serve first 80")
	p.do("run -d --pod pod --name second box /bin/serve second 81")
	other := p.run("other", "--network blue")
	first, second := p.netns("first"), netnsOf("second", p.ask("second", "{{.State.Pid}}"))
	p.serves(second, 81)
	if a, b := first.Sh(p.t, "readlink %s", first.Path), first.Sh(p.t, "readlink %s", second.Path); a != b {
		p.t.Errorf("the containers of a pod are in namespaces %s and %s", a, b)
	}
	pod := addrs(p.endpoint(p.do("pod inspect --format '{{.InfraContainerID}}' pod"), "eth0"))
	other.Gets(p.t, "first", 80, pod...)
	other.Gets(p.t, "second", 81, pod...)
	second.Gets(p.t, "first", 80, netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback())
	p.published("first", 8081, other)
	p.do("pod stop -t 0 pod")
	p.do("pod start pod")
	p.netns("first")
	p.published("first", 8081, other)
	p.do("pod rm -f -t 0 pod")
	p.notPublished(8081)
}

// tellNetworks connects a running container to a second network and takes that
// away again; the first one's addresses and ports work throughout.
func (p podman) tellNetworks() {
	a := p.run("a", "--network blue"+p.publish(8080))
	b := p.run("b", "--network blue")
	d := p.run("d", "--network red")
	for range 2 {
		p.do("network connect --ip %s red a", at(21, 9)[0])
		d.Gets(p.t, "a", 80, addrs(p.endpoint(p.id("a"), "eth1"))...)
		b.Gets(p.t, "a", 80, addrs(p.endpoint(p.id("a"), "eth0"))...)
		p.published("a", 8080, b)
		if got := p.ask("a", "{{len .NetworkSettings.Networks}} {{.NetworkSettings.Networks.red.IPAddress}}"); got != "2 10.21.0.9" {
			p.t.Errorf("podman shows %q", got)
		}
		p.do("network disconnect red a")
		p.published("a", 8080, b)
	}
	a.Reaches(p.t, world.Beyond4, world.Beyond6)
	if links := a.Sh(p.t, "ip -o link | grep -c ."); links != "2" {
		p.t.Errorf("%s links are left in the container", links)
	}
	// the monitor of the container listens on its ports, for it
	p.do("network disconnect blue a")
	p.do("network connect blue a")
	p.published("a", 8080, b)
	p.do("network reload a")
	p.published("a", 8080, b)
	p.do("network connect red a")
	p.do("restart -t 0 a")
	p.netns("a")
	d.Gets(p.t, "a", 80, addrs(p.endpointOn("red", p.id("a")))...)
	b.Gets(p.t, "a", 80, addrs(p.endpointOn("blue", p.id("a")))...)
	// the port leads to the first of the two, which is podman's choice; not from
	// a container on the other one, which the answer would reach by that
	p.published("a", 8080)
}

// tellRestart restarts a container, by podman and after its program was killed.
func (p podman) tellRestart() {
	want := at(20, 8)
	b := p.run("b", "--network blue")
	p.run("a", fmt.Sprintf("--network blue --ip %s --ip6 %s", want[0], want[1])+p.publish(8080))
	for _, again := range []string{"restart -t 0 a", "kill -s KILL a && podman wait a && podman start a"} {
		p.do(again)
		p.netns("a")
		b.Gets(p.t, "a", 80, want...)
		p.published("a", 8080, b)
	}
}

// tellCrash ends containers while the agent is dead: traffic goes on, what ends
// meanwhile is cleaned up when the agent is back, and nothing can begin.
func (p podman) tellCrash() {
	a := p.run("a", "--network blue"+p.publish(8080))
	b := p.run("b", "--network blue")
	p.run("c", "--network blue")
	own := addrs(p.endpoint(p.id("a"), "eth0"))
	p.crash()
	b.Gets(p.t, "a", 80, own...)
	p.published("a", 8080, b)
	a.Reaches(p.t, world.Beyond4, world.Beyond6)
	p.do("kill -s KILL b")
	p.do("rm -f -t 0 c")
	p.queued(2)
	out, err := cell.TrySh("podman run --rm --network blue box /bin/sleep 0")
	if err == nil || !strings.Contains(out, "agent unreachable") {
		p.t.Errorf("a container began without an agent: %v %s", err, out)
	}
	p.revive()
	world.Within(p.t, time.Minute, "what ended meanwhile is detached", func() error {
		all, err := p.Endpoints(ctx)
		if err == nil && len(all) != 1 {
			err = fmt.Errorf("%d endpoints", len(all))
		}
		return err
	})
	p.AuditEmpty(p.t)
	p.published("a", 8080, a)
	p.do("start b")
	b = p.netns("b")
	b.Gets(p.t, "a", 80, own...)
	p.published("a", 8080, b)
}

// endpointOn is the container's endpoint on a network: which interface it is,
// is podman's choice.
func (p podman) endpointOn(network, container string) (found heddle.Endpoint) {
	p.t.Helper()
	all, err := p.Endpoints(ctx)
	for _, e := range all {
		if e.NetworkName == network && e.ID.Container == container {
			return e
		}
	}
	p.t.Fatalf("container %s has no endpoint on %s: %v", container, network, err)
	return found
}
