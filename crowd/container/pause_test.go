package container_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// TestPause: all that a program has started is stopped, and goes on, also what has a session of its own.
func TestPause(t *testing.T) {
	mark := fmt.Sprint("6", os.Getpid())
	c, err := container.Start(namespace.New(t), shell("setsid sleep "+mark+" & sleep "+mark+" & sleep "+mark))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	other, err := container.Start(namespace.New(t), shell("exec sleep "+mark))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stopped := func() (count int) {
		for _, pid := range sleeping(mark) {
			if status, err := os.ReadFile("/proc/" + pid + "/status"); err == nil && strings.Contains(string(status), "\nState:\tT") {
				count++
			}
		}
		return count
	}
	poll.For(t, time.Minute, 5*time.Millisecond, "all run", func() bool { return len(sleeping(mark)) == 4 && stopped() == 0 })
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	poll.For(t, time.Minute, 5*time.Millisecond, "all are stopped, but for the other container's", func() bool { return stopped() == 3 })
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	poll.For(t, time.Minute, 5*time.Millisecond, "all go on", func() bool { return stopped() == 0 })
}
