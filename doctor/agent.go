package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

func agentChecks() []Check {
	return []Check{
		{ID: "agent-up", Title: "The agent answers", Wrong: "The agent does not answer", Severity: Fail, Looks: "a call on the agent's socket",
			Why: "Traffic goes on, but nothing can be attached or detached, and what somebody removes is not put back.", Remedy: "systemctl start heddled", look: lookAgentUp},
		{ID: "agent-version", Title: "The agent has the version of the command line", Wrong: "The agent has another version than the command line", Severity: Warn, Looks: "the version in 'heddle status' and that of heddle",
			Why: "One of the two was upgraded alone.", Remedy: "systemctl restart heddled", look: lookAgentVersion},
		{ID: "agent-modes", Title: "The agent has the modes of the command line", Wrong: "The agent has other modes than the command line", Severity: Warn, Looks: "the modes that the agent lists",
			Why: "One of the two was upgraded alone.", Remedy: "systemctl restart heddled", look: lookAgentModes},
		{ID: "agent-parts", Title: "The agent finds itself healthy", Wrong: "The agent finds itself ill", Severity: Fail, Looks: "the parts in 'heddle status'",
			Why: "A part that is bad keeps the agent from its work.", Remedy: "journalctl -u heddled", look: lookAgentParts},
		{ID: "agent-late", Title: "Nothing that the agent does is late", Wrong: "Something that the agent does is late", Severity: Warn, Looks: "'late' in 'heddle status -o json'",
			Why: "What takes more than two seconds waits for a busy machine, a kernel that does not come to an end, or a store that does not answer. Other networks and endpoints do not wait for it.", Remedy: "heddle status, which says what it waits for; 'heddle host list' shows who may have written much into the store", look: lookAgentLate},
		{ID: "drift", Title: "The kernel has what was planned", Wrong: "The kernel does not have what was planned", Severity: Fail, Looks: "'heddle check'",
			Why: "Somebody has changed or removed objects of heddle. On the host's side the agent puts them back; in a container it does not.", Remedy: "heddle check, whose hint mends what differs", look: lookDrift},
		{ID: "agent-namespace", Title: "The agent works on this host's network", Wrong: "The agent works on another host's network", Severity: Fail, Looks: "/proc/PID/ns/net of the agent and of the caller",
			Why: "The socket belongs to an agent in another namespace; what it makes is not here.", Remedy: "name this host's socket with --socket", look: lookAgentNamespace},
		{ID: "agent-alone", Title: "One agent runs", Wrong: "Several agents run", Severity: Warn, Looks: "processes named heddled in this network namespace",
			Why: "Two agents with different folders take each other's objects for leftovers.", Remedy: "systemctl stop the one too many", look: lookAgentAlone},
		{ID: "agent-rights", Title: "The agent has the capabilities it needs", Wrong: "The agent lacks capabilities", Severity: Fail, Looks: "CapEff in /proc/PID/status of the agent",
			Why: "Without CAP_NET_ADMIN it makes no link, without CAP_SYS_ADMIN it enters no container, without CAP_SYS_PTRACE and CAP_DAC_OVERRIDE it does not find containers that others run.", Remedy: "systemctl edit heddled: CapabilityBoundingSet as in the packaged unit", look: lookAgentRights},
		{ID: "agent-files", Title: "The agent may open enough files", Wrong: "The agent may open too few files", Severity: Warn, Looks: "'Max open files' in /proc/PID/limits of the agent, and /proc/PID/fd",
			Why: "Each attach opens the container's namespace and a socket in it.", Remedy: "systemctl edit heddled: LimitNOFILE=1048576", look: lookAgentFiles},
		{ID: "agent-memory", Title: "The agent's cgroup leaves it memory", Wrong: "The agent's cgroup leaves it too little memory", Severity: Warn, Looks: "memory.max and memory.current of the agent's cgroup",
			Why: "An agent that is killed for memory in the middle of an attach undoes it at its next start; containers wait meanwhile.", Remedy: "systemctl edit heddled: MemoryMax=256M", look: lookAgentMemory},
		{ID: "agent-settings", Title: "The agent may write settings", Wrong: "The agent may not write settings", Severity: Fail, Looks: "/proc/PID/mountinfo of the agent: how /proc/sys is mounted",
			Why: "Forwarding and per-interface settings cannot be made; every network is refused.", Remedy: "systemctl edit heddled: ProtectKernelTunables=no", look: lookAgentSettings},
		{ID: "agent-netns", Title: "The agent sees the named namespaces", Wrong: "The agent does not see the named namespaces", Severity: Fail, Looks: "/run/netns here and in /proc/PID/root of the agent",
			Why: "Containers that are named by such a path cannot be attached: the agent has a /run of its own, or does not get the mounts made later.", Remedy: "systemctl edit heddled: PrivateMounts=no, MountFlags=slave", look: lookAgentNetns},
	}
}

func lookAgentUp(ctx context.Context, h *Host) Finding {
	st, err := h.Status(ctx)
	if err != nil {
		return trouble([]string{err.Error()})
	}
	return fine(fmt.Sprintf("heddle status: %s, version %s, up %d s", st.Host, st.Version, st.UpSeconds))
}

