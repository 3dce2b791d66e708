package bench

import (
	"context"
	"os/exec"
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
// on another machine, too.
func TestLiveFar(t *testing.T) {
	probes := []Probe{PingPong{}, Iperf3{}, Throughput{}}
	needTools(t, probes...)
	columns := wired(t)[:1]
	pair := &columns[0].Pairs[0]
	pair.Client, pair.Server = far(pair.Client), far(pair.Server)
	m := Matrix{Columns: columns, Probes: probes, Rounds: 1, Duration: 300 * time.Millisecond}
	whole(t, m, t.TempDir(), implausible)
	nothingLeft(t, columns)
}
