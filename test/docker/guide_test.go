package docker_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/guide"
	"github.com/heddle-network/heddle/test/soak"
)

func TestDockerGuide(t *testing.T) {
	docker.Need(t, "docker-compose", "redis-server", "redis-cli", "curl")
	t.Setenv("COMPOSE_HTTP_TIMEOUT", "200") // seconds, of 60: on a busy machine Docker is late, and then says why
	follow(t, "docker.md", "docker")
}

func TestDockerOverlayGuide(t *testing.T) {
	soak.Turn(t, 1)
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
	for again := 0; again < 2 && err != nil && docker.Late(err.Error()); again++ {
		t.Logf("typed again, since Docker was answered late: %v", err)
		down()
		err = typist.Try(t, name)
	}
	if err != nil {
		t.Fatal(err)
	}
}
