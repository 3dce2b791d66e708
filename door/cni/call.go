package cni

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heddle-network/heddle"
)

// The headers that carry the environment (specification, section 2,
// Parameters).
const (
	headerCommand   = "Cni-Command"
	headerContainer = "Cni-Containerid"
	headerNetns     = "Cni-Netns"
	headerIfName    = "Cni-Ifname"
	headerArgs      = "Cni-Args"
)

// call is a verb with its environment.
type call struct {
	command, netns, args string
	id                   heddle.EndpointID
}

func callOf(h http.Header) call {
	return call{command: h.Get(headerCommand), netns: h.Get(headerNetns), args: h.Get(headerArgs),
		id: heddle.EndpointID{Container: h.Get(headerContainer), IfName: h.Get(headerIfName)}}
}

// check refuses what the specification's table of required variables does not
// allow. Anybody may speak to the socket, so the plugin's own check is not
// relied on.
func (c call) check() error {
	switch c.command {
	case "ADD", "CHECK":
		if !strings.HasPrefix(c.netns, "/") {
			return faultf(badEnvironment, heddle.BadNamespace, "read variable", "CNI_NETNS",
				fmt.Sprintf("%q is not an absolute path", heddle.Clip(c.netns)), "give the absolute path of a network namespace")
		}
		return c.checkID()
	case "DEL":
		return c.checkID()
	case "GC", "STATUS":
		return nil
	}
	return faultf(badEnvironment, heddle.BadArgument, "read variable", "CNI_COMMAND", fmt.Sprintf("there is no verb %q", heddle.Clip(c.command)),
		"give ADD, DEL, CHECK, GC, STATUS or VERSION")
}

func (c call) checkID() error {
	for name, value := range map[string]string{"CNI_CONTAINERID": c.id.Container, "CNI_IFNAME": c.id.IfName} {
		if value == "" {
			return faultf(badEnvironment, heddle.BadID, "read variable", name, "it is missing", "have the runtime set it")
		}
	}
	if err := c.id.Check(); err != nil {
		return fault{badEnvironment, err}
	}
	return nil
}
