package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/names"
	resolver "github.com/heddle-network/heddle/resolver/process"
)

// nameTimeout is how long a resolver or a name server may take to answer.
const nameTimeout = 2 * time.Second

// nameChecks are about the resolver that answers containers' questions for names.
func nameChecks() []Check {
	return []Check{
		{ID: "names-resolver", Title: "A resolver runs where containers ask for names", Wrong: "No resolver runs, and containers ask for names", Severity: Fail, Looks: "names/*.json and names/lock in the agent's run folder",
			Why: "Containers are told to ask at an address where nobody answers: each look-up takes until it times out.", Remedy: "systemctl restart heddled, which starts it; names/resolver.log says why it has ended", look: lookNamesResolver},
		{ID: "names-answered", Title: "The resolver answers at each address where containers ask", Wrong: "The resolver does not answer where containers ask", Severity: Fail, Looks: "a connection to port 53 of each address in names/*.json, which the resolver closes as this host is no container",
			Why: "The containers of these networks find no names.", Remedy: "kill the process that names/lock names; the agent starts another one", look: lookNamesAnswered},
		{ID: "names-port", Title: "Port 53 is free where containers ask for names", Wrong: "Another program has port 53 where containers ask for names", Severity: Fail, Looks: "the addresses that names/resolver.json says are not served",
			Why: "Another program gets the containers' questions, or a published port 53 does.", Remedy: "ss -ltnup 'sport = :53', then give that program addresses of its own, or publish the port on one address (--publish ADDRESS:53:53/udp)", look: lookNamesPort},
		{ID: "names-upstreams", Title: "The name servers that the resolver asks answer", Wrong: "A name server that the resolver asks does not answer", Severity: Warn, Looks: "a question to each name server in names/resolver.json",
			Why: "Containers wait for names outside their networks, or do not find them.", Remedy: "put name servers that answer into /etc/resolv.conf, or into --resolver-forward", look: lookNamesUpstreams},
		{ID: "names-refused", Title: "No container without a way out asks for outside names", Wrong: "A container without a way out asks for outside names, and is refused", Severity: Note, Looks: "what names/resolver.json says of the last minute or two",
			Why: "A container all of whose networks are internal finds the names of its networks, and no others: the host's name servers are not asked for it.", Remedy: wayOut, look: lookNamesRefused},
		{ID: "names-limited", Title: "No container asks for more names than it may", Wrong: "A container asks for more names than it may", Severity: Warn, Looks: "what names/resolver.json says of the last minute or two",
			Why: "A container may ask 5,000 questions a second, have 64 of them waiting for name servers, and 16 connections. What is beyond that is not answered, so that other containers are.", Remedy: "see to it that its programs remember answers and use few connections; where questions wait, 'heddle doctor --only names-upstreams --all' says whether the name servers answer", look: lookNamesLimited},
		{ID: "names-clash", Title: "No two containers of a network call themselves by one name", Wrong: "Several containers of a network have one name", Severity: Warn, Looks: "'heddle name list'",
			Why: "Who asks for the name gets the addresses of both.", Remedy: "heddle name show NAME, then detach one of them and attach it with another --name, or with --alias if both are meant", look: lookNamesClash},
	}
}

// resolverStatus is what the resolver that runs says of itself; if there is nothing, the reason.
func (h *Host) resolverStatus() (said *resolver.Status, none string) {
	running, err := resolver.Find(h.namesDir())
	if err == nil && running == nil {
		return nil, "no resolver runs"
	}
	if err == nil {
		said, err = resolver.ReadStatus(h.namesDir())
	}
	if err != nil {
		return nil, err.Error()
	}
	return said, "the resolver has said nothing yet"
}

func (h *Host) namesDir() string { return filepath.Join(h.RunDir, "names") }

// nameTables are the networks whose names the resolver answers, as the agent has written them.
func (h *Host) nameTables() (all []names.Network, err error) {
	files, err := filepath.Glob(filepath.Join(h.namesDir(), "*.json"))
	for _, path := range files {
		if filepath.Base(path) == resolver.StatusFile {
			continue
		}
		var n names.Network
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if errors.Is(err, os.ErrNotExist) {
			continue // the network has just gone
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, n)
	}
	return names.JoinAll(all), err
}

// asked are the addresses where containers ask, with the names of their networks.
func (h *Host) asked() (map[netip.Addr][]string, error) {
	tables, err := h.nameTables()
	all := map[netip.Addr][]string{}
	for _, n := range tables {
		for _, a := range n.Listen {
			all[a] = append(all[a], n.Name)
		}
	}
	return all, err
}

