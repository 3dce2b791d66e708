package world

import (
	"fmt"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
)

// Answering has the agent run a resolver, which is ended after it, and copies its options.
func Answering(t testing.TB, options *agent.Options) func(*agent.Options) {
	return func(o *agent.Options) {
		o.Resolver = cell.Build(t, "heddled")
		*options = *o
		dir := filepath.Join(o.RunDir, "names")
		t.Cleanup(func() {
			if r, err := process.Find(dir); err == nil && r != nil {
				unix.Kill(r.PID, unix.SIGKILL)
			}
			Soon(t, "the resolver ends", func() error {
				if r, err := process.Find(dir); r != nil || err != nil {
					return fmt.Errorf("%+v, %v", r, err)
				}
				return nil
			})
		})
	}
}
