package world

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
)

// NameServers are those of the host, as its resolv.conf has them.
func NameServers(t testing.TB, servers ...string) func(*agent.Options) {
	return func(o *agent.Options) {
		etc := filepath.Join(o.Root, "etc")
		text := "nameserver " + strings.Join(servers, "\nnameserver ") + "\n"
		cell.Must(t, errors.Join(os.MkdirAll(etc, 0o755), os.WriteFile(filepath.Join(etc, "resolv.conf"), []byte(text), 0o644)))
	}
}

// AsksHost says that the container asks the host's name servers, as Docker's do.
func AsksHost(r *heddle.AttachRequest) { r.AsksHost = true }
