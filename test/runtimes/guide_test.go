package runtimes_test

import (
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/guide"
	"github.com/heddle-network/heddle/test/soak"
)

// follow types a guide, which leaves nothing.
func (h *host) follow(name string) {
	h.t.Helper()
	guide.Typist{Fewest: 4, Limit: 5 * time.Minute}.Type(h.t, name)
	if all, err := h.Networks(ctx); err != nil || len(all) > 0 {
		h.t.Errorf("%s leaves networks: %v %v", name, all, err)
	}
}

func TestPodmanGuide(t *testing.T) {
	soak.Turn(t, 1)
	p := newNetavark(t)
	p.resolve()
	p.follow("podman.md")
}

func TestPodmanCNIGuide(t *testing.T) {
	soak.Turn(t, 2)
	newPodman(t).follow("podman-cni.md")
}

func TestLXCGuide(t *testing.T) {
	soak.Turn(t, 0)
	newLXC(t).follow("lxc.md")
}
