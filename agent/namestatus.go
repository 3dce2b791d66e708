package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// Names lists the names of the endpoints of this host's networks, on all hosts.
func (a *Agent) Names() []names.Entry {
	all, _ := a.names.all()
	return names.List(all, a.host.now().Name)
}

// resolverStatus is what the resolver says of itself, in a file beside the tables.
type resolverStatus struct {
	Version string `json:"version"`
	// Fails are the addresses at which nobody is answered.
	Fails []struct {
		Addr  netip.Addr `json:"addr"`
		Cause string     `json:"cause"`
	} `json:"fails"`
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
	said, err := readResolverStatus(filepath.Join(a.names.dir, "resolver.json"))
	var trouble []string
	if said != nil {
		part.Detail += "; resolver " + said.Version
		for _, f := range said.Fails {
			trouble = append(trouble, fmt.Sprintf("%s is not served: %s", f.Addr, f.Cause))
		}
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

// readResolverStatus returns nil if the resolver has said nothing.
func readResolverStatus(path string) (*resolverStatus, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	s := &resolverStatus{}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "read", path, err, "wait: the resolver writes it anew")
	}
	return s, nil
}
