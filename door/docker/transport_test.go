package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
)

// bareServer has no agent: what does not need one is answered all the same.
func bareServer(t *testing.T) *Server {
	t.Helper()
	dir := t.TempDir()
	networks, err := openBindings(filepath.Join(dir, "networks.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	endpoints, err := openPendingEndpoints(filepath.Join(dir, "endpoints"))
	if err != nil {
		t.Fatal(err)
	}
	return &Server{log: slog.New(slog.DiscardHandler), networks: networks, endpoints: endpoints}
}

func post(t *testing.T, h http.Handler, path, body string) (status int, answer string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// What an engine asks before there is a network, byte for byte: it activates
// plugins without a body, and sends "null" for calls without arguments.
func TestHandshake(t *testing.T) {
	h := bareServer(t).routes()
	for _, c := range []struct{ path, body, want string }{
		{"/Plugin.Activate", "", `{"Implements":["NetworkDriver","IpamDriver"]}`},
		{"/NetworkDriver.GetCapabilities", "null", `{"Scope":"local","ConnectivityScope":"local","GwAllocChecker":true}`},
		{"/NetworkDriver.GwAllocCheck", `{"Options":{"com.docker.network.enable_ipv4":true,"com.docker.network.generic":{}}}`, `{"SkipIPv4":false,"SkipIPv6":false}`},
		{"/NetworkDriver.DiscoverNew", `{"DiscoveryType":1,"DiscoveryData":{"Address":"192.0.2.1","BindAddress":"","Self":true}}`, `{}`},
		{"/IpamDriver.GetCapabilities", "null", `{"RequiresMACAddress":false,"RequiresRequestReplay":false}`},
		{"/IpamDriver.GetDefaultAddressSpaces", "", `{"LocalDefaultAddressSpace":"heddle-local","GlobalDefaultAddressSpace":"heddle-global"}`},
	} {
		if status, answer := post(t, h, c.path, c.body); status != 200 || answer != c.want {
			t.Errorf("%s %s: %d %s, want %s", c.path, c.body, status, answer, c.want)
		}
	}
}

// The engine takes 404 for "not implemented", and nothing else.
func TestUnknownCalls(t *testing.T) {
	h := bareServer(t).routes()
	for _, path := range []string{"/NetworkDriver.AllocateNetwork", "/NetworkDriver.FreeNetwork", "/NetworkDriver.SomethingNew", "/IpamDriver.SomethingNew", "/VolumeDriver.Mount", "/"} {
		if status, _ := post(t, h, path, "{}"); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// Each half of the protocol has a word of its own for an error; the status is 200.
func TestErrorKeys(t *testing.T) {
	h := bareServer(t).routes()
	for path, key := range map[string]string{"/NetworkDriver.CreateEndpoint": "Err", "/IpamDriver.RequestAddress": "Error"} {
		status, answer := post(t, h, path, `[`)
		var e map[string]string
		if err := json.Unmarshal([]byte(answer), &e); err != nil || status != 200 || !strings.Contains(e[key], string(heddle.BadJSON)) {
			t.Errorf("%s: %d %s (%v)", path, status, answer, err)
		}
	}
	if _, answer := post(t, h, "/NetworkDriver.CreateEndpoint", `{"NetworkID":"nobody","EndpointID":"e"}`); !strings.Contains(answer, string(heddle.NoNetwork)) {
		t.Errorf("an unknown network: %s", answer)
	}
}

// The engine is answered in time also when the agent is slow, and what comes of
// the call then is taken back.
func TestTimeLimit(t *testing.T) {
	s := bareServer(t)
	gate := make(chan struct{})
	left := make(chan string, 1)
	slow := func(context.Context, []byte) (any, error) { <-gate; return empty{}, nil }
	undo := func(_ context.Context, body []byte) (any, error) { left <- string(body); return nil, nil }
	start := time.Now()
	_, err := s.callInTime(context.Background(), "Join", []byte("the request"), slow, undo)
	if took := time.Since(start); !errors.Is(err, heddle.Waited.Sentinel()) || took >= 10*answerTime {
		t.Fatalf("after %v: %v", took, err)
	}
	close(gate)
	if got := <-left; got != "the request" {
		t.Errorf("undone with %q", got)
	}
	s.calls.Wait()
	failing := func(context.Context, []byte) (any, error) { return nil, io.EOF }
	if _, err := s.callInTime(context.Background(), "Join", nil, failing, undo); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	s.calls.Wait()
	select {
	case <-left:
		t.Error("undone though nothing was made")
	default:
	}
}

// What a method waited for when its time ended is the answer, and not by chance: so each of many gets it.
func TestReasonAtLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bareServer(t)
		waits := func(ctx context.Context, _ []byte) (any, error) {
			<-ctx.Done()
			return nil, heddle.Wrap(heddle.StoreDown, "ask for the state of", "the store", ctx.Err(), "try again")
		}
		for range 32 {
			if _, err := s.callInTime(context.Background(), "RequestAddress", nil, waits, nil); !errors.Is(err, heddle.StoreDown.Sentinel()) {
				t.Fatal(err)
			}
		}
	})
}

// A call that is repeated while the first one is still under way has its own outcome:
// the first one's is taken back before.
func TestRepeatedLate(t *testing.T) {
	s := bareServer(t)
	gate, steps := make(chan struct{}), make(chan string, 9)
	quick := func(context.Context, []byte) (any, error) { steps <- "made"; return empty{}, nil }
	slow := func(ctx context.Context, body []byte) (any, error) { <-gate; return quick(ctx, body) }
	undo := func(context.Context, []byte) (any, error) { steps <- "undone"; return nil, nil }
	call := func(m method) error {
		_, err := s.callInTime(context.Background(), "Join", []byte("the request"), m, undo)
		return err
	}
	if err := call(slow); !errors.Is(err, heddle.Waited.Sentinel()) {
		t.Fatal(err)
	}
	time.AfterFunc(answerTime/10, func() { close(gate) })
	wants := []string{"made, undone, made"}
	if err := call(quick); errors.Is(err, heddle.Waited.Sentinel()) { // late, too, on a busy machine
		wants = []string{"made, undone", "made, undone, made, undone"}
	} else if err != nil {
		t.Fatal(err)
	}
	s.calls.Wait()
	close(steps)
	var all []string
	for step := range steps {
		all = append(all, step)
	}
	if got := strings.Join(all, ", "); !slices.Contains(wants, got) {
		t.Errorf("%s, want one of %q", got, wants)
	}
}

// A socket outlives its server, is taken over by the next one, and is not taken
// from one that lives.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docker", "plugins", "heddle.sock")
	for life := range 2 {
		l, err := Listen(path)
		if err != nil {
			t.Fatalf("life %d: %v", life, err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		if _, err := Listen(path); !errors.Is(err, heddle.AgentRuns.Sentinel()) {
			t.Errorf("life %d: a second server: %v", life, err)
		}
		if c, err := net.Dial("unix", path); err != nil {
			t.Errorf("life %d: after the second server: %v", life, err)
		} else {
			c.Close()
		}
		l.Close()
		if _, err := os.Stat(path); err != nil {
			t.Errorf("life %d: the socket went with its server: %v", life, err)
		}
	}
}

// Bindings outlive the process; pending endpoints too, and no id leaves their folder.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "docker", "networks.json")
	calls := 0
	b, err := openBindings(path, func() { calls++ })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.put(Binding{DockerID: "d1", NetworkID: "n1", Provisional: true}), b.put(Binding{DockerID: "d2", NetworkID: "n2", Provisional: true}), b.put(Binding{DockerID: "d1"}), b.named("d2"), b.named("d1"), b.named("d2")); err != nil {
		t.Fatal(err)
	}
	if calls != 4 {
		t.Errorf("told of %d changes", calls)
	}
	if b, err = openBindings(path, nil); err != nil {
		t.Fatal(err)
	}
	if all := b.list(); len(all) != 1 || all[0] != (Binding{DockerID: "d2", NetworkID: "n2"}) {
		t.Errorf("%v", all)
	}
	// what is about to be made is a record, and has no name that could be given
	if err := errors.Join(b.put(Binding{DockerID: "d3", Provisional: true}), b.named("d3"), b.put(Binding{DockerID: "d2"})); err != nil {
		t.Fatal(err)
	}
	if b, err = openBindings(path, nil); err != nil {
		t.Fatal(err)
	}
	if all := b.list(); len(all) != 1 || all[0] != (Binding{DockerID: "d3", Provisional: true}) || !all[0].pending() {
		t.Errorf("%v", all)
	}
	if err := b.put(Binding{DockerID: "d3"}); err != nil || len(b.list()) != 0 {
		t.Errorf("%v %v", err, b.list())
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openBindings(path, nil); !errors.Is(err, heddle.LedgerBroken.Sentinel()) {
		t.Errorf("a broken file: %v", err)
	}
	d, err := openPendingEndpoints(filepath.Join(dir, "endpoints"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", "../networks", "a/b", ".", "..", "e.new", strings.Repeat("f", 200)} {
		if err := d.put(id, pendingEndpoint{}); !errors.Is(err, heddle.BadID.Sentinel()) {
			t.Errorf("endpoint %q: %v", id, err)
		}
	}
	if err := d.put("e", pendingEndpoint{DockerNetwork: "d2"}); err != nil {
		t.Fatal(err)
	}
	if e, known, err := d.get("e"); err != nil || !known || e.DockerNetwork != "d2" {
		t.Errorf("%v %v %v", e, known, err)
	}
	if err := errors.Join(d.drop("e"), d.drop("e")); err != nil {
		t.Error(err)
	}
	if _, known, err := d.get("e"); known || err != nil {
		t.Errorf("%v %v", known, err)
	}
}

// A network that was withdrawn from an engine is removed there without being deleted:
// a server without an agent, which could delete nothing, does so.
func TestWithdrawn(t *testing.T) {
	s := bareServer(t)
	b := Binding{DockerID: "d1", NetworkID: "n1"}
	if err := errors.Join(s.endpoints.put("e1", pendingEndpoint{DockerNetwork: "d1"}), s.endpoints.put("e2", pendingEndpoint{DockerNetwork: "d2"})); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.networks.put(b), s.Withdraw("d1", true), s.Withdraw("d2", true)); err != nil {
		t.Fatal(err)
	}
	b.Withdrawn = true
	if all := s.Networks(); len(all) != 1 || all[0] != b {
		t.Fatalf("%+v", all)
	}
	if _, answer := post(t, s.routes(), "/NetworkDriver.DeleteNetwork", `{"NetworkID":"d1"}`); answer != "{}" || len(s.Networks()) != 0 {
		t.Errorf("%s %+v", answer, s.Networks())
	}
	_, first, _ := s.endpoints.get("e1")
	if _, second, _ := s.endpoints.get("e2"); first || !second {
		t.Errorf("endpoints of the network and of another one are there: %t, %t", first, second)
	}
}
