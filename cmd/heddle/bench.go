package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/rig"
)

// benchFlags are the flags that change a preset.
type benchFlags struct {
	preset, out, failIf, placement, congestion, machines string
	modes, probes, wires, plug                           []string
	sizes, values, pairs, hosts                          []int
	rounds, load, clients                                int
	duration                                             time.Duration
	seed                                                 uint64
	resume, bridgeNF, icount                             bool
}

func newBench(s *session) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:     "bench",
		GroupID: groupLabs,
		Short:   "measure the modes side by side on this machine",
		Long: `bench makes two lab hosts, connects containers in every mode through the same
agent call as everybody's, and runs the field's tools between them: on one host,
and from one host to the other. The runs are interleaved in random order, so that a
machine that slows down slows all modes down alike; what counts is the ratio within
one round. Everything is removed afterwards; the figures stay in the folder given
with --out: samples.jsonl, report.json, and made from it report.html (a page that
opens from disk), samples.csv and report.bench (for benchstat).

Presets: ` + presetList() + `.
A probe of a preset whose tool is not installed is left out, with a line that says
so; one that was asked for by name is an error. --wire chooses the wires between
the hosts: intact (a veth), cut (segmentation off, each frame by itself), merged (cut,
and merged on arrival, as network cards do), jumbo (cut, frames of 9,000 bytes), 1g,
10g. --hosts 2 leaves the pairs on one host out.

docker-overlay is no mode of heddle's: it is the layout that Docker's overlay driver
makes, made by hand on two more hosts, as a yardstick for overlay; docker-overlay-nf has
bridge-nf-call-iptables=1, native is the wire between those hosts. bridge-stack,
routed-stack and overlay-stack are these modes without the fast path: what they are on a
kernel without eBPF. The preset paths ends in a table of goals, met or missed.

` + failIfHelp,
		Example: "  heddle bench --preset quick\n  heddle bench --modes host,routed --probes iperf3 --wire intact,cut --rounds 3 --duration 1s --out /tmp/figures",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return s.bench(cmd, f) },
	}
	g := cmd.Flags()
	g.StringVar(&f.preset, "preset", "quick", "what to measure: "+strings.Join(presetNames(), ", "))
	g.StringSliceVar(&f.modes, "modes", nil, "the modes to measure (default: the preset's); host is the yardstick")
	g.StringSliceVar(&f.probes, "probes", nil, "the probes to run (default: the preset's)")
	g.StringSliceVar(&f.wires, "wire", nil, "the wires between the hosts: intact, cut, merged, jumbo, 1g, 10g (default: the preset's, mostly intact)")
	g.IntSliceVar(&f.hosts, "hosts", nil, "pairs on 1 host, across 2 hosts, or both (default: the preset's, mostly both)")
	g.IntSliceVar(&f.sizes, "sizes", nil, "UDP payloads, and netperf's messages, in bytes")
	g.IntSliceVar(&f.values, "values", nil, "Redis's values in bytes")
	g.IntVar(&f.clients, "clients", 0, "connections of a pair's wrk or redis-benchmark")
	g.IntSliceVar(&f.pairs, "pairs", nil, "numbers of pairs that run at the same time")
	g.IntVar(&f.rounds, "rounds", 0, "rounds that count")
	g.IntVar(&f.load, "load", 0, "messages a second of sockperf-underload and udp-paced")
	g.DurationVar(&f.duration, "duration", 0, "length of one run")
	g.StringVar(&f.placement, "placement", "", "same-core or separate-cores")
	g.StringVar(&f.congestion, "congestion", "", "congestion control of TCP")
	g.Uint64Var(&f.seed, "seed", 0, "seed of the order of the runs")
	g.StringVar(&f.out, "out", "", "folder for the figures (default: bench-out/DATE)")
	g.StringVar(&f.machines, "machines", "", "make the lab hosts virtual machines with that stock `kernel`: "+strings.Join(boot.Versions(), " or "))
	g.StringSliceVar(&f.plug, "plug", nil, "with --machines: the NICs of these `modes` ("+strings.Join(rig.PluggedModes, ", ")+") are plugged in while the machines run, by 'heddle nic serve' on another lab host")
	g.Lookup("plug").NoOptDefVal = rig.PluggedModes[0]
	g.BoolVar(&f.icount, "icount", false, "with --machines, whose processor is emulated: count its instructions, and show how many a packet or request takes")
	g.BoolVar(&f.bridgeNF, "bridge-nf", false, "let bridged frames pass the IP firewall too, as dockerd's hosts do (bridge-nf-call-iptables=1)")
	g.BoolVar(&f.resume, "resume", false, "take up an interrupted run in --out")
	g.StringVar(&f.failIf, "fail-if", "", "fail when a figure crosses a limit")
	cmd.AddCommand(newBenchCompare(s), newBenchReport(s))
	return cmd
}

