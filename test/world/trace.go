package world

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// The state of the host as the system's own tools show it, without the agent.

// neighbours sorts the neighbours: all namespaces share one table, and the kernel lists it in
// another order once it has grown (neigh_hash_grow in net/core/neighbour.c).
const neighbours = " neigh show nud permanent | sort"

// dumpCommands list all kinds of objects that plans have.
var dumpCommands = []string{
	"ip -o link", "ip -o address", "ip -4 route show table all", "ip -6 route show table all",
	"ip -4 rule", "ip -6 rule", "ip -4" + neighbours, "ip -6" + neighbours,
}

// hostCommands list objects that only the host has.
var hostCommands = []string{"bridge fdb", "bridge -d link", "nft -s list ruleset"}

// changing matches what differs between two dumps of the same state.
var changing = regexp.MustCompile(`\b(packets|bytes|expires|\w+_lft) \S+|\bqlen \d+`)

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
	commands := dumpCommands
	if n.Path == "" {
		commands = append(append([]string{}, commands...), hostCommands...)
	}
	var all strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&all, "# %s: %s\n%s\n", n.Name, c, n.Sh(t, "%s", c))
	}
	return changing.ReplaceAllString(all.String(), "")
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
		command string
		marks   []string
	}{
		{"ip -o link", []string{": " + heddle.PrefixBridge, ": " + heddle.PrefixPort, ": " + heddle.PrefixTrunk, ": " + heddle.PrefixTunnel, ": " + heddle.PrefixShim, ": " + heddle.PrefixPeering}},
		{"ip -4 route show table all", []string{protocol}},
		{"ip -6 route show table all", []string{protocol}},
		{"ip -4 rule", []string{protocol}},
		{"ip -6 rule", []string{protocol}},
		{"nft list ruleset", []string{" " + heddle.Mark + " {", heddle.Mark + ":"}},
	}
	var found []string
	for _, look := range looks {
		for line := range strings.Lines(n.Sh(t, "%s", look.command)) {
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
var numbers = regexp.MustCompile(`(?m)^\d+: |: <|@\w+|\blink-netns\S* \S+|\bstate \w+|NO-CARRIER,|,LOWER_UP|,M-DOWN|\bqdisc \w+| linkdown| pref \w+|\bhandle \d+`)

// Unnumbered removes from a dump what differs when an object is made again.
func Unnumbered(dump string) string { return numbers.ReplaceAllString(dump, "") }
