package bench

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// farEnd runs a program as on another machine: not as the caller's own process, which forwards
// signals, and not in its namespaces.
const farEnd = `setsid setpriv --pdeathsig KILL "$@" &
p=$!
trap "kill -INT $p" INT
trap "kill -STOP $p" TSTP
trap "kill -CONT $p" CONT
while kill -0 $p 2>/dev/null; do wait $p; code=$?; done
exit $code`

// far is the endpoint as one on another machine.
func far(at Endpoint) Endpoint {
	near := at.Command
	at.Far = true
	at.Command = func(ctx context.Context, argv ...string) (*exec.Cmd, error) {
		cmd, err := near(ctx, argv...)
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, "sh", append([]string{"-c", farEnd, "sh"}, cmd.Args...)...), nil
	}
	return at
}

// TestLiveFar: tools with servers, and clients that are stopped until their turn, work
// on another machine, too. What machines account, which takes a while to read, is read when nothing is under way: else it would not be of
// the same packets as the counts.
func TestLiveFar(t *testing.T) {
	probes := []Probe{PingPong{}, Iperf3{}, Throughput{}}
	needTools(t, probes...)
	columns := wired(t)[:1]
	pair := &columns[0].Pairs[0]
	received := func() string { return received(t, pair.Server) }
	columns[0].Processors = func(context.Context) ([]string, error) {
		before := received()
		time.Sleep(50 * time.Millisecond)
		if now := received(); now != before {
			t.Errorf("a packet came while the CPU time was read: %s, then %s", before, now)
		}
		stat, err := os.ReadFile("/proc/stat")
		up, also := os.ReadFile("/proc/uptime")
		return []string{string(stat) + "uptime " + string(up)}, errors.Join(err, also)
	}
	pair.Client, pair.Server = far(pair.Client), far(pair.Server)
	m := Matrix{Columns: columns, Probes: probes, Rounds: 1, Duration: 300 * time.Millisecond}
	whole(t, m, t.TempDir(), implausible)
	nothingLeft(t, columns)
}

// received returns the counters of a place's UDP, which count no TCP.
func received(t *testing.T, at Endpoint) string {
	cmd, err := at.Command(t.Context(), "cat", "/proc/net/snmp")
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, counters, _ := strings.Cut(line, ": "); name == "Udp" {
			if first, _, _ := strings.Cut(counters, " "); first != "InDatagrams" {
				return first
			}
		}
	}
	t.Errorf("no UDP in %s", text)
	return ""
}