func (s *session) bench(cmd *cobra.Command, f benchFlags) error {
	conditions, err := limits(f.failIf, bench.ParseLimits)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = filepath.Join("bench-out", time.Now().Format("20060102-150405"))
	}
	preset, err := bench.PresetNamed(f.preset)
	if err != nil {
		return err
	}
	// Find errors in the flags before anything is made.
	asked, err := f.matrix(cmd, preset, nil)
	if err != nil {
		return err
	}
	if err := asked.CheckSettings(); err != nil {
		return err
	}
	if err := checkBenchModes(f.modes, asked.NoControl); err != nil {
		return err
	}
	wires, err := rig.WiresNamed(firstNonEmpty(f.wires, preset.Wires, []string{rig.Intact}))
	if err != nil {
		return err
	}
	spans, err := parseSpans(firstNonEmpty(f.hosts, preset.Hosts, []int{1, 2}))
	if err != nil {
		return err
	}
	o := rig.Options{Name: rig.LabName(os.Getpid()), Modes: preset.Modes, Wires: wires, MTUs: preset.MTUs, Spans: spans, Pairs: preset.Pairs, Shared: preset.Shared, Machines: f.machines, Plug: f.plug, ICount: f.icount,
		BridgeNF: f.bridgeNFValue(), Congestion: bench.DefaultCongestionControl, Progress: func(step string) { s.note("%s", step) }}
	if len(f.modes) > 0 {
		o.Modes, o.RequireModes = f.modes, true
	}
	if i := slices.IndexFunc(o.Modes, rig.IsDocker); i >= 0 && f.machines != "" {
		return heddle.Errorf(heddle.BadArgument, "measure mode", o.Modes[i],
			"with --machines there is no such layout: it needs namespaces of this machine", "leave the mode out of --modes")
	}
	if f.icount && f.machines == "" {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--icount", "only an emulated processor's instructions are counted, and the lab hosts are namespaces",
			"add --machines, or count with perf stat")
	}
	if len(f.plug) > 0 {
		if err := checkPlug(f.machines, o); err != nil {
			return err
		}
	}
	if f.congestion != "" {
		o.Congestion = f.congestion
	}
	if len(f.pairs) > 0 {
		o.Pairs = slices.Max(f.pairs)
	}
	r, err := rig.New(cmd.Context(), o)
	if err != nil {
		return err
	}
	defer func() {
		if err := r.Close(context.WithoutCancel(cmd.Context())); err != nil {
			s.printError(err)
		}
	}()
	m, err := f.matrix(cmd, preset, r.Columns)
	if err != nil {
		return err
	}
	m.Machine, m.Emulated = r.Machine()
	m.InstructionTime = r.InstructionTime()
	m.Wires, m.LeftOut = r.UsedWires(), append(m.LeftOut, r.LeftOut...)
	for _, what := range m.LeftOut {
		s.note("left out %s", what)
	}
	report, err := bench.Run(cmd.Context(), m, bench.Options{Out: f.out, Resume: f.resume, Progress: s.stderr})
	if report == nil {
		return err
	}
	if show := s.emit(report.Kind, report, report.Text); show != nil {
		return show
	}
	s.note("figures in %s, the page is report.html", f.out)
	if err != nil {
		return err
	}
	return report.Check(conditions)
}

// checkPlug refuses plugged NICs where there is nothing to plug them into, nobody who has them, or a wire that they would not cross.
func checkPlug(machines string, o rig.Options) error {
	bad := func(cause, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--plug", cause, remedy)
	}
	for i, mode := range o.Plug {
		switch {
		case !slices.Contains(rig.PluggedModes, mode) || slices.Contains(o.Plug[:i], mode):
			return bad(fmt.Sprintf("%q has no plugged NICs, or is given twice", mode), "choose from "+heddle.List(rig.PluggedModes)+", as in --plug="+rig.PluggedModes[0])
		case !slices.Contains(o.Modes, mode):
			return bad("mode "+mode+" is not measured", "add it to --modes")
		}
	}
	switch {
	case machines == "":
		return bad("only virtual machines have slots for NICs, and the lab hosts are namespaces", "add --machines")
	case len(o.Wires) != 1 || o.Wires[0].Name != "":
		return bad("plugged NICs are on a bridge of the hypervisor, and cross no wire", "leave --wire out")
	}
	return nil
}

