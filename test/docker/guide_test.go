package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
)

// TestDockerGuide types the guide's blocks of shell, one after the other. Lines that
// begin with "#> " are what must be seen in their block's output.
func TestDockerGuide(t *testing.T) {
	docker.Need(t, "docker-compose", "redis-server", "redis-cli", "curl")
	text, err := os.ReadFile("../../docs/guides/docker.md")
	if err != nil {
		t.Fatal(err)
	}
	cell.Build(t, "heddled")
	bin, work := filepath.Dir(cell.Build(t, "heddle")), t.TempDir()
	t.Cleanup(func() { cell.TrySh("PATH=%s:$PATH heddle lab down docker", bin) })
	blocks := strings.Split(string(text), "\n```sh\n")[1:]
	for _, rest := range blocks {
		block, _, closed := strings.Cut(rest, "\n```\n")
		if !closed {
			t.Fatal("a block has no end")
		}
		script := filepath.Join(work, "block")
		if err := os.WriteFile(script, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := cell.TrySh("cd %s; unset DOCKER_HOST DOCKER_CONTEXT; PATH=%s:$PATH timeout -k 5 180 sh -e %s", work, bin, script)
		if err != nil {
			t.Fatalf("%s\n%v\n%s", block, err, out)
		}
		for _, want := range strings.Split(block, "\n#> ")[1:] {
			if want, _, _ = strings.Cut(want, "\n"); !strings.Contains(out, want) {
				t.Errorf("the guide promises %q:\n%s\n%s", want, block, out)
			}
		}
	}
	if len(blocks) < 6 {
		t.Errorf("%d blocks only", len(blocks))
	}
}
