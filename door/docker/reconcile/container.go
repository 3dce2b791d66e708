package reconcile

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// container is a container of dockerd's, as far as its names are concerned (Docker Engine API,
// v1.40 and later).
type container struct {
	ID   string `json:"Id"`
	Name string
	// ResolvConfPath is the container's resolv.conf, on this host.
	ResolvConfPath  string
	NetworkSettings struct{ Networks map[string]*connection }
}

// connection is a container's connection to a network.
type connection struct {
	EndpointID string
	Aliases    []string
}

// containersOn lists the containers that run and are on one of these networks.
func (d *dockerd) containersOn(ctx context.Context, networks []string) (all []container, err error) {
	return all, d.call(ctx, "GET", "/containers/json?"+filters(map[string][]string{"network": networks}), nil, &all)
}

// container returns one container. While it starts or stops, dockerd does not answer.
func (d *dockerd) container(ctx context.Context, id string) (c container, err error) {
	return c, d.call(ctx, "GET", "/containers/"+url.PathEscape(id)+"/json", nil, &c)
}

// names are the container's name and its aliases on a network, without the short ID that dockerd
// adds. Who starts containers may choose any text for an alias: what is no name is left out, and
// what is more than an endpoint may have. The error says so.
func (c container) names(on connection) (name string, aliases []string, err error) {
	left := 0
	leaveOut := func(why error) {
		left++
		if err == nil {
			err = why
		}
	}
	name, _, why := heddle.CheckNames(c.label(), strings.TrimPrefix(c.Name, "/"), nil)
	if why != nil {
		leaveOut(why)
	}
	for _, alias := range on.Aliases {
		if alias == heddle.ShortDockerID(c.ID) || strings.EqualFold(alias, name) {
			continue
		}
		_, more, why := heddle.CheckNames(c.label(), name, append(aliases, alias))
		if why != nil {
			leaveOut(why)
			continue
		}
		aliases = more
	}
	if left > 1 {
		err = fmt.Errorf("%w (and %d more)", err, left-1)
	}
	return name, aliases, err
}

// externServers is the line of a container's resolv.conf in which current engines note the name
// servers that they ask, such as host(192.0.2.53) for one that they ask from the host.
var externServers = lazyregexp.New(`(?m)^# ExtServers: \[(host\(\S+\) ?)+\]$`)

// maxResolvConf bounds what is read of such a file, in bytes.
const maxResolvConf = 64 << 10

// askedFromHost is an error if the engine asks all name servers for the container from the host, so
// that nobody can know who asks.
func (c container) askedFromHost() error {
	f, err := os.Open(c.ResolvConfPath)
	if err != nil {
		return nil // a file that is not here proves nothing
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxResolvConf))
	if err != nil || !externServers.Match(text) {
		return nil
	}
	return heddle.Errorf(heddle.BadOption, "find names of other hosts for container", c.label(),
		"dockerd asks the host's name servers from the host, and not from the container",
		`name them in /etc/docker/daemon.json ("dns": ["ADDRESS"]), restart dockerd, and start the container again`)
}

// label names the container in messages.
func (c container) label() string {
	return heddle.Visible(heddle.Clip(strings.TrimPrefix(c.Name, "/")), false) + " (" + heddle.ShortDockerID(c.ID) + ")"
}
