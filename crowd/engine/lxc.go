package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// lxcClient makes containers by the programs of LXC. Their configurations are in the crowd's folder ('lxc-ls -P'), and name heddle's hook,
// which attaches and detaches. They have one root, which they cannot change.
type lxcClient struct {
	Setting
	hook string
}

func lxc(s Setting) maker { return lxcClient{s, findHook()} }

func (x lxcClient) needs() ([]string, string) {
	return []string{"lxc-start", "lxc-stop", "lxc-info"}, "lxc"
}

// hook is where heddle's package puts the hook, below its prefix.
const hook = "share/heddle/lxc/heddle-lxc-hook"

// findHook finds the hook that was installed with this program, or with another one; "" is nowhere.
func findHook() string {
	prefixes := []string{"/usr/local", "/usr"}
	if self, err := os.Executable(); err == nil {
		prefixes = append([]string{filepath.Dir(filepath.Dir(self))}, prefixes...)
	}
	for _, p := range prefixes {
		if file := filepath.Join(p, hook); isFile(file) {
			return file
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (x lxcClient) check(context.Context) error {
	if x.hook == "" {
		return heddle.Errorf(heddle.NoTool, "find hook", "heddle-lxc-hook", "it is not below "+heddle.List([]string{"/usr/local", "/usr"}), "install heddle ('make install')")
	}
	if err := checkStatic(); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make containers of", x.As, err, "take a heddle that is static")
	}
	return nil
}

// Folders of a crowd: the containers, and their root.
const (
	containers = "lxc"
	root       = "root"
)

func (x lxcClient) furnish(_ context.Context, h home) error {
	err := os.Mkdir(h.path(containers), 0o755)
	for _, folder := range []string{gate, "dev", "proc", "sys"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(h.path(root), folder), 0o755)
		}
	}
	if err == nil {
		err = copyOwn(filepath.Join(h.path(root), inside))
	}
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make root of containers", h.path(root), err, "make room there")
	}
	return nil
}

// copyOwn copies this program.
func copyOwn(to string) error {
	from, err := os.Open(own)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// strip has nothing to do: all is in the folder.
func (x lxcClient) strip(context.Context, home) error { return nil }

// config is the configuration of a container. LXC has a shell call its hooks, each by exec.
const config = `lxc.uts.name = %[1]s
lxc.rootfs.path = dir:%[2]s
lxc.rootfs.options = ro
lxc.mount.entry = %[8]s %[9]s none bind,ro 0 0
lxc.cap.keep = none
lxc.init.cmd = /%[3]s %[4]s
lxc.net.0.type = empty
lxc.hook.version = 1
lxc.hook.start-host = %[5]s %[6]s --label %[7]s
lxc.hook.start-host = touch %[10]s
lxc.hook.post-stop = sh -c 'test ! -e %[10]s || exec %[5]s %[6]s'
`

// free refuses a name that the agent knows. Where another one takes it just then, the hook fails, and does not detach what it has not attached.
func (x lxcClient) free(ctx context.Context, id heddle.EndpointID) error {
	_, err := client.New(x.Socket).Endpoint(ctx, id)
	switch {
	case err == nil:
		return heddle.Errorf(heddle.EndpointDiffers, "start container", id.Container, "the agent has an endpoint of that name", "end whoever has it ('heddle endpoint list')")
	case errors.Is(err, heddle.NoEndpoint.Sentinel()):
		return nil
	}
	return err
}

func (x lxcClient) start(ctx context.Context, h home, name string) (Container, error) {
	c := Container{Endpoint: heddle.EndpointID{Container: name, IfName: "eth0"}}
	if err := x.free(ctx, c.Endpoint); err != nil {
		return c, err
	}
	folder := filepath.Join(h.path(containers), name)
	text := fmt.Sprintf(config, name, h.path(root), inside, argContainer, x.hook, x.Network, label+"="+h.crowd, h.path(gate), gate, filepath.Join(folder, "attached"))
	err := os.Mkdir(folder, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config"), []byte(text), 0o644)
	}
	if err != nil {
		return c, heddle.Wrap(heddle.CrowdFailed, "configure container", name, err, "make room there")
	}
	log := filepath.Join(folder, "log")
	if _, err := x.do(ctx, h, "lxc-start", "-n", name, "-l", "WARN", "-o", log); err != nil {
		if said, _ := os.ReadFile(log); len(said) > 0 {
			err = fmt.Errorf("%w: %s", err, tail(string(said)))
		}
		return c, heddle.Wrap(heddle.CrowdFailed, "start container", name, err, "see LXC's message")
	}
	said, err := x.do(ctx, h, "lxc-info", "-n", name, "-H", "-p")
	if err == nil {
		c.PID, err = strconv.Atoi(said)
	}
	if err != nil {
		return c, heddle.Wrap(heddle.CrowdFailed, "find process of container", name, err, "see LXC's message")
	}
	return c, nil
}

// do runs a program of LXC on the containers of a crowd. The hook calls the same agent.
func (x lxcClient) do(ctx context.Context, h home, program string, args ...string) (string, error) {
	c := command{program: program, args: append([]string{"-P", h.path(containers)}, args...)}
	if x.Socket != "" { // otherwise they run already, and know it
		c.env = []string{"HEDDLE_SOCKET=" + x.Socket}
	}
	return c.run(ctx)
}

// list lists the folders of containers, also of those that do not run.
func (x lxcClient) list(_ context.Context, h home) (map[string]string, error) {
	all, err := os.ReadDir(h.path(containers))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	names := map[string]string{}
	for _, one := range all {
		names[one.Name()] = one.Name()
	}
	return names, err
}

// remove stops a container, waits for its hook, and removes its folder. It may have ended by itself meanwhile.
func (x lxcClient) remove(ctx context.Context, h home, name, _ string) error {
	folder := filepath.Join(h.path(containers), name)
	if !isFile(filepath.Join(folder, "config")) { // it was never started
		return os.RemoveAll(folder)
	}
	state, err := x.do(ctx, h, "lxc-info", "-n", name, "-H", "-s")
	if err == nil && state != "STOPPED" {
		if _, err = x.do(ctx, h, "lxc-stop", "-n", name, "-k"); err != nil {
			if state, failed := x.do(ctx, h, "lxc-info", "-n", name, "-H", "-s"); failed == nil && state == "STOPPED" {
				err = nil
			}
		}
	}
	if err == nil {
		err = os.RemoveAll(folder)
	}
	return err
}

func (x lxcClient) atOnce() int { return several() }
