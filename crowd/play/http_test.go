package play

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/program"
)

const surfers = `
crowd: surfers
users: 8
clock: {start: "Mon 09:00", length: 3s}
services: {web: {sites: 20, zipf: 1}}
personas:
  one: {share: 100%, does: {read: 15/m, stay: 15/m, store: 10/m, watch: 10/m, again: 20/m}}
behaviours:
  read:
    start: page
    patience: 30s
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 5, receives: 2KB}, connections: 2, expect: 5ms, next: {end: 1}}
  stay:
    start: first
    states:
      first:
        {do: search.query, sends: 700B, receives: 9KB, keep: true, expect: 5ms, mistakes: {password: {chance: 50%, again: 10ms}}, next: {later: 1}}
      later: {do: search.query, sends: 700B, receives: 9KB, connections: 0, expect: 5ms, think: 20ms, next: {later: 0.8, end: 0.2}}
  store:
    start: put
    states:
      put: {do: files.put, sends: 3MB, receives: 100B, expect: 5ms, next: {get: 1}}
      get: {do: files.get, sends: 300B, receives: 30MB, expect: 5ms, next: {end: 1}}
  watch:
    start: play
    states:
      play: {do: video.play, sends: 300B, receives: 100KB, every: 200ms, lasts: 600ms, next: {end: 1}}
` + again

// TestNginx: all that is planned happens, with and without TLS; connections are as many as planned, and those that are kept
// are used again.
func TestNginx(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*program.Authority{"http": nil, "https": authority} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := happens(t, surfers, "nginx", program.Setting{Authority: a}, "web", "search", "files", "video")
			if v := r.Videos; v.Count != r.Behaviours["watch"].Intended {
				t.Errorf("%+v", v)
			}
			cached(t, surfers, r)
		})
	}
}

// TestHTTP2: over HTTP/2 and HTTP/3, a page is one connection, whatever it has; connections that are kept are used again; what is
// large comes whole.
func TestHTTP2(t *testing.T) {
	for by, http := range map[string]int{"nginx": 2, "caddy": 3} {
		t.Run(by, func(t *testing.T) { t.Parallel(); streams(t, by, http) })
	}
}

func streams(t *testing.T, by string, http int) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	users, services := seats(t, 8, "web")
	one, _ := byProgram(t, services["web"], by, program.Setting{Authority: authority, HTTP: http})
	for _, name := range []string{"web", "search", "files", "video"} {
		services[name] = one
	}
	var book strings.Builder
	small := strings.Replace(surfers, "sends: 3MB", "sends: 3KB", 1)
	text := strings.NewReplacer("sends: 3MB", "sends: 3KB", "connections: 2", "connections: 1").Replace(surfers)
	r, starts := recorded(t, small, users, services, 30*time.Second, &diary.Recorder{To: &book})
	var achieved int64
	for _, s := range r.Behaviours {
		achieved += s.Achieved
	}
	if int(achieved) != starts || len(r.Failures) > 0 {
		t.Errorf("%d of %d, %v", achieved, starts, r.Failures)
	}
	if opened, want := strings.Count(book.String(), `{"flow":{`), connections(t, text); opened != want {
		t.Errorf("%d connections were opened, %d were expected", opened, want)
	}
	cached(t, small, r)
}

// connections is how many a plan has people open.
func connections(t *testing.T, text string) (all int) {
	t.Helper()
	_, p, starts, _ := planned(t, text)
	reused := 0
	for _, at := range starts {
		one, err := p.Session(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range one.Steps {
			all += step.Connections
			if step.Connections == 0 {
				reused++
			}
		}
	}
	if all == 0 || reused == 0 {
		t.Fatalf("the plan has %d connections, and %d steps that reuse one", all, reused)
	}
	return all
}
