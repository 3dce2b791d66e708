package attack_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// execution is netavark's document for a container on the hall's network; more are further members of
// what is asked for the container.
func (h *hall) execution(container, ifname, more string) string {
	return fmt.Sprintf(`{"container_id":%q,"container_name":"podman","network":{"name":%q}%s,"network_options":{"interface_name":%q}}`,
		container, h.mode, more, ifname)
}

// podman calls netavark's plugin by a shell script, in which $PLUGIN is the program, and returns what it
// printed. It reports whether an endpoint of a container whose ID begins with podman is there then.
func (h *hall) podman(t *testing.T, document, script string) (out string, made bool) {
	t.Helper()
	program := cell.Build(t, "heddle-cni")
	cell.Must(t, os.Chmod(filepath.Dir(program), 0o755))
	cell.TrySh("ip netns add podman")
	defer cell.TrySh("ip netns del podman")
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin = strings.NewReader(document)
	cmd.Env = append(os.Environ(), "PLUGIN="+program, "HEDDLE_SOCKET="+h.Socket, "HEDDLE_CNI_QUEUE="+filepath.Join(h.dir, "queue"))
	printed, _ := cmd.CombinedOutput()
	t.Logf("%.200s", printed)
	all, err := h.Endpoints(ctx)
	cell.Must(t, err)
	for _, e := range all {
		if strings.HasPrefix(e.ID.Container, "podman") {
			made = true
			_, err := h.Detach(ctx, e.ID)
			cell.Must(t, err)
		}
	}
	return string(printed), made
}

const (
	// setupOnce is how netavark calls the plugin: the shell stands for it, its parent for Podman.
	setupOnce = `"$PLUGIN" setup /run/netns/podman; true`
	// createAnother makes a network.
	createAnother = `"$PLUGIN" create; true`
)

// hostileDocuments are refused: names that are paths, headers in the namespace's path, a namespace that
// is the host's, members of another type.
func hostileDocuments(t *testing.T, h *hall) bool {
	before := tree(t, h.dir)
	for _, document := range []string{
		h.execution("../podman", "eth7", ""), h.execution("podman@eth0", "eth7", ""), h.execution("podman", "../eth7", ""),
		h.execution("podman", "eth7", `,"network":{"name":"../../evil"}`), h.execution("podman", "eth7", `,"network":{"name":{"name":"x"}}`),
		h.execution("podman", "eth7", `,"port_mappings":[{"host_port":1,"container_port":1,"protocol":"tcp","range":65535}]`),
	} {
		for _, command := range []string{setupOnce, `"$PLUGIN" teardown /run/netns/podman; true`} {
			if _, made := h.podman(t, document, command); made {
				return true
			}
		}
	}
	own := h.execution("podman", "eth7", "")
	for _, netns := range []string{"/proc/1/ns/net", "/run/netns/podman\r\nNetavark-Command: create", "/etc/passwd", ""} {
		if _, made := h.podman(t, own, `"$PLUGIN" setup '`+netns+`'; true`); made {
			return true
		}
	}
	for _, network := range []string{`{"name":"../../evil","options":{"mode":"bridge"}}`, `{"name":"a/b"}`, `null`, `{"name":"evil","options":{"parent":"../x"}}`} {
		h.podman(t, network, createAnother)
	}
	_, err := h.Network(ctx, "evil")
	return err == nil || tree(t, h.dir) != before
}

// strangerCreates has a user who may not use the socket make a network.
func strangerCreates(t *testing.T, h *hall, as string) bool {
	cell.Must(t, os.Chmod(h.Socket, 0o666))
	defer os.Chmod(h.Socket, 0o660)
	out, _ := h.podman(t, `{"name":"stranger","driver":"heddle"}`, as+createAnother)
	if err := h.DeleteNetwork(ctx, "stranger"); err == nil {
		return true
	}
	if as != "" && !strings.Contains(out, string(heddle.NoPermission)) {
		t.Errorf("no word about permission: %s", out)
	}
	return false
}

// portAbove publishes a port on which this process listens, called by way of so many shells.
func portAbove(t *testing.T, h *hall, script string) bool {
	l, err := net.Listen("tcp", "0.0.0.0:2323")
	cell.Must(t, err)
	defer l.Close()
	ports := `,"port_mappings":[{"host_port":2323,"container_port":22,"protocol":"tcp","range":1}]`
	_, made := h.podman(t, h.execution("podman", "eth7", ports), script)
	return made
}

// netavarkAttacks go for the door of Podman's networks.
func netavarkAttacks() []doorAttack {
	return []doorAttack{
		{class: "path", name: "documents of netavark with paths and headers", modes: spaced, try: hostileDocuments, control: func(t *testing.T, h *hall) bool {
			_, made := h.podman(t, h.execution("podman", "eth7", ""), setupOnce)
			return made
		}},
		{class: "socket", name: "netavark's plugin, called by another user", try: func(t *testing.T, h *hall) bool {
			return strangerCreates(t, h, "setpriv --reuid=65534 --regid=65534 --clear-groups ")
		}, control: func(t *testing.T, h *hall) bool { return strangerCreates(t, h, "") }},
		{class: "port", name: "port of a program above Podman", modes: published, try: func(t *testing.T, h *hall) bool {
			return portAbove(t, h, `sh -c "`+strings.ReplaceAll(setupOnce, `"`, "")+`"; true`)
		}, control: func(t *testing.T, h *hall) bool { return portAbove(t, h, setupOnce) }},
	}
}
