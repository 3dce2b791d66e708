package service

import (
	"context"
	"net/http"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/wire"
	"github.com/heddle-network/heddle/nic/remote"
)

// refusalTime is how long after its begin a request without a grant is answered. So the time tells nothing of what
// was compared, and guesses take long. Their number is bounded by that of connections.
const refusalTime = 200 * time.Millisecond

// machineKey is the key of a request's machine in its context.
type machineKey struct{}

// authenticate refuses callers without a grant. All of them get the same answer: whether there is such a machine
// is not told.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := time.After(refusalTime)
		machine, secret, ok := remote.ParseAuthorization(r.Header.Get("Authorization"))
		if ok && s.state.proves(machine, secret) && s.service.knows(machine) {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), machineKey{}, machine)))
			return
		}
		s.refused.Do(func() { s.log.Warn("caller refused: it has no grant", "address", r.RemoteAddr) })
		select {
		case <-answer:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("Connection", "close")
		wire.Write(w, nil, heddle.Errorf(heddle.BadGrant, "call NIC service", "", "the grant is not valid: it was revoked, or replaced by a newer one",
			"make a new grant on the hypervisor with 'heddle nic grant FILE MACHINE --out GRANT'"), http.StatusUnauthorized)
	})
}
