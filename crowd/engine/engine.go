// Package engine makes the users of a crowd containers of the clients that people have: Docker, Podman, LXC. The client itself
// attaches each container, through heddle, as it does all others.
package engine

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
)

// Namespace is the word for users who are a bare network namespace each, which needs no client.
const Namespace = "namespace"

// Words are what users may be, Namespace first.
func Words() []string { return []string{Namespace, "docker", "podman", "lxc"} }

// Setting is where containers are made.
type Setting struct {
	// As is the client: one of the Words but Namespace.
	As string
	// Network is one of the agent's, whose socket is Socket.
	Network, Socket string
}

// Container is a user's container, which runs.
type Container struct {
	// PID is its first process.
	PID int
	// Endpoint is the agent's of its interface eth0.
	Endpoint heddle.EndpointID
	// Resolvers are the name servers that its programs ask, if the client gives it others than the network has.
	Resolvers []netip.Addr
}

// Netns is the path of its network namespace.
func (c Container) Netns() string { return "/proc/" + strconv.Itoa(c.PID) + "/ns/net" }

// maker is a client. All of its commands may be run by several at once.
type maker interface {
	// needs are the programs that it has, and the Debian package that has them.
	needs() (programs []string, debian string)
	// check refuses a network that the client cannot use.
	check(ctx context.Context) error
	// furnish makes what containers of a crowd consist of, and strip removes that.
	furnish(ctx context.Context, h home) error
	strip(ctx context.Context, h home) error
	start(ctx context.Context, h home, name string) (Container, error)
	// list lists the containers of a crowd: their IDs by their names.
	list(ctx context.Context, h home) (map[string]string, error)
	// remove ends and removes a container, and waits until that is done. It is called for so many at once.
	remove(ctx context.Context, h home, name, id string) error
	atOnce() int
}

// clientOf is the client of a setting.
func clientOf(s Setting) (maker, error) {
	switch s.As {
	case "docker":
		return docker(s), nil
	case "podman":
		return podman(s), nil
	case "lxc":
		return lxc(s), nil
	}
	return nil, heddle.Errorf(heddle.BadArgument, "make users", s.As, "there is no such client", "choose from "+heddle.List(Words()))
}

// Engine makes the containers of one crowd. Start and Remove are called between Open and Close.
type Engine struct {
	as     string
	client maker
	home   home
}

// New refuses a client that is not installed, does not answer, or does not know the network. It makes nothing.
func New(ctx context.Context, s Setting) (*Engine, error) {
	c, err := clientOf(s)
	if err != nil {
		return nil, err
	}
	programs, debian := c.needs()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return nil, heddle.Wrap(heddle.NoTool, "find client of", s.As, err, "install it (Debian: "+debian+"), or choose another --as")
		}
	}
	return &Engine{as: s.As, client: c}, c.check(ctx)
}

// Open removes what crowds left at this client that were killed, and makes what the containers consist of. If it fails, nothing is left of that.
func (e *Engine) Open(ctx context.Context) error {
	if _, err := sweep(ctx, e.as); err != nil {
		return err
	}
	h, err := take(e.as)
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make folder", homes, err, "call as root")
	}
	e.home = h
	if err = e.client.furnish(ctx, h); err != nil {
		return errors.Join(err, e.Close(context.WithoutCancel(ctx)))
	}
	return nil
}

// Start starts the container of a user. It runs until it is removed, or until this process ends. If it fails, a container may
// be there, which Remove removes.
func (e *Engine) Start(ctx context.Context, name string) (Container, error) {
	if err := ctx.Err(); err != nil {
		return Container{}, err
	}
	return e.client.start(ctx, e.home, name)
}

// Remove removes containers of the crowd by their names, and waits until the client has removed them. Those that are not
// there, or are somebody else's, are left alone.
func (e *Engine) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return removeAll(ctx, e.client, e.home, func(name string) bool { return slices.Contains(names, name) })
}

// Close removes all that is left of the crowd at the client.
func (e *Engine) Close(ctx context.Context) error { return removeCrowd(ctx, e.client, e.home) }

// removeCrowd removes all of a crowd. If the client cannot remove something, the folder stays, and Sweep tries that again.
func removeCrowd(ctx context.Context, c maker, h home) error {
	every := func(string) bool { return true }
	if err := errors.Join(removeAll(ctx, c, h, every), c.strip(ctx, h)); err != nil {
		return err
	}
	return h.leave()
}

// Sweep removes what crowds left at any client that were killed, and says of which processes they were.
func Sweep(ctx context.Context) (crowds []string, err error) { return sweep(ctx, Words()[1:]...) }

func sweep(ctx context.Context, clients ...string) (crowds []string, err error) {
	all, err := os.ReadDir(homes)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) { // only root has crowds
		return nil, nil
	}
	for _, one := range all {
		h, is := dead(one.Name())
		if !is || !slices.Contains(clients, h.as) {
			continue
		}
		failed := h.alone(func() error {
			c, err := clientOf(Setting{As: h.as})
			if err == nil {
				err = removeCrowd(ctx, c, h)
			}
			return err
		})
		if failed != nil {
			err = errors.Join(err, heddle.Wrap(heddle.CrowdFailed, "remove what is left of the crowd of process", h.crowd, failed, "see the message; call 'heddle crowd down' again"))
			continue
		}
		crowds = append(crowds, h.crowd)
	}
	return crowds, err
}
