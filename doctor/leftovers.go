package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/kernel/coexist"
)

func leftoverChecks() []Check {
	return []Check{
		{ID: "audit", Title: "Ledger, kernel and containers agree", Wrong: "Ledger, kernel and containers do not agree", Severity: Fail, Looks: "'heddle audit': what is left over, missing, gone or not finished",
			Why: "Leftovers hold addresses and names; what is missing is a broken container.", Remedy: "heddle gc", look: lookAudit, fix: fixGC},
		{ID: "orphans", Title: "Nothing of ours is there without an agent", Wrong: "Something of ours is there without an agent", Severity: Warn, Looks: "interfaces, routes, rules and tables with heddle's mark, while no agent answers and its state folder is empty",
			Why: "They were left by an agent whose records are gone; nobody keeps them up.", Remedy: "systemctl start heddled, then heddle gc", look: lookOrphans},
		{ID: "accept-rules", Title: "Accept rules stand in other firewalls only while there are networks", Wrong: "Accept rules stand in other firewalls although there are no networks", Severity: Warn, Looks: "heddle's rules in foreign forward chains, while there is no network",
			Why: "They open nothing that exists, and do not belong there.", Remedy: "systemctl restart heddled", look: lookAcceptRules, fix: fixAcceptRules},
		{ID: "link-names", Title: "No stranger's interface has a name like ours", Wrong: "A stranger's interface has a name like ours", Severity: Warn, Looks: "'ip link': names of heddle's form without its alias",
			Why: "An endpoint whose name is taken cannot be attached.", Remedy: "ip link set NAME name OTHER", look: lookLinkNames},
		{ID: "netns-files", Title: "Named namespaces are namespaces", Wrong: "A named namespace is none", Severity: Warn, Looks: "files in /run/netns that are older than a minute and not a namespace",
			Why: "Their mount is gone: 'ip netns' complains, and the name cannot be used again.", Remedy: "rm /run/netns/NAME", look: lookNetnsFiles, fix: fixNetnsFiles},
		{ID: "gone-containers", Title: "Endpoints' namespaces are there", Wrong: "An endpoint's namespace is gone", Severity: Fail, Looks: "the namespace path of each endpoint, as the agent sees it",
			Why: "The container died without a DEL; its address and ports stay taken.", Remedy: "heddle gc", look: lookGone, fix: fixGC},
		{ID: "labs", Title: "No lab is left over", Wrong: "A lab is left over", Severity: Warn, Looks: "the folders of /run/heddle-lab, and whether a process has mounts or a namespace there",
			Why: "A lab whose hosts are dead still has folders, mounts and cgroups.", Remedy: "heddle lab down NAME", look: lookLabs},
		{ID: "socket-file", Title: "Somebody answers on the agent's socket file", Wrong: "Nobody answers on the agent's socket file", Severity: Warn, Looks: "the socket's file, and a connection to it",
			Why: "A file that nobody listens on was left by an agent that was killed.", Remedy: "systemctl start heddled", look: lookSocketFile},
		{ID: "ledger-files", Title: "No half-written file lies in the agent's folders", Wrong: "A half-written file lies in the agent's folders", Severity: Note, Looks: "*.new, *.tmp and *.corrupt files in the state and run folders",
			Why: "They are of no use to the agent.", Remedy: "rm FILE", look: lookStrayFiles},
	}
}

func findings(all []heddle.Finding) (text []string) {
	for _, f := range all {
		text = append(text, strings.Join(strings.Fields(fmt.Sprintf("heddle audit: %s %s %s %s", f.Kind, f.Object, f.Owner, f.Detail)), " "))
	}
	return text
}

func (h *Host) audit(ctx context.Context) ([]heddle.Finding, error) {
	if _, err := h.Status(ctx); err != nil {
		return nil, err
	}
	return h.audited.get(func() ([]heddle.Finding, error) {
		return persistent(func() ([]heddle.Finding, error) { return ask(ctx, h, (*client.Client).Audit) })
	})
}

// settleTime is how long a running operation may take to end, or the agent to restore what
// somebody removed.
const settleTime = 2 * time.Second

// persistent looks again while there are findings. It returns the findings that were present
// each time.
func persistent(look func() ([]heddle.Finding, error)) ([]heddle.Finding, error) {
	all, err := look()
	for end := time.Now().Add(settleTime); err == nil && len(all) > 0 && time.Now().Before(end); {
		time.Sleep(settleTime / 4)
		var again []heddle.Finding
		if again, err = look(); err == nil {
			all = slices.DeleteFunc(all, func(f heddle.Finding) bool { return !slices.Contains(again, f) })
		}
	}
	return all, err
}

func lookAudit(ctx context.Context, h *Host) Finding {
	all, err := h.audit(ctx)
	if err != nil {
		return unknown(err)
	}
	return trouble(findings(slices.DeleteFunc(all, func(f heddle.Finding) bool { return f.Kind == "gone" || insideContainer(f) })))
}

// insideContainer reports whether the finding is drift in a container, about which check drift says
// what mends it.
func insideContainer(f heddle.Finding) bool {
	return f.Owner != "" && (f.Kind == "missing" || f.Kind == "differs")
}

func lookGone(ctx context.Context, h *Host) Finding {
	all, err := h.audit(ctx)
	if err != nil {
		return unknown(err)
	}
	return trouble(findings(slices.DeleteFunc(all, func(f heddle.Finding) bool { return f.Kind != "gone" })))
}

func fixGC(ctx context.Context, h *Host) (done []string, err error) {
	removed, err := ask(ctx, h, func(c *client.Client, ctx context.Context) ([]string, error) { return c.GC(ctx, "", nil) })
	for _, r := range removed {
		done = append(done, "removed "+r)
	}
	return done, err
}

func lookOrphans(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err == nil {
		return fine("the agent answers")
	}
	if _, err := os.Stat(filepath.Join(h.StateDir, "heddle.db")); err == nil {
		return fine("an agent's records are in " + h.StateDir)
	}
	owned, err := h.Owned()
	if err != nil {
		return unknown(err)
	}
	return trouble(owned.Keys())
}

func lookAcceptRules(ctx context.Context, h *Host) Finding {
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	if len(networks) > 0 {
		return fine("known: " + heddle.Count(len(networks), "network"))
	}
	c, err := coexist.Open()
	if err != nil {
		return unknown(err)
	}
	defer c.Close()
	left, err := c.Admitted()
	if err != nil {
		return unknown(err)
	}
	return trouble(left)
}

func fixAcceptRules(context.Context, *Host) ([]string, error) {
	c, err := coexist.Open()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	left, err := c.Admitted()
	if err != nil {
		return nil, err
	}
	for i := range left {
		left[i] = "removed " + left[i]
	}
	return left, c.Withdraw()
}
