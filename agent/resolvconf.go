package agent

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// resolvConf is the resolv.conf that 'ip netns exec' shows in a namespace with a name.
type resolvConf struct{ path, text string }

// resolvers are the addresses of this host at which an endpoint asks for names.
func (t *nameTables) resolvers(n *network, r record) []netip.Addr {
	all := t.resolversOf(n.LeasedTo(r.Endpoint), heddle.Append(n.plan.Host, r.Plan.Host), func(netip.Addr) bool { return false })
	return slices.DeleteFunc(all, func(g netip.Addr) bool {
		return !slices.ContainsFunc(r.Endpoint.Addrs, func(p netip.Prefix) bool { return heddle.FamilyOf(p.Addr()).Has(g) })
	})
}

// resolvConfFor returns the file that the endpoint's request asks for; nil if it asks for none.
func (a *Agent) resolvConfFor(n *network, r record) (*resolvConf, error) {
	if !r.Request.ResolvConf {
		return nil, nil
	}
	const op = "write resolv.conf of endpoint"
	id := r.Endpoint.ID.String()
	all := a.names.resolvers(n, r)
	if a.opt.Resolver == "" {
		return nil, heddle.Errorf(heddle.BadOption, op, id, "no resolver runs on this host",
			"leave --resolv-conf out, or start heddled without --resolver none")
	}
	if len(all) == 0 {
		mend := "attach the container to a network of mode bridge as well, with --ifname eth1 --resolv-conf: it answers for all networks of its containers"
		if s, ok := n.mode.(heddle.HostNamespace); ok && !s.NeedsNamespace() {
			mend = "leave --resolv-conf out: the container asks as the host does"
		}
		return nil, heddle.Errorf(heddle.BadOption, op, id, "network "+n.Name+" has no address of this host, at which names could be asked for", mend)
	}
	dir, _ := filepath.Split(filepath.Clean(r.Endpoint.Netns))
	if dir != "/run/netns/" && dir != "/var/run/netns/" {
		return nil, heddle.Errorf(heddle.BadOption, op, id, "the namespace has no name below /run/netns",
			"leave --resolv-conf out, or make the namespace with 'ip netns add'")
	}
	f := &resolvConf{path: a.resolvConfPath(r.Endpoint), text: confMark(r.Endpoint.ID)}
	for _, g := range all {
		f.text += "nameserver " + g.String() + "\n"
	}
	f.text += "search " + strings.Join(a.searchDomains(n.Network), " ") + "\n"
	return f, nil
}

// maxSearch is how many domains all libraries take.
const maxSearch = 6

// searchDomains are the network's and, where names are asked outside, the host's own as well.
func (a *Agent) searchDomains(n heddle.Network) []string {
	all := names.Search(n.Name)
	if n.Internal {
		return all
	}
	text, err := os.ReadFile(filepath.Join(a.rootDir(), "etc/resolv.conf"))
	if err != nil {
		return all // as on a host without name servers
	}
	var own []string
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && (words[0] == "search" || words[0] == "domain") {
			own = words[1:] // the last line counts (resolv.conf(5))
		}
	}
	for _, domain := range own {
		if domain != "." && !slices.Contains(all, domain) && len(all) < maxSearch {
			all = append(all, domain)
		}
	}
	return all
}

func (a *Agent) rootDir() string {
	if a.opt.Root == "" {
		return "/"
	}
	return a.opt.Root
}

// confMark is the first line of an endpoint's file.
func confMark(id heddle.EndpointID) string { return "# " + id.Alias() + "\n" }

// write writes the file, unless there is one of somebody else's.
func (f *resolvConf) write(id heddle.EndpointID) error {
	if f == nil {
		return nil
	}
	const op = "write file"
	was, err := os.ReadFile(f.path)
	switch {
	case err == nil && !bytes.HasPrefix(was, []byte(confMark(id))):
		return heddle.Errorf(heddle.BadOption, op, f.path, "there is one, and it is not of endpoint "+id.String(),
			"leave --resolv-conf out, or move the file away")
	case err == nil && string(was) == f.text:
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return heddle.Wrap(heddle.LedgerFull, op, f.path, err, "look at the folder /etc/netns")
	}
	if err = os.MkdirAll(filepath.Dir(f.path), 0o755); err == nil {
		err = os.WriteFile(f.path, []byte(f.text), 0o644)
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, op, f.path, err, "make room on the file system of /etc")
	}
	return nil
}

// commands are the file as commands that a person could type.
func (f *resolvConf) commands() []string {
	if f == nil {
		return nil
	}
	return []string{"mkdir -p " + filepath.Dir(f.path), fmt.Sprintf("printf '%%s' '%s' > %s", f.text, f.path)}
}

func (a *Agent) resolvConfPath(e heddle.Endpoint) string {
	return filepath.Join(a.rootDir(), "etc/netns", filepath.Base(e.Netns), "resolv.conf")
}

// dropResolvConf removes the file of an endpoint that goes, and the folders that are empty then.
func (a *Agent) dropResolvConf(e heddle.Endpoint) {
	path := a.resolvConfPath(e)
	text, err := os.ReadFile(path)
	if err == nil && bytes.HasPrefix(text, []byte(confMark(e.ID))) {
		err = os.Remove(path)
		if err == nil {
			_ = os.Remove(filepath.Dir(path))
			_ = os.Remove(filepath.Dir(filepath.Dir(path)))
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.log.Warn("a resolv.conf stays", "file", path, "error", err)
	}
}