// eachAsked looks at the addresses where containers ask, at all of them at once. All is well if they
// ask nowhere.
func (h *Host) eachAsked(look func(a netip.Addr, networks string) []string) Finding {
	asked, err := h.asked()
	if err != nil {
		return skip(err.Error())
	}
	if len(asked) == 0 {
		return fine("containers ask for names nowhere (the agent runs with --resolver none, or no network has an address for it)")
	}
	found := make(chan []string)
	for a, networks := range asked {
		go func() { found <- look(a, strings.Join(networks, ", ")) }()
	}
	var evidence []string
	for range asked {
		evidence = append(evidence, <-found...)
	}
	slices.Sort(evidence)
	return trouble(evidence)
}

func lookNamesResolver(_ context.Context, h *Host) Finding {
	running, err := resolver.Find(h.namesDir())
	if err != nil {
		return skip(err.Error())
	}
	if running != nil {
		return fine(fmt.Sprintf("%s/lock: process %d, version %s", h.namesDir(), running.PID, running.Version))
	}
	return h.eachAsked(func(a netip.Addr, networks string) []string {
		return []string{fmt.Sprintf("%s: containers of %s ask at %s; no process holds the file lock", h.namesDir(), networks, a)}
	})
}

func lookNamesAnswered(ctx context.Context, h *Host) Finding {
	if running, err := resolver.Find(h.namesDir()); running == nil || err != nil {
		return skip("no resolver runs")
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return skip(err.Error())
	}
	return h.eachAsked(func(a netip.Addr, networks string) []string {
		if !isAmong(own, a) {
			return nil // of a lost address drift tells
		}
		if err := closes(ctx, a); err != nil {
			return []string{fmt.Sprintf("%s (%s): %v", netip.AddrPortFrom(a, 53), networks, err)}
		}
		return nil
	})
}

// isAmong reports whether an address is one of those of this host's interfaces.
func isAmong(all []net.Addr, a netip.Addr) bool {
	return slices.ContainsFunc(all, func(has net.Addr) bool {
		p, err := netip.ParsePrefix(has.String())
		return err == nil && p.Addr() == a
	})
}

// closes reports whether somebody at the address takes a connection and closes it, as a resolver
// does that does not know the asker.
func closes(ctx context.Context, a netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, 53).String())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(nameTimeout))
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the connection is taken, and nobody does anything with it")
	}
	return nil
}

func lookNamesPort(_ context.Context, h *Host) Finding {
	said, none := h.resolverStatus()
	if said == nil {
		return skip(none)
	}
	return h.eachAsked(func(a netip.Addr, networks string) (evidence []string) {
		for _, f := range said.Fails {
			if f.Addr == a && f.Cause != "" {
				evidence = append(evidence, fmt.Sprintf("%s: %s (%s) is not served: %s", resolver.StatusPath(h.namesDir()), a, networks, f.Cause))
			}
		}
		return evidence
	})
}

func lookNamesUpstreams(ctx context.Context, h *Host) Finding {
	said, none := h.resolverStatus()
	if said == nil {
		return skip(none)
	}
	why := map[netip.AddrPort]string{}
	for _, s := range said.Upstreams {
		why[s] = "other names"
	}
	for domain, servers := range said.Forwards {
		for _, s := range servers {
			why[s] = domain
		}
	}
	failed := make(chan error)
	for s, what := range why {
		go func() {
			err := answers(ctx, s)
			if err != nil {
				err = fmt.Errorf("%s (%s): %w", s, what, err)
			}
			failed <- err
		}()
	}
	var evidence []string
	for range why {
		if err := <-failed; err != nil {
			evidence = append(evidence, err.Error())
		}
	}
	if len(said.Upstreams) == 0 {
		evidence = append(evidence, "/etc/resolv.conf: no name server")
	}
	slices.Sort(evidence)
	return trouble(evidence)
}

// rootQuestion asks who serves the root domain (RFC 1035, 4.1): the header with recursion desired
// and one question, the root's name, type NS, class IN.
var rootQuestion = []byte{0x68, 0x64, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1}

// answers asks a name server something that each one has an answer to, if only a refusal.
func answers(ctx context.Context, server netip.AddrPort) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "udp", server.String())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(nameTimeout))
	if _, err := c.Write(rootQuestion); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 512))
	return err
}

func lookNamesClash(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err != nil {
		return unknown(err)
	}
	all, err := ask(ctx, h, func(c *client.Client, ctx context.Context) ([]names.Entry, error) { return c.Names(ctx, nil) })
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, e := range all {
		if e.Clash {
			evidence = append(evidence, fmt.Sprintf("heddle name list: %s on %s is %s of host %s", e.Name, e.Network, e.Endpoint, e.Host))
		}
	}
	return trouble(evidence)
}
