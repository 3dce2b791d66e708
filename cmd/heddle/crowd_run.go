package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/live"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/rig"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/limit"
)

// runFlags are the flags of crowd run.
type runFlags struct {
	planFlags
	network string
	as      string
	rounds  int
	resume  bool
	failIf  string
	diary   string
	capture string
	most    int
	hosts   int
	partFlags
}

func newCrowdRun(s *session) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run FILE", Args: withArgs("FILE"),
		Short: "Let a crowd do what is planned, on one network mode after the other",
		Long: `run plays the plan of a scenario: each user gets a network namespace and an address,
through the same call of the agent as every container's, and does what is planned, when
it is planned. The services that people use are built in, and answer in the sizes of
the plan, over TCP, unless the scenario has a program answer for them ('by: caddy', 'by: dovecot',
'by: nginx', 'by: openssh', 'by: redis'), which runs in a container of its own. Names are answered by the
network, or 'by: unbound'. Calls go from user to user, over UDP.

Users of a persona with a link are connected by that link: what it delays and loses, each way,
is decided by the seed. A kernel that cannot do it is refused (HDL-3003).

Without --network, run makes a lab host, and plays the same plan on a new network of
each of the --modes, in --rounds; each round begins with another mode. The lab is
removed afterwards. With --hosts, the lab is a cluster of so many hosts, which have the users in
turn (user 1 is on the first one), and the services by name; the modes are those whose networks span hosts.
With --network, it plays on that network of this host's agent.

With --as, each user is a container of that client on the --network: docker and podman on
their network of that name, lxc by heddle's hook. They are named crowd-user-1 and so on, and end with
the command, however that ends; 'heddle crowd down' removes what a command that was killed has left.
Services are as without it.

What is measured: how long people waited for each action, from when they wanted it
(service: from when the crowd began it); Apdex, the share of satisfied people; how calls
sounded (MOS by ITU-T G.107) and videos played; and by how much the crowd itself was late.
If that is more than 10 ms in one of a hundred steps, or if it lost more than one of a
thousand frames on links, the figures say nothing about the network, and the command says
so and ends with exit code 1 (HDL-9002).

With --part, this machine plays the part of that number, and others play the other ones, at the same
time: heddle runs on each of them with the same scenario, seed, users, --network and --begin. User n and
the n-th service, by name, are of part n mod the number of parts. The network is one of a cluster, of a mode whose
networks span hosts. All parts are attached before the begin, or none plays. Services are
those that are built in. 'heddle crowd merge' makes one report of all.

The report of --out is written after each round. With --resume, a run goes on where an earlier
one of the same plan, links, events, services and --as ended; rounds that are not valid are played
again.

Events of the scenario happen in each round: services fail, links change, people gather.
'heddle crowd fault' does the like by hand.

With --diary, each step of each user is written down when it has ended, and each flow when
it is opened and closed; 'heddle crowd why USER FILE' reads that. With --capture, the packets
of all users are written beside it, as each user's own interface has them: pcapng, with an
interface for each user. 'heddle crowd labels FILE --check CAPTURE' holds one against the other.

` + crowdFailIfHelp,
		Example: "  heddle crowd run small.yaml\n  heddle crowd run small.yaml --modes bridge,routed --rounds 3 --out report.json\n" +
			"  heddle crowd run small.yaml --hosts 3\n  heddle crowd run small.yaml --network web\n  heddle crowd run small.yaml --network web --as docker\n" +
			"  heddle crowd run small.yaml --network web --part 1/3 --begin 2026-11-30T20:00:00Z --out part1.json",
		RunE: func(cmd *cobra.Command, args []string) error { return s.crowdRun(cmd, args[0], f) },
	}
	g := cmd.Flags()
	g.IntVar(&f.users, "users", 0, "number of users (default: the scenario's)")
	g.Uint64Var(&f.seed, "seed", 0, "seed of the plan (default: the scenario's)")
	g.StringVar(&f.out, "out", "", "write the report to `FILE`, as JSON")
	g.IntVar(&f.rounds, "rounds", 1, "how often each mode, or the network, is played")
	g.StringVar(&f.network, "network", "", "play on that network of this host, which is there")
	g.StringVar(&f.as, "as", engine.Namespace, "what each user is on the --network: "+strings.Join(engine.Words(), ", "))
	g.StringSliceVar(&f.modes, "modes", []string{"bridge", "routed", "macvlan", "overlay"}, "the modes to play on (with several --hosts: "+strings.Join(spanningModes(), ", ")+")")
	g.BoolVar(&f.resume, "resume", false, "play only the rounds that the report of --out lacks, or has as not valid")
	g.StringVar(&f.failIf, "fail-if", "", "fail when a figure crosses a limit")
	g.StringVar(&f.diary, "diary", "", "write what each user does, and the flows of it, to the new `FILE`")
	g.StringVar(&f.capture, "capture", "", "write the packets of all users to the new `FILE`, as pcapng; with --diary")
	g.IntVar(&f.most, "snaplen", 0, "write up to so many `bytes` of each packet (default: all)")
	g.IntVar(&f.hosts, "hosts", 1, fmt.Sprintf("how many lab hosts have the users in turn (1 to %d)", rig.MaxHosts))
	g.StringVar(&f.part, "part", "", "play one of several parts, the others being played on other machines: `K/N`, such as 1/3")
	g.StringVar(&f.begin, "begin", "", "when all parts begin: a `TIME` like 2026-11-30T20:00:00Z")
	cmd.RegisterFlagCompletionFunc("part", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("begin", cobra.NoFileCompletions)
	cmd.RegisterFlagCompletionFunc("modes", cobra.FixedCompletions(crowdModes(), cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("network", s.completeFrom(s.networkNames))
	cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(engine.Words(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *session) crowdRun(cmd *cobra.Command, file string, f runFlags) error {
	ctx := cmd.Context()
	read, err := f.scenario(cmd, file)
	if err != nil {
		return err
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	part, begin, err := f.share(cmd, time.Now())
	if err != nil {
		return err
	}
	var network heddle.Network
	if f.network != "" {
		if network, err = s.client().Network(ctx, f.network); err != nil {
			return err
		}
		f.modes = []string{network.Mode}
	} else if f.hosts > 1 && !cmd.Flags().Changed("modes") {
		f.modes = spanningModes()
	}
	contained, err := s.engine(ctx, f.as, network)
	if err != nil {
		return err
	}
	if err := checkModes(f.modes, f.hosts); err != nil {
		return err
	}
	if err := checkShared(part, read, network); err != nil {
		return err
	}
	conditions, err := crowdLimits(f.failIf, report.Known{Modes: f.modes, Behaviours: sortedKeys(read.Behaviours), Actions: read.Actions()})
	if err != nil {
		return err
	}
	raiseFileLimit()
	out := report.Report{Crowd: read.Name, Seed: read.Seed, Users: read.Users, Length: time.Duration(read.Clock.Length),
		Modes: slices.Clone(f.modes), LeftOut: map[string]string{}, Links: read.Links(), Events: read.Events}
	if contained != nil {
		out.As = f.as
	}
	if out.Services, err = servicesOf(read); err != nil {
		return err
	}
	if f.hosts > 1 {
		out.Hosts = f.hosts
	}
	if !part.IsAll() {
		out.Part = &report.Part{Part: part, Begin: begin}
	}
	if out.SHA256, err = s.carriable(ctx, read, f.captured(part.Count(read.Users)), f.modes, hereOf(part)); err != nil {
		return err
	}
	meeting := machine.Meeting{SHA256: out.SHA256, Begin: begin}
	if err := s.alone(ctx, part, meeting, f.network); err != nil {
		return err
	}
	out.Diary = f.diary != ""
	if err := f.goOn(&out); err != nil {
		return err
	}
	if !out.Lacks(f.modes, f.rounds) {
		s.note("all rounds have been played")
		return s.endRun(out, nil, "", conditions)
	}
	p := &crowdPlay{session: s, flags: f, read: read, out: out, control: &event.Control{}, engine: contained, meeting: meeting}
	ctx, end := context.WithCancel(ctx)
	defer end()
	if p.shown, err = live.Serve(live.Run{Crowd: read.Name, Seed: read.Seed, Users: read.Users, Hosts: out.Hosts, Modes: f.modes, Rounds: f.rounds, Played: len(out.Rounds),
		Part: f.part, Servers: ownServers(read, part), Linked: sortedKeys(read.Links())}, func(c event.Command) (event.Done, error) { return p.do(ctx, c) }, end); err != nil {
		s.note("'heddle crowd status', 'fault', 'scale' and 'down' will not find this run: %v", err)
	} else {
		defer p.shown.Close() // last: 'heddle crowd down' waits for that
	}
	if p.diary, err = f.openDiary(read, out.SHA256); err != nil {
		return err
	}
	if p.diary != nil {
		defer p.diary.Close()
		defer f.dropEmpty(p.diary)
	}
	if p.capture, err = f.openCapture(); err != nil {
		return err
	}
	if p.capture != nil {
		defer p.capture.Close()
		defer func() { f.dropCapture(p.capture, p.out) }()
	}
	if f.network != "" {
		err = p.here(ctx, network)
	} else {
		err = p.modes(ctx)
	}
	if p.diary != nil && len(p.out.Rounds) > 0 {
		s.note("the diary is in %s", f.diary)
		f.noteCapture(s, p.out)
	}
	ended := err != nil && ctx.Err() != nil && cmd.Context().Err() == nil
	err = s.endRun(p.out, err, f.out, conditions)
	if ended {
		s.note("interrupted by 'heddle crowd down'")
		return exitCode(exitInterrupted)
	}
	return err
}

// carriable refuses a scenario that this machine cannot play, and returns its plan's SHA-256.
func (s *session) carriable(ctx context.Context, read scenario.Scenario, captured int, modes []string, h plan.Here) (sha256 string, err error) {
	if len(read.Links()) > 0 {
		if err := link.Check(); err != nil {
			return "", err
		}
	}
	drawn, err := s.drawPlan(ctx, read, "", h)
	if err != nil {
		return "", err
	}
	drawn.Captured = captured
	return drawn.SHA256, drawn.Refuse(drawn.Needs(machineLimits()), modes)
}

// endRun shows a run, and writes it to a file if there is a name. It returns why the run failed, is not valid, or
// crosses a limit.
func (s *session) endRun(out report.Report, failed error, file string, conditions []limit.Limit) error {
	if len(out.Rounds) == 0 {
		return errors.Join(failed, nothingPlayed(out))
	}
	if errors.Is(failed, context.Canceled) {
		out.Partial = "interrupted"
	} else if failed != nil {
		out.Partial = failed.Error()
	}
	shown := s.emitCrowdReport(out)
	if file != "" {
		err := writeReport(file, out)
		if err == nil {
			s.note("the report is in %s", file)
		}
		shown = errors.Join(shown, err)
	}
	return errors.Join(shown, failed, verdict(out, conditions))
}

// nothingPlayed is the error of a run whose modes were all left out.
func nothingPlayed(r report.Report) error {
	for _, m := range r.Modes {
		if why := r.LeftOut[m]; why != "" {
			return heddle.Errorf(heddle.CrowdFailed, "play crowd", r.Crowd, "no mode could be played: "+why, "choose other --modes")
		}
	}
	return nil
}
