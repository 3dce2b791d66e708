package world

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// The state of the host as the system's own tools show it, without the agent.

// listing is a call of one of the system's tools. Each lists as much as it can: starting programs takes most of a dump's time.
type listing struct{ call, input string }

const routesAndRules = "route show table all\nrule\n"

// listings are of all kinds of objects that plans have, but neighbours.
var listings = []listing{{"ip -o -batch -", "link\naddress\n"}, {"ip -4 -batch -", routesAndRules}, {"ip -6 -batch -", routesAndRules}}

// hostListings are of objects that only the host has.
var hostListings = []listing{{"bridge fdb", ""}, {"bridge -d link", ""}, {"nft -s list ruleset", ""}}

// changing matches what differs between two dumps of the same state.
var changing = lazyregexp.New(`\b(packets|bytes|expires|\w+_lft) \S+|\bqlen \d+`)

// Dump lists all links, addresses, routes, rules, permanent neighbours and, on the host, the
// forwarding tables and the firewall. It waits until they do not change any more.
func (n Netns) Dump(t testing.TB) string {
	t.Helper()
	last := n.dump(t)
	for range 50 {
		time.Sleep(20 * time.Millisecond)
		next := n.dump(t)
		if next == last {
			break
		}
		last = next
	}
	return last
}

func (n Netns) dump(t testing.TB) string {
	t.Helper()
	all := listings
	if n.Path == "" {
		all = slices.Concat(listings, hostListings)
	}
	var text strings.Builder
	for _, l := range all {
		fmt.Fprintf(&text, "# %s: %s\n%s\n", n.Name, l.call, n.list(t, l))
	}
	// All namespaces share one table of neighbours, and the kernel lists it in another order once it
	// has grown (neigh_hash_grow in net/core/neighbour.c).
	neighbours := slices.Sorted(strings.Lines(n.list(t, listing{call: "ip neigh show nud permanent"})))
	fmt.Fprintf(&text, "# %s: neighbours\n%s\n", n.Name, strings.Join(neighbours, ""))
	return changing.ReplaceAllString(text.String(), "")
}

// list is what the tool prints in the namespace.
func (n Netns) list(t testing.TB, l listing) string {
	t.Helper()
	words := strings.Fields(l.call)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = strings.NewReader(l.input)
	var out []byte
	err := n.Do(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("in %s: %s: %v\n%s", n.Name, l.call, err, out)
	}
	return string(out)
}

// NoTrace fails the test if the host has any object with our mark.
func NoTrace(t testing.TB) {
	t.Helper()
	for _, line := range Traces(t) {
		t.Errorf("left on the host: %s", line)
	}
}

// Traces lists the objects with our mark: links by name, routes and rules by protocol number,
// tables and rules of the firewall by name and comment.
func Traces(t testing.TB) []string {
	t.Helper()
	return Netns{Name: "host"}.Traces(t)
}

// Traces is Traces for a namespace.
func (n Netns) Traces(t testing.TB) []string {
	t.Helper()
	protocol := fmt.Sprintf("proto %d", heddle.RouteProtocol)
	looks := []struct {
		listing
		marks []string
	}{
		{listing{call: "ip -o link"}, []string{": " + heddle.PrefixBridge, ": " + heddle.PrefixPort, ": " + heddle.PrefixTrunk, ": " + heddle.PrefixTunnel, ": " + heddle.PrefixShim, ": " + heddle.PrefixPeering}},
		{listing{"ip -4 -batch -", routesAndRules}, []string{protocol}},
		{listing{"ip -6 -batch -", routesAndRules}, []string{protocol}},
		{listing{call: "nft list ruleset"}, []string{" " + heddle.Mark + " {", heddle.Mark + ":"}},
	}
	var found []string
	for _, look := range looks {
		for line := range strings.Lines(n.list(t, look.listing)) {
			for _, mark := range look.marks {
				if strings.Contains(line, mark) {
					found = append(found, strings.TrimSpace(line))
					break
				}
			}
		}
	}
	return found
}

// numbers matches what differs when a device is made again.
var numbers = lazyregexp.New(`(?m)^\d+: |: <|@\w+|\blink-netns\S* \S+|\bstate \w+|NO-CARRIER,|,LOWER_UP|,M-DOWN|\bqdisc \w+| linkdown| pref \w+|\bhandle \d+`)

// Unnumbered removes from a dump what differs when an object is made again.
func Unnumbered(dump string) string { return numbers.ReplaceAllString(dump, "") }
