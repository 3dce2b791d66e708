package doctor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// TestGuestFlowLog: where the kernel cannot tell of packets, policies are enforced all the same, and who asks for what they refuse, the status and the
// doctor say what is missing. When it is there, so is what is refused, without a restart of the agent.
func TestGuestFlowLog(t *testing.T) {
	if !vm.InGuest() {
		t.Skip("TestInGuests runs it")
	}
	for _, module := range []string{"nft_log", "nfnetlink_log"} {
		t.Run(module, func(t *testing.T) {
			load := vm.Unload(t, module)
			defer load()
			a := maskAgent(t)
			_, _, err := a.CreateNetwork(network("bridge"), false)
			cell.Must(t, err)
			for _, name := range []string{"web", "db"} {
				cell.Netns(t, name)
				_, err := a.Attach(t.Context(), heddle.AttachRequest{Network: "masked", ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: "/run/netns/" + name, Name: name})
				cell.Must(t, err)
			}
			cell.Sh(t, "ip netns exec web ping -c 1 10.60.0.3")
			shut := []policy.Policy{{Name: "shut", Endpoints: policy.Selector{Names: []string{"db"}}, Directions: []policy.Direction{policy.Ingress}}}
			if lines, err := a.PolicyCommands(shut, false); err != nil || strings.Contains(strings.Join(lines, "\n"), "log prefix") {
				t.Errorf("the dry run has a rule that the kernel does not take: %v %v", lines, err)
			}
			cell.Must(t, a.CreatePolicies(shut, false))
			refused := func() {
				t.Helper()
				if out, err := cell.TrySh("ip netns exec web ping -c 1 -W 1 10.60.0.3"); err == nil {
					t.Errorf("a policy is not enforced: %s", out)
				}
			}
			refused()
			if _, err := a.Flows(); !errors.Is(err, heddle.NotOnKernel.Sentinel()) || !strings.Contains(heddle.RemedyOf(err), module) {
				t.Errorf("who asks for what is refused gets %v", err)
			}
			if p := a.Status().Part("flows"); p.State != "warn" || !strings.Contains(p.Detail, "cannot tell of packets") {
				t.Errorf("the status says %+v", p)
			}
			check := func() doctor.State {
				c, _ := doctor.Find(doctor.Checks(nil), "nft-log")
				return doctor.Run(t.Context(), &doctor.Host{}, []doctor.Check{c})[0].State
			}
			if s := check(); s != doctor.Warn {
				t.Errorf("the doctor says %s", s)
			}
			found, err := a.Check(heddle.EndpointID{})
			if err != nil || len(found) > 0 {
				t.Errorf("what is there is not as planned: %v, %v", found, err)
			}
			load()
			if s := check(); s != doctor.OK {
				t.Errorf("the doctor says %s, with the module", s)
			}
			log, err := a.Flows()
			cell.Must(t, err)
			w, err := log.Watch("")
			cell.Must(t, err)
			defer w.Close()
			refused()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if all, err := w.Next(ctx); err != nil || all[0].Action != events.Refused || all[0].Object != "db/eth0" {
				t.Errorf("told is %v, %v", all, err)
			}
			if p := a.Status().Part("flows"); p.Name != "" {
				t.Errorf("the status says %+v", p)
			}
			cell.Must(t, a.DeletePolicy("shut"))
			found, err = a.Audit()
			if err != nil || len(found) > 0 {
				t.Errorf("audit: %+v, %v", found, err)
			}
			for _, name := range []string{"web", "db"} {
				_, err := a.Detach(t.Context(), heddle.EndpointID{Container: name, IfName: "eth0"})
				cell.Must(t, err)
			}
			cell.Must(t, a.DeleteNetwork("masked"))
			cell.Must(t, a.Close())
		})
	}
}
