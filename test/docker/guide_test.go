package docker_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/guide"
)

func TestDockerGuide(t *testing.T) {
	docker.Need(t, "docker-compose", "redis-server", "redis-cli", "curl")
	follow(t, "docker.md", "docker")
}

func TestDockerOverlayGuide(t *testing.T) {
	docker.Need(t)
	follow(t, "from-docker-overlay.md", "swarmless")
}

// follow types a guide, which makes a lab. It begins anew, at most twice, where Docker was answered
// late.
func follow(t *testing.T, name, lab string) {
	cell.Build(t, "heddled")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	down := func() { cell.TrySh("PATH=%s:$PATH heddle lab down %s", bin, lab) }
	t.Cleanup(down)
	typist := guide.Typist{Fewest: 4, Limit: 5 * time.Minute, Path: bin, Unset: []string{"DOCKER_HOST", "DOCKER_CONTEXT"}}
	err := typist.Try(t, name)
	for again := 0; again < 2 && err != nil && late(err); again++ {
		t.Logf("typed again, since Docker was answered late: %v", err)
		down()
		err = typist.Try(t, name)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// late reports whether the driver's answer, or the store's that it needs, was not ready in the time that a
// call of Docker's has. On a machine with more to do than it can, a reader is told to try again.
func late(err error) bool {
	return strings.Contains(err.Error(), string(heddle.Waited)) || strings.Contains(err.Error(), string(heddle.StoreDown))
}
