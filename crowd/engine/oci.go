package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// label is what containers bear, for people who look for them; its value is the crowd. Anybody may have it: it proves nothing.
const label = "heddle.crowd"

// ids is the folder with a file for each container that the crowd has made, in which the client has written its ID.
const ids = "ids"

// oci is a client with images, and the words that docker and podman have in common.
type oci struct {
	Setting
	debian string
	// knows asks for the network, and refuses one that is not heddle's.
	knows func(ctx context.Context, o oci) error
	// format asks 'inspect' for the first process, and then for what endpoint makes the agent's ID of.
	format   string
	endpoint func(said string) (heddle.EndpointID, error)
	// resolvers are the name servers of a container; nil are those of the network.
	resolvers func(pid int) []netip.Addr
	// kill are the flags with which 'rm' waits for nobody. It is called for so many containers at once.
	kill    []string
	removes int
}

func (o oci) needs() ([]string, string) { return []string{o.As}, o.debian }

func (o oci) check(ctx context.Context) error {
	if err := checkStatic(); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make containers of", o.As, err, "take a heddle that is static")
	}
	return o.knows(ctx, o)
}

// do runs a command of the client.
func (o oci) do(ctx context.Context, args ...string) (string, error) {
	return command{program: o.As, args: args}.run(ctx)
}

func (o oci) image(h home) string { return "heddle-crowd:" + h.crowd }

func (o oci) furnish(ctx context.Context, h home) error {
	if err := os.Mkdir(h.path(ids), 0o700); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make folder", h.path(ids), err, "make room there")
	}
	if _, err := (command{program: o.As, args: []string{"import", "-", o.image(h)}, input: writeImage}).run(ctx); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "import image into", o.As, err, "see the client's message")
	}
	return nil
}

func (o oci) strip(ctx context.Context, h home) error {
	there, err := o.do(ctx, "images", "-q", o.image(h))
	if err == nil && there != "" {
		if _, err = o.do(ctx, "rmi", o.image(h)); gone(err) {
			err = nil
		}
	}
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "remove image", o.image(h), err, "call 'heddle crowd down' later")
	}
	return nil
}

// gone reports whether a client says that a container or an image is not there.
func gone(err error) bool {
	if err == nil {
		return false
	}
	said := strings.ToLower(err.Error())
	return strings.Contains(said, "no such container") || strings.Contains(said, "no such image") || strings.Contains(said, "image not known")
}

// start starts a container that has nothing, and may do nothing.
func (o oci) start(ctx context.Context, h home, name string) (Container, error) {
	id, err := o.do(ctx, "run", "-d", "--pull", "never", "--init=false", "--cidfile", filepath.Join(h.path(ids), name), "--name", name, "--network", o.Network, "--label", label+"="+h.crowd,
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--security-opt", "label=disable", "--log-driver", "none",
		"--volume", h.path(gate)+":/"+gate+":ro", o.image(h), "/"+inside, argContainer)
	if err != nil {
		return Container{}, heddle.Wrap(heddle.CrowdFailed, "start container", name, err,
			"see the client's message; if a container has that name, see whether a crowd plays ('heddle crowd status'), and otherwise remove it ('"+o.As+" rm -f "+name+"')")
	}
	said, err := o.do(ctx, "inspect", "--type", "container", "--format", o.format, line(id))
	if err != nil {
		return Container{}, heddle.Wrap(heddle.CrowdFailed, "inspect container", name, err, "see the client's message")
	}
	pid, of, _ := strings.Cut(said, " ")
	c := Container{}
	if c.PID, err = strconv.Atoi(pid); err == nil && c.PID == 0 {
		err = fmt.Errorf("it has ended")
	}
	if err == nil {
		c.Endpoint, err = o.endpoint(of)
	}
	if err != nil {
		return c, heddle.Wrap(heddle.CrowdFailed, "find process and endpoint of container", name, err, "see '"+o.As+" inspect "+name+"'")
	}
	if o.resolvers != nil {
		c.Resolvers = o.resolvers(c.PID)
	}
	return c, nil
}

// list lists the containers that the client has made for the crowd, by what it has written: a label may be anybody's.
func (o oci) list(_ context.Context, h home) (map[string]string, error) {
	files, err := os.ReadDir(h.path(ids))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all := map[string]string{}
	for _, f := range files {
		id, failed := os.ReadFile(filepath.Join(h.path(ids), f.Name()))
		if failed == nil && len(id) > 0 { // otherwise it has been removed, or never made
			all[f.Name()] = strings.TrimSpace(string(id))
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.CrowdFailed, "list containers in", h.path(ids), err, "call as root")
	}
	return all, nil
}

func (o oci) remove(ctx context.Context, h home, name, id string) error {
	if _, err := o.do(ctx, slices.Concat([]string{"rm"}, o.kill, []string{id})...); err != nil && !gone(err) {
		return err
	}
	return os.Remove(filepath.Join(h.path(ids), name))
}

func (o oci) atOnce() int { return o.removes }