// checkBenchModes refuses modes that nobody makes, and a choice without the yardstick.
func checkBenchModes(asked []string, noControl bool) error {
	if len(asked) == 0 {
		return nil
	}
	known := []string{bench.Native, bench.DockerLayout, bench.DockerLayoutNF, bench.Overlay + bench.Stack, bench.Reference + bench.Stack, "routed" + bench.Stack}
	known = append(known, modeNames()...)
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return heddle.Errorf(heddle.UnknownMode, "read flag", "--modes", fmt.Sprintf("there is no mode %q to measure", heddle.Clip(name)),
				"choose from "+strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
	}
	if !noControl && !slices.Contains(asked, bench.Control) {
		return heddle.Errorf(heddle.BadArgument, "read flag", "--modes", "without mode "+bench.Control+" there is no yardstick",
			"add "+bench.Control+": --modes "+strings.Join(append([]string{bench.Control}, asked...), ","))
	}
	return nil
}

// firstNonEmpty returns the first list that is not nil: what was asked for, then what the
// preset has, then the default.
func firstNonEmpty[T any](lists ...[]T) []T {
	for _, l := range lists {
		if l != nil {
			return l
		}
	}
	return nil
}

// parseSpans converts numbers of hosts, 1 and 2, to spans.
func parseSpans(hosts []int) (all []string, err error) {
	for _, n := range hosts {
		span, ok := map[int]string{1: bench.SameHost, 2: bench.Across}[n]
		if !ok || slices.Contains(all, span) {
			return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--hosts",
				fmt.Sprintf("%d is neither 1 nor 2, or is given twice", n), "give 1, 2, or 1,2")
		}
		all = append(all, span)
	}
	if all == nil {
		return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--hosts", "the value is empty", "give 1, 2, or 1,2")
	}
	return all, nil
}

// matrix returns the preset, changed by the flags.
func (f benchFlags) matrix(cmd *cobra.Command, preset bench.Preset, columns []bench.Column) (bench.Matrix, error) {
	m := preset.Matrix(columns)
	var err error
	if len(f.probes) > 0 {
		if m.Probes, err = bench.ProbesNamed(f.probes...); err != nil {
			return m, err
		}
		err = bench.CheckTools(m.Probes)
	} else {
		all := m.Probes
		if m.Probes, m.LeftOut = bench.Present(all); len(m.Probes) == 0 {
			err = bench.CheckTools(all)
		}
	}
	if err != nil {
		return m, err
	}
	changed := cmd.Flags().Changed
	if changed("sizes") {
		m.Sizes = f.sizes
	}
	if changed("values") {
		m.Values = f.values
	}
	if changed("clients") {
		m.Clients = f.clients
	}
	if changed("pairs") {
		m.PairCounts = f.pairs
	}
	if changed("rounds") {
		m.Rounds = f.rounds
	}
	if changed("duration") {
		m.Duration = f.duration
	}
	if changed("load") {
		m.Load = f.load
	}
	if changed("seed") {
		m.Seed = f.seed
	}
	m.BridgeNF = f.bridgeNFValue()
	if f.placement != "" {
		m.Placement = f.placement
	}
	if f.congestion != "" {
		m.CongestionControl = f.congestion
	}
	return m, nil
}

func presetNames() (all []string) {
	for _, p := range bench.Presets() {
		all = append(all, p.Name)
	}
	return all
}

// presetList is a sentence for the help.
func presetList() string {
	var all []string
	for _, p := range bench.Presets() {
		all = append(all, p.Name+" ("+p.Summary+")")
	}
	return strings.Join(all, ",\n")
}

// bridgeNFValue is bridge-nf-call-iptables of the lab hosts; "" if br_netfilter is not
// loaded.
func (f benchFlags) bridgeNFValue() string {
	if _, err := os.Stat("/proc/sys/net/bridge"); err != nil {
		return ""
	}
	if f.bridgeNF {
		return "1"
	}
	return "0"
}
