package runtimes_test

import (
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// follow types a guide's blocks of shell, one after the other, in a folder of
// its own. Lines that begin with "#> " are what must be seen meanwhile.
func (h *host) follow(guide string) {
	h.t.Helper()
	text, err := os.ReadFile("../../docs/guides/" + guide)
	if err != nil {
		h.t.Fatal(err)
	}
	work := h.t.TempDir()
	ran := 0
	for _, rest := range strings.Split(string(text), "\n```sh\n")[1:] {
		block, _, closed := strings.Cut(rest, "\n```\n")
		if !closed {
			h.t.Fatalf("%s: a block has no end", guide)
		}
		out, err := cell.TrySh("cd %s\n%s", work, block)
		if err != nil {
			h.t.Fatalf("%s:\n%s\n%v\n%s", guide, block, err, out)
		}
		for _, want := range strings.Split(block, "\n#> ")[1:] {
			if want, _, _ = strings.Cut(want, "\n"); !strings.Contains(out, want) {
				h.t.Errorf("%s promises %q:\n%s\n%s", guide, want, block, out)
			}
		}
		ran++
	}
	if ran < 4 {
		h.t.Errorf("%s has %d blocks only", guide, ran)
	}
	if all, err := h.Networks(ctx); err != nil || len(all) > 0 {
		h.t.Errorf("%s leaves networks: %v %v", guide, all, err)
	}
}

func TestPodmanGuide(t *testing.T) { newPodman(t).follow("podman.md") }

func TestLXCGuide(t *testing.T) { newLXC(t).follow("lxc.md") }
