package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadPaced(t *testing.T) {
	got, err := readPaced(`{"sent":1000,"received":900,"seconds":2,"cpu":4500000}`)
	if err != nil || got["work"] != 5 || got["lost"] < 9.99 || got["lost"] > 10.01 || got["rate"] != 500 || got[handled] != 900 {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"the receiver does not answer": "does not answer", `{"sent":10,"received":0,"seconds":1,"cpu":5}`: "nothing was received", `{"sent":10,"received":10,"seconds":1}`: "nothing was received",
	} {
		if _, err := readPaced(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func attachNothing(context.Context) (time.Duration, error) { return time.Millisecond, nil }

// countPorts collects the source ports of packets of 28 bytes.
const countPorts = `table ip count {
	set ports { type inet_service; flags dynamic; size 65535; }
	chain in { type filter hook prerouting priority -500; udp length 36 add @ports { udp sport }; }
}`

// TestLivePacedAndAttach runs what the preset paths adds over a bare wire: packets of one flow
// and of many, which arrive from as many ports, and attaches.
func TestLivePacedAndAttach(t *testing.T) {
	m := Matrix{Probes: []Probe{Paced{}, Paced{Flows: manyFlows}, Attach{}}, Rounds: 1, Duration: time.Second, Load: 5000}
	needTools(t, m.Probes...)
	m.Columns = wired(t)[:1]
	var attached atomic.Int64
	m.Columns[0].Attach = func(ctx context.Context) (time.Duration, error) {
		attached.Add(1)
		return time.Millisecond, exec.CommandContext(ctx, "true").Run()
	}
	server := m.Columns[0].Pairs[0].Server.Name
	if out, err := exec.Command("ip", "netns", "exec", server, "nft", countPorts).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole(t, m, t.TempDir(), func(s Sample) string {
		f := s.Figures
		bad := f["work"] <= 0 || f["work"] > 1e4 || f["rate"] < 100 || f["rate"] > 5500 || f["lost"] > 95
		if s.Probe == "attach" {
			n := attached.Swap(0) // for another try
			bad = f["took"] != 1 || f["took-p99"] != 1 || f["attached"] < leastAttaches || n != int64(f["attached"])+1
		}
		if bad {
			return fmt.Sprintf("%s: %v", s.Probe, f)
		}
		return ""
	})
	out, err := exec.Command("ip", "netns", "exec", server, "nft", "list", "set", "ip", "count", "ports").Output()
	if ports := strings.Count(string(out), ","); err != nil || ports < 1000 {
		t.Errorf("%d source ports, %v", ports, err)
	}
	nothingLeft(t, m.Columns)
}
