package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	resolver "github.com/heddle-network/heddle/resolver/process"
)

// wayOut is what to do for a container that is to find outside names.
const wayOut = "attach the container to a network with a way out, too, if it is to find outside names"

func lookNamesRefused(_ context.Context, h *Host) Finding {
	return h.eachDenied(func(d resolver.Denied) []string {
		return counted(d.NoWayOut, "question", "for outside names, and no network of it has a way out")
	}, wayOut)
}

func lookNamesLimited(_ context.Context, h *Host) Finding {
	return h.eachDenied(func(d resolver.Denied) []string {
		return slices.Concat(counted(d.TooFast, "question", "over its rate"), counted(d.Waiting, "question", "while too many waited for name servers"),
			counted(d.Connections, "connection", "beyond those that it may have"))
	})
}

// counted says how many there were, and nothing of none.
func counted(n uint64, what, how string) []string {
	if n == 0 {
		return nil
	}
	return []string{heddle.Count(n, what) + " " + how}
}

// eachDenied looks at the containers whose questions the resolver lately has not answered.
func (h *Host) eachDenied(look func(resolver.Denied) []string, remedy ...string) Finding {
	said, none := h.resolverStatus()
	if said == nil {
		return skip(none)
	}
	tables, err := h.nameTables()
	if err != nil {
		return skip(err.Error())
	}
	var evidence []string
	for _, d := range said.Denied {
		found := look(d)
		who, networks := whoAsks(d.Container, tables)
		if len(found) > 0 && len(networks) > 0 { // it has not gone
			evidence = append(evidence, fmt.Sprintf("%s: %s (%s): %s", resolver.StatusPath(h.namesDir()), who, strings.Join(networks, ", "), strings.Join(found, ", ")))
		}
	}
	return trouble(evidence, remedy...)
}

// whoAsks names a container as people know it, and its networks.
func whoAsks(container string, tables []names.Network) (who string, networks []string) {
	who = container
	for _, n := range tables {
		for _, e := range n.Endpoints {
			if e.Host == "" && cmp.Or(e.Pod, e.ID.Container) == container {
				who = cmp.Or(e.Name, who)
				networks = append(networks, n.Name)
			}
		}
	}
	return who, networks
}
