// Package doctor looks for what keeps a host's container networks from working: missing
// kernel features, settings, other firewalls and network managers, overlapping subnets,
// leftovers, permissions, the agent itself. It runs in the caller's process, as root, whether
// the agent is up or not. It changes nothing unless it is asked to.
//
// A check reads the host's real state, quotes what it has read, and names a command that
// solves the problem. Each file holds one family of checks.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// State is the outcome of a check.
type State string

// The states, from good to bad. A note is worth knowing but no fault. A skipped check could
// not be made.
const (
	OK   State = "ok"
	Skip State = "skip"
	Note State = "note"
	Warn State = "warn"
	Fail State = "fail"
)

// Check is one question about the host.
type Check struct {
	// ID is stable and never reused: lower-case words joined by dashes.
	ID     string `json:"id"`
	Family string `json:"family"`
	// Title says what should be; Wrong says what is if it is not so.
	Title string `json:"title"`
	Wrong string `json:"wrong"`
	// Severity is the state of this check's finding if something is wrong.
	Severity State `json:"severity"`
	// Looks says what is read, Why what happens if something is wrong.
	Looks string `json:"looks"`
	Why   string `json:"why"`
	// Remedy is a command to type; capitals stand for what the finding names.
	Remedy string `json:"remedy"`
	// Fixable reports whether --fix can repair it.
	Fixable bool `json:"fixable"`

	look func(context.Context, *Host) Finding
	fix  func(context.Context, *Host) ([]string, error)
}

// Finding is the outcome of one check.
type Finding struct {
	ID string `json:"id"`
	// Title says what is, or for a check that was skipped, what should be.
	Title    string `json:"title"`
	State    State  `json:"state"`
	Severity State  `json:"severity"`
	// Evidence quotes what was read, each line with its source.
	Evidence []string `json:"evidence,omitempty"`
	// Remedy holds commands to type.
	Remedy []string `json:"remedy,omitempty"`
	// Fixed is what --fix did.
	Fixed   []string `json:"fixed,omitempty"`
	Seconds float64  `json:"seconds"`
}

// Loud reports whether the finding is a warning or a failure.
func (f Finding) Loud() bool { return f.State == Warn || f.State == Fail }

func fine(evidence ...string) Finding { return Finding{State: OK, Evidence: evidence} }

func skip(reason string) Finding { return Finding{State: Skip, Evidence: []string{reason}} }

// trouble is a finding of the check's severity. Without evidence it is OK.
func trouble(evidence []string, remedy ...string) Finding {
	if len(evidence) == 0 {
		return fine()
	}
	return Finding{Evidence: evidence, Remedy: remedy}
}

// unknown is the finding if something could not be read.
func unknown(err error) Finding {
	if heddle.KindOf(err) == heddle.Unreachable {
		return skip("the agent does not answer, so the host's networks are not known")
	}
	return skip(err.Error())
}

// Checks lists all checks: one for each of the modes, and the families.
func Checks(modes []heddle.Mode) []Check {
	var all []Check
	for _, family := range []struct {
		name   string
		checks []Check
	}{
		{"modes", modeChecks(modes)}, {"kernel", kernelChecks()}, {"settings", settingChecks()}, {"mtu", mtuChecks()},
		{"managers", managerChecks()}, {"firewalls", firewallChecks()}, {"services", serviceChecks()}, {"names", nameChecks()}, {"subnets", subnetChecks()}, {"overlay", overlayChecks()}, {"leftovers", leftoverChecks()},
		{"files", fileChecks()}, {"agent", agentChecks()}, {"cni", cniChecks()}, {"podman", podmanChecks()}, {"docker", dockerChecks()}, {"machine", machineChecks()},
	} {
		for _, c := range family.checks {
			c.Family, c.Fixable = family.name, c.fix != nil
			all = append(all, c)
		}
	}
	return all
}

// Find returns the check of that id.
func Find(all []Check, id string) (Check, bool) {
	i := slices.IndexFunc(all, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}, false
	}
	return all[i], true
}

// Choose keeps the checks of the given ids or families; none means all.
func Choose(all []Check, wanted []string) ([]Check, error) {
	if len(wanted) == 0 {
		return all, nil
	}
	var some []Check
	for _, w := range wanted {
		matches := func(c Check) bool { return c.ID == w || c.Family == w }
		if !slices.ContainsFunc(all, matches) {
			return nil, heddle.Errorf(heddle.BadArgument, "find check", strconv.Quote(w),
				"no check has that id or family", "choose from those that 'heddle doctor list' shows")
		}
	}
	for _, c := range all {
		if slices.Contains(wanted, c.ID) || slices.Contains(wanted, c.Family) {
			some = append(some, c)
		}
	}
	return some, nil
}

// maxParallel limits how many checks run at the same time. Most of them wait for another program.
const maxParallel = 8

// Run makes the checks, several at a time, and returns the findings in order.
func Run(ctx context.Context, h *Host, checks []Check) []Finding {
	found := make([]Finding, len(checks))
	room := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for i, c := range checks {
		all.Add(1)
		go func() {
			defer all.Done()
			room <- struct{}{}
			defer func() { <-room }()
			found[i] = c.run(ctx, h)
		}()
	}
	all.Wait()
	return found
}

func (c Check) run(ctx context.Context, h *Host) Finding {
	start := time.Now()
	f := c.look(ctx, h)
	f.ID, f.Title, f.Severity, f.Seconds = c.ID, c.Title, c.Severity, time.Since(start).Seconds()
	if f.State == "" {
		f.State = c.Severity
	}
	if f.State != OK && f.State != Skip {
		f.Title = c.Wrong
	}
	if f.Loud() && len(f.Remedy) == 0 {
		f.Remedy = []string{c.Remedy}
	}
	f.Evidence, f.Remedy = clip(f.Evidence), clip(f.Remedy)
	return f
}

// maxLines is how many lines of evidence or remedy a person reads.
const maxLines = 8

func clip(lines []string) (some []string) {
	for _, line := range lines[:min(len(lines), maxLines)] {
		some = append(some, strings.TrimSpace(line))
	}
	if more := len(lines) - maxLines; more > 0 {
		some = append(some, fmt.Sprintf("and %d more", more))
	}
	return some
}

// Mend repairs what can be repaired safely, one check after the other, and makes each of these
// checks again.
func Mend(ctx context.Context, h *Host, checks []Check, found []Finding) []Finding {
	for i, c := range checks {
		if c.fix == nil || !found[i].Loud() {
			continue
		}
		done, err := c.fix(ctx, h)
		if err != nil {
			done = append(done, "not done: "+err.Error())
		}
		found[i] = c.run(ctx, h.Fresh())
		found[i].Fixed = done
	}
	return found
}
