package play

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// until is a protocol that ends its server with the tenth answer.
type until struct {
	protocol.Protocol
	answers *atomic.Int64
	end     func()
}

func (u until) Ask(c net.Conn, r protocol.Request) error {
	err := u.Protocol.Ask(c, r)
	if u.answers.Add(1) == 10 {
		u.end()
	}
	return err
}

// TestNginxFails: a server that is none of the crowd's, and the end of nginx, are told, and people fail.
func TestNginxFails(t *testing.T) {
	t.Parallel()
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	other, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	users, services := seats(t, 8, "web")
	secure, running := byProgram(t, services["web"], "nginx", program.Setting{Authority: authority})
	search := secure
	search.Speaks = until{secure.Speaks, new(atomic.Int64), running.Close}
	services["search"] = search
	forged := secure.Speaks.(protocol.HTTP)
	forged.TLS = forged.TLS.Clone()
	forged.TLS.RootCAs = other.Pool
	secure.Speaks = forged
	services["web"] = secure
	r, _ := played(t, `
crowd: unlucky
users: 8
clock: {start: "Mon 09:00", length: 3s}
personas:
  one: {share: 100%, does: {read: 30/m, ask: 60/m}}
behaviours:
  read: {start: page, states: {page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}}}
  ask: {start: query, states: {query: {do: search.query, sends: 300B, receives: 1KB, expect: 5ms, next: {end: 1}}}}
`, users, services, 5*time.Second)
	why := map[string]int64{}
	for _, f := range r.Failures {
		why[f.Why] += f.Count
	}
	if s := r.Behaviours["read"]; s.Started == 0 || s.Failed != s.Started || why["web.page: certificate of an unknown authority"] == 0 {
		t.Errorf("%+v, %v", s, why)
	}
	if s := r.Behaviours["ask"]; s.Achieved == 0 || s.Failed == 0 || s.Failed+s.Achieved != s.Started || why["search.query: connection refused"] == 0 {
		t.Errorf("%+v, %v", s, why)
	}
}
