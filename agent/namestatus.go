package agent

import (
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/process"
)

// Names lists the names of the endpoints of this host's networks, on all hosts. It has what calls before it have changed.
func (a *Agent) Names() []names.Entry {
	a.names.awaitUpdated()
	all, _ := a.names.all()
	return names.List(all, a.host.now().Name)
}

// namesPart reports how many names there are, and what the resolver says.
func (a *Agent) namesPart() heddle.PartStatus {
	all, failed := a.names.all()
	part := heddle.PartStatus{Name: "names", State: "ok"}
	var clashes []string
	listed := names.List(all, a.host.now().Name)
	for i, e := range listed {
		if e.Clash && (i == 0 || listed[i-1].Name != e.Name || listed[i-1].Network != e.Network) {
			clashes = append(clashes, e.Name+" on "+e.Network)
		}
	}
	part.Detail = fmt.Sprint(len(listed))
	if len(clashes) > 0 {
		part.State = "warn"
		part.Detail += "; several containers call themselves " + firstFew(clashes, ", ") + " ('heddle name show NAME')"
	}
	said, err := process.ReadStatus(a.names.dir)
	if err != nil {
		err = heddle.Wrap(heddle.LedgerBroken, "read", process.StatusPath(a.names.dir), err, "wait: the resolver writes it anew")
	}
	var trouble []string
	if said != nil {
		part.Detail += "; resolver " + said.Version
		if running, err := process.Find(a.names.dir); running == nil && err == nil {
			trouble = append(trouble, "the resolver has ended")
		}
		for _, f := range said.Fails {
			trouble = append(trouble, fmt.Sprintf("%s is not served: %s", f.Addr, f.Cause))
		}
	}
	if n := a.unanswered(); n > 0 {
		trouble = append(trouble, fmt.Sprintf("%d of Docker's endpoints find no names of other hosts: the host has no name server "+
			"that they ask through their network (docs/guides/docker.md)", n))
	}
	if err = errors.Join(err, failed); err != nil {
		trouble = append(trouble, heddle.SentenceOf(err))
	}
	if len(trouble) > 0 {
		part.State = "warn"
		part.Detail += "; " + firstFew(trouble, "; ")
	}
	return part
}