func lookAgentVersion(ctx context.Context, h *Host) Finding {
	st, err := h.Status(ctx)
	if err != nil {
		return unknown(err)
	}
	read := fmt.Sprintf("heddled %s, heddle %s", st.Version, h.Version)
	if st.Version != h.Version {
		return trouble([]string{read})
	}
	return fine(read)
}

func lookAgentModes(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err != nil {
		return unknown(err)
	}
	theirs, err := ask(ctx, h, (*client.Client).Modes)
	if err != nil {
		return unknown(err)
	}
	mine := h.modeNames()
	slices.Sort(theirs)
	slices.Sort(mine)
	read := fmt.Sprintf("heddled: %s; heddle: %s", heddle.List(theirs), heddle.List(mine))
	if !slices.Equal(theirs, mine) {
		return trouble([]string{read})
	}
	return fine(read)
}

func lookAgentParts(ctx context.Context, h *Host) Finding {
	st, err := h.Status(ctx)
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, p := range st.Parts {
		if p.State == "bad" {
			evidence = append(evidence, fmt.Sprintf("heddle status: %s bad: %s", p.Name, p.Detail))
		}
	}
	return trouble(evidence)
}

func lookAgentLate(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err != nil {
		return unknown(err)
	}
	texts := map[heddle.Finding]string{}
	stuck, err := persistent(func() (all []heddle.Finding, err error) {
		st, err := ask(ctx, h, (*client.Client).Status)
		for _, l := range st.Late {
			f := heddle.Finding{Kind: l.What, Object: l.Network + " " + l.Endpoint, Detail: l.Since.String()}
			all, texts[f] = append(all, f), l.String()
		}
		return all, err
	})
	if err != nil {
		return unknown(err)
	}
	var evidence []string
	for _, f := range stuck {
		evidence = append(evidence, texts[f])
	}
	return trouble(evidence)
}

func lookDrift(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err != nil {
		return unknown(err)
	}
	check := func() ([]heddle.Finding, error) {
		return ask(ctx, h, func(c *client.Client, ctx context.Context) ([]heddle.Finding, error) {
			return c.Check(ctx, heddle.EndpointID{})
		})
	}
	all, err := persistent(check)
	if err != nil {
		return unknown(err)
	}
	// check gone-containers reports namespaces that are gone
	all = slices.DeleteFunc(all, func(f heddle.Finding) bool { return f.Kind == "gone" })
	evidence := findings(all)
	for i := range evidence {
		evidence[i] = strings.Replace(evidence[i], "heddle audit:", "heddle check:", 1)
	}
	return trouble(evidence)
}

func lookAgentNamespace(_ context.Context, h *Host) Finding {
	pid, err := h.Agent()
	if err != nil {
		return skip(err.Error())
	}
	mine, err := os.Readlink(ownNetns)
	if err != nil {
		return skip(err.Error())
	}
	read := []string{}
	// the agent's first thread may be in a container's namespace
	for range 10 {
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			return skip(err.Error())
		}
		read = []string{fmt.Sprintf("/proc/%d/ns/net: %s", pid, theirs), ownNetns + ": " + mine}
		if theirs == mine {
			return fine(read...)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return trouble(read)
}

func lookAgentAlone(_ context.Context, h *Host) Finding {
	isResolver := func(p process) bool { return strings.Contains(p.command, " resolve --dir ") } // which an agent starts
	all := slices.DeleteFunc(h.running("heddled"), isResolver)
	if len(all) > 1 {
		return trouble(lines(all))
	}
	return fine(lines(all)...)
}

// needed are the capabilities that the agent needs
// (linux/capability.h).
var needed = []struct {
	name string
	bit  int
}{
	{"CAP_DAC_OVERRIDE", unix.CAP_DAC_OVERRIDE}, {"CAP_NET_ADMIN", unix.CAP_NET_ADMIN}, {"CAP_NET_RAW", unix.CAP_NET_RAW},
	{"CAP_SYS_PTRACE", unix.CAP_SYS_PTRACE}, {"CAP_SYS_ADMIN", unix.CAP_SYS_ADMIN},
}

func lookAgentRights(_ context.Context, h *Host) Finding {
	text, err := h.proc("status")
	if err != nil {
		return skip(err.Error())
	}
	line := lineWith(text, "CapEff:")
	have, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(line, "CapEff:")), 16, 64)
	if err != nil {
		return skip(err.Error())
	}
	var missing []string
	for _, c := range needed {
		if have&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		return trouble([]string{line, "missing: " + strings.Join(missing, " ")})
	}
	return fine(line)
}

// minFiles is what some hundred attaches at the same time need.
const minFiles = 4096

func lookAgentFiles(_ context.Context, h *Host) Finding {
	text, err := h.proc("limits")
	if err != nil {
		return skip(err.Error())
	}
	pid, _ := h.Agent()
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	line := strings.Join(strings.Fields(lineWith(text, "Max open files")), " ")
	read := []string{line, fmt.Sprintf("/proc/%d/fd: %d open", pid, len(open))}
	f := strings.Fields(strings.TrimPrefix(line, "Max open files"))
	if len(f) == 0 || f[0] == "unlimited" {
		return fine(read...)
	}
	limit, err := strconv.Atoi(f[0])
	if err != nil {
		return skip(line)
	}
	if limit < minFiles || len(open)*5 >= limit*4 {
		return trouble(read)
	}
	return fine(read...)
}
