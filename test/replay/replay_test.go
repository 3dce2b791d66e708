// Package replay_test plays what Docker's engines of several versions have said to
// a plugin to a real agent, and compares its answers.
//
// A recording has a call a line: path, body, and the answer that the engine was
// content with. Those of engines 20.10 (Debian) and 29.8 are of a real dockerd
// (TestRecord of test/docker makes such); 28.5's is of libnetwork, the
// part of the engine that talks to network plugins, as of that version.
package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

const (
	socket = "/run/docker/plugins/heddle.sock"
	// inTime is what the engine is promised.
	inTime = 2 * time.Second
)

type call struct{ Path, Body, Answer string }

func recording(t *testing.T, engine string) (all []call) {
	t.Helper()
	text, err := os.ReadFile("../../door/docker/testdata/engine-" + engine + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
		var c call
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// engine calls the agent as an engine does, and remembers what it was given
// instead of what the recording's engine was.
type engine struct {
	http  *http.Client
	given map[string]string
	// patient has a call take longer than an engine waits: what it is on a machine
	// on which everything is tested at once.
	patient bool
}

func newEngine() *engine {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &engine{&http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}, map[string]string{}, true}
}

func (e *engine) translate(text string) string {
	for recorded, now := range e.given {
		text = strings.ReplaceAll(text, recorded, now)
	}
	return text
}

func (e *engine) call(t *testing.T, c call) string {
	t.Helper()
	start, limit := time.Now(), inTime
	if e.patient {
		limit = 10 * inTime
	}
	r, err := e.http.Post("http://plugin"+c.Path, "application/vnd.docker.plugins.v1.2+json", strings.NewReader(e.translate(c.Body)))
	if err != nil {
		t.Fatalf("%s: %v", c.Path, err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if took := time.Since(start); err != nil || r.StatusCode != 200 || took > limit {
		t.Errorf("%s: status %d after %v: %v %s", c.Path, r.StatusCode, took, err, text)
	}
	return strings.TrimSpace(string(text))
}

// lateTime is when what was made too late is undone.
const lateTime = 5 * time.Second

// play makes a call, and compares: a free subnet is another one each time. A call that
// comes too late on a busy machine is made again, as its answer says.
func (e *engine) play(t *testing.T, c call) {
	t.Helper()
	answer := e.call(t, c)
	for again := 0; e.patient && again < 10 && strings.Contains(answer, string(heddle.Waited)); again++ {
		time.Sleep(lateTime)
		answer = e.call(t, c)
	}
	if c.Path == "/IpamDriver.RequestPool" && strings.Contains(c.Body, `"Pool":""`) {
		e.learn(t, c.Answer, answer)
	}
	if want := e.translate(c.Answer); answer != want {
		t.Errorf("%s %s\n  answer %s\n  want   %s", c.Path, c.Body, answer, want)
	}
}

func (e *engine) learn(t *testing.T, recorded, now string) {
	t.Helper()
	type pool struct {
		Pool string
		Data map[string]string
	}
	var then, here pool
	if json.Unmarshal([]byte(recorded), &then) != nil || json.Unmarshal([]byte(now), &here) != nil || here.Pool == "" {
		t.Fatalf("no pool: %s", now)
	}
	const gateway = "com.docker.network.gateway"
	bare := func(s string) string { return strings.SplitN(s, "/", 2)[0] }
	e.given[then.Pool] = here.Pool
	e.given[bare(then.Data[gateway])] = bare(here.Data[gateway])
}

func host(t *testing.T) *cell.Agent {
	t.Helper()
	cell.Sh(t, `ip link add up0 type veth peer name up1 && ip link set up0 up && ip link set up1 up
ip addr add 192.0.2.1/24 dev up0 && ip route add default via 192.0.2.254`)
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
	return cell.Start(t, t.TempDir())
}

// nothingLeft compares what is there with what there was before.
func nothingLeft(t *testing.T, a *cell.Agent) {
	t.Helper()
	ctx := context.Background()
	if all, err := a.Endpoints(ctx); err != nil || len(all) > 0 {
		t.Errorf("endpoints left: %v %v", all, err)
	}
	if all, err := a.Networks(ctx); err != nil || len(all) > 0 {
		t.Errorf("networks left: %v %v", all, err)
	}
	if found, err := a.Audit(ctx); err != nil || len(found) > 0 {
		t.Errorf("audit: %v %v", found, err)
	}
}

var engines = []string{"20.10", "28.5", "29.8"}

// TestEngines plays each recording as it is.
func TestEngines(t *testing.T) { playAll(t, true) }

// TestSoakEngines wants each answer in the time that engines are promised.
func TestSoakEngines(t *testing.T) {
	soak.Need(t, "has a limit of time for a quiet machine")
	playAll(t, false)
}

func playAll(t *testing.T, patient bool) {
	for _, version := range engines {
		t.Run(version, func(t *testing.T) {
			a, e := host(t), newEngine()
			e.patient = patient
			for _, c := range recording(t, version) {
				e.play(t, c)
			}
			nothingLeft(t, a)
		})
	}
}

// TestRepeated makes each call of the network driver twice: the engine's client
// tries again when a connection breaks.
func TestRepeated(t *testing.T) {
	a, e := host(t), newEngine()
	for _, c := range recording(t, "20.10") {
		e.play(t, c)
		if strings.HasPrefix(c.Path, "/NetworkDriver.") {
			e.play(t, c)
		}
	}
	nothingLeft(t, a)
}

// TestKilled kills the agent before each call: whatever was said before is
// recorded.
func TestKilled(t *testing.T) {
	a, e := host(t), newEngine()
	for _, c := range recording(t, "20.10") {
		a.Kill()
		a = cell.Start(t, a.Dir)
		e.play(t, c)
	}
	nothingLeft(t, a)
}
