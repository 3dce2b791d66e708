package fleet_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/ping"
	"github.com/heddle-network/heddle/test/world"
)

// pings sends echoes from a container of this host to one of another host, which has the name web: by its name, ID and addresses, with packets as
// large as the path carries. From the other host's container this one sends none, and says where to ask.
func (h *host) pings(t *testing.T, from *pod, other *host, web *pod) {
	t.Helper()
	send := func(to string, family int) (p ping.Path, s ping.Summary, err error) {
		q := ping.Request{ID: from.ID, To: to, Family: family, Count: 2, IntervalSeconds: 0.01, WaitSeconds: 5, FullSize: true}
		err = h.Client.Ping(context.Background(), q, func(l ping.Line) error {
			if l.Path != nil {
				p = *l.Path
			}
			if l.Summary != nil {
				s = *l.Summary
			}
			return nil
		})
		return p, s, err
	}
	world.Within(t, time.Minute, "the path is known to be up", func() error {
		all, err := h.Peers(context.Background())
		if err == nil && (len(all) != 1 || all[0].State != "up" || all[0].PathMTU == 0) {
			err = context.DeadlineExceeded
		}
		return err
	})
	for to, want := range map[string]netip.Addr{"web": web.addrs()[0], "api.app": web.addrs()[0], web.ID.String(): web.addrs()[0], web.addrs()[1].String(): web.addrs()[1]} {
		p, s, err := send(to, 0)
		if err != nil || p.To != want || p.Where != ping.OtherHost || p.Host != other.Host.Name || p.State != "up" || p.MTU != from.Endpoint.MTU || s.Received != 2 ||
			!strings.HasPrefix(p.Text, "to "+other.Host.Name+" by VXLAN over IPv4 (") {
			t.Errorf("to %s: %+v %+v %v", to, p, s, err)
		}
	}
	if p, s, err := send("web", 6); err != nil || p.To != web.addrs()[1] || s.Received != 2 {
		t.Errorf("to web by IPv6: %+v %+v %v", p, s, err)
	}
	if _, _, err := send("nobody", 0); err == nil || !strings.Contains(err.Error(), "HDL-2016") {
		t.Errorf("to a name that nobody has: %v", err)
	}
	out, err := h.tryCLI(t, "ping", "web", from.ID.String())
	if err == nil || !strings.Contains(out, "it is on host "+other.Host.Name) {
		t.Errorf("from another host's container: %v %s", err, out)
	}
	out = h.cli(t, "ping", from.ID.String(), "web", "-c", "1")
	if !strings.Contains(out, "asked as web") || !strings.Contains(out, "1 sent, 1 received, 0% lost") {
		t.Errorf("as a person sees it: %s", out)
	}
}
