package docker_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/guide"
)

// TestDockerGuide types the guide.
func TestDockerGuide(t *testing.T) {
	docker.Need(t, "docker-compose", "redis-server", "redis-cli", "curl")
	cell.Build(t, "heddled")
	bin := filepath.Dir(cell.Build(t, "heddle"))
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down docker", bin) })
	guide.Typist{Fewest: 6, Limit: 5 * time.Minute, Path: bin, Unset: []string{"DOCKER_HOST", "DOCKER_CONTEXT"}}.Type(t, "docker.md")
}
