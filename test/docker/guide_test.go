package docker_test

import (
	"path/filepath"
	"testing"
	"time"

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

// follow types a guide, which makes a lab.
func follow(t *testing.T, name, lab string) {
	cell.Build(t, "heddled")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down %s", bin, lab) })
	guide.Typist{Fewest: 4, Limit: 5 * time.Minute, Path: bin, Unset: []string{"DOCKER_HOST", "DOCKER_CONTEXT"}}.Type(t, name)
}
