package netavark

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestEngines: the two processes above the plugin, and no others. A process that is no plugin has none.
func TestEngines(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for name, is := range map[string]bool{"heddle-cni": true, "heddle": true, "other": false} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
		// this process stands for the one above Podman
		podman := exec.Command("sh", "-c", `sh -c '"$0" 1000 & echo $$ $!; wait' "$0"; true`, path)
		out, err := podman.StdoutPipe()
		if err == nil {
			err = podman.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		words := strings.Fields(line)
		if err != nil || len(words) != 2 {
			t.Fatalf("%q %v", line, err)
		}
		netavark, _ := strconv.Atoi(words[0])
		plugin, _ := strconv.Atoi(words[1])
		for !isNamed(plugin, name) { // until the shell's child has become it
		}
		want := []int{netavark, podman.Process.Pid}
		if got := engines(plugin); is && !slices.Equal(got, want) || !is && got != nil {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		syscall.Kill(plugin, syscall.SIGKILL)
		podman.Wait()
		if got := engines(plugin); got != nil {
			t.Errorf("%s has ended: %v", name, got)
		}
	}
	if got := engines(0); got != nil {
		t.Error(got)
	}
}

func isNamed(pid int, name string) bool {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err != nil || filepath.Base(path) == name
}
