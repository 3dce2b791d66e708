// Package policy_test proves what policies promise, packet by packet: what no rule allows does not come to a port, from nobody and at no
// time, and what one allows does, with its answers.
package policy_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

// read reads policies as a person writes them.
func read(t *testing.T, text string) []policy.Policy {
	t.Helper()
	all, err := policy.Read(strings.NewReader(text), "the test")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// enforce makes policies, in place of those of the same name.
func enforce(t *testing.T, w *world.World, text string) {
	t.Helper()
	if err := w.CreatePolicies(read(t, text), true); err != nil {
		t.Fatal(err)
	}
}

func labelled(key, value string) world.PodOption {
	return func(r *heddle.AttachRequest) { r.Labels = map[string]string{key: value} }
}

func label(t *testing.T, w *world.World, p *world.Pod, words ...string) {
	t.Helper()
	change, err := heddle.ParseLabelChange(words)
	cell.Must(t, err)
	_, err = w.Label(ctx, p.Endpoint.ID, change)
	cell.Must(t, err)
}

func wantCode(t *testing.T, err error, code heddle.Code) {
	t.Helper()
	if !errors.Is(err, code.Sentinel()) {
		t.Errorf("got error %v, want %s", err, code)
	}
}

var errDiffers = errors.New("not as before")

// rules is the bridge's part of the firewall, without what changes by itself: counts, and who is refused something.
func rules(t *testing.T, w *world.World) string {
	t.Helper()
	return world.Unnumbered(w.Host.Sh(t, "nft -s list table bridge heddle 2>/dev/null | sed '/update/!{/burst 20 packets/d}' | sort || true")) // a table that was made anew has another order
}
