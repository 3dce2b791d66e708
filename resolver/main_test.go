package resolver_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
)

// versionEnv makes this program a resolver of another version, if it is called like heddled.
const versionEnv = "HEDDLE_TEST_VERSION"

func TestMain(m *testing.M) {
	if v := os.Getenv(versionEnv); v != "" && len(os.Args) == 4 && os.Args[1] == "resolve" {
		heddle.Version = v
		if err := resolve(os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(int(heddle.KindOf(err)))
		}
		os.Exit(0)
	}
	os.Exit(cell.Main(m))
}

func resolve(dir string) error {
	if err := process.Confine(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return resolver.Run(ctx, resolver.Options{Dir: dir, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}
