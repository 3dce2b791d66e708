package crash_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestKillWhileCollecting kills the agent before every step of the removal of an endpoint whose
// container has ended without a word. The agent that comes back finishes it.
func TestKillWhileCollecting(t *testing.T) {
	soak.Turn(t, 2)
	cell.Need(t)
	lan(t)
	t.Setenv("HEDDLE_PATROL", "200ms")
	for _, mode := range []string{"bridge", "macvlan"} {
		t.Run(mode, func(t *testing.T) {
			const pod = "/run/netns/short"
			request := request(mode, pod)
			killAtEveryStep(t, operation{
				name: "collect",
				prepare: func(t *testing.T, a *cell.Agent, _ string) {
					_, _, err := a.CreateNetwork(ctx, network(mode), false)
					cell.Must(t, err)
					cell.Sh(t, "ip netns add short")
					_, err = a.Attach(ctx, request)
					cell.Must(t, err)
				},
				run: func(a *cell.Agent, _ string) error {
					if out, err := cell.TrySh("ip netns del short"); err != nil {
						return fmt.Errorf("%s: %w", out, err)
					}
					return collected(a)
				},
				settle: func(t *testing.T, a *cell.Agent) { cell.Must(t, collected(a)) },
				clear:  func(t *testing.T, a *cell.Agent) { cell.Must(t, a.DeleteNetwork(ctx, "net")) },
				fewest: 2,
			})
		})
	}
}

// collected waits until the agent has no endpoint any more, or is dead.
func collected(a *cell.Agent) error {
	_, err := poll.Until(3*time.Minute, 20*time.Millisecond, func() error {
		all, err := a.Endpoints(ctx)
		if err != nil {
			return poll.Final(err)
		}
		if len(all) > 0 {
			return fmt.Errorf("%v stays", all)
		}
		return nil
	})
	return err
}
