package runtimes_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

func TestContainerd(t *testing.T) {
	c := newContainerd(t)
	if c.networkReady() {
		t.Error("the network is ready without a configuration")
	}
	for _, w := range told(t) {
		c.sub(w.mode, func() {
			c.network(w)
			c.story("pods", c.tellPods)
			if !w.briefly() {
				c.story("crash", c.tellCrash, 0)
				c.story("restart", c.tellRestart, 2)
			}
			c.forget()
		})
	}
}

func (c *containerd) story(name string, tell func(), turn ...int) {
	c.sub(name, func() {
		takeTurn(c.t, turn)
		defer func() {
			c.clear()
			c.empty()
		}()
		tell()
	})
}

// tellPods lets two sandboxes talk, and publishes the ports of one.
func (c *containerd) tellPods() {
	a, b := c.run("a", 8080), c.run("b", 0)
	c.shows(a)
	c.shows(b)
	b.Gets(c.t, "a", 80, addrs(a.endpoint)...)
	a.Gets(c.t, "b", 80, addrs(b.endpoint)...)
	a.Reaches(c.t, world.Beyond4, world.Beyond6)
	c.published("a", 8080, a.Netns, b.Netns)
	seen := c.cri.must(c.t, "ExecSync", fields{"container_id": a.container, "cmd": []string{"/bin/ip", "-o", "address", "show", "eth0"}, "timeout": 10}).Stdout
	for _, address := range addrs(a.endpoint) {
		if !bytes.Contains(seen, []byte(" "+address.String()+"/")) {
			c.t.Errorf("the container does not see %s: %s", address, seen)
		}
	}
	if !c.wiring.onLAN {
		if out, err := c.cri.call("RunPodSandbox", fields{"config": c.sandboxConfig("late", 8080)}); err == nil || !strings.Contains(err.Error(), "HDL-2010") {
			c.t.Errorf("a port was published twice: %+v %v", out, err)
		}
	}
	c.end(a)
	c.notPublished(8080)
}

// tellCrash stops one sandbox while the agent is dead, and the agent cleans up
// when it is back.
func (c *containerd) tellCrash() {
	a, b := c.run("a", 8080), c.run("b", 0)
	c.crash()
	b.Gets(c.t, "a", 80, addrs(a.endpoint)...)
	c.published("a", 8080, b.Netns)
	c.end(b)
	c.queued(1)
	if out, err := c.cri.call("RunPodSandbox", fields{"config": c.sandboxConfig("c", 0)}); err == nil || !strings.Contains(err.Error(), "agent unreachable") {
		c.t.Errorf("a sandbox began without an agent: %+v %v", out, err)
	}
	c.revive()
	world.Within(c.t, time.Minute, "what ended meanwhile is detached", func() error {
		if all, err := c.Endpoints(ctx); err != nil || len(all) != 1 {
			return fmt.Errorf("%d endpoints %w", len(all), err)
		}
		return nil
	})
	c.AuditEmpty(c.t)
	b = c.run("b", 0)
	c.published("a", 8080, a.Netns, b.Netns)
}

// tellRestart restarts containerd, and the agent meanwhile, under a running
// sandbox.
func (c *containerd) tellRestart() {
	a, b := c.run("a", 8080), c.run("b", 0)
	c.stop()
	c.published("a", 8080, b.Netns)
	c.crash()
	c.revive()
	c.start()
	c.shows(a)
	b.Gets(c.t, "a", 80, addrs(a.endpoint)...)
	c.published("a", 8080, b.Netns)
	c.cri.must(c.t, "StopContainer", fields{"container_id": a.container})
	c.cri.must(c.t, "RemoveContainer", fields{"container_id": a.container})
	c.serve(a)
	c.published("a", 8080, b.Netns)
	c.end(a)
	c.notPublished(8080)
}
