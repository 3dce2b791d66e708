package main

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
)

// defaultLab is the default name of a lab.
const defaultLab = "lab"

func newLab(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "lab", Short: "Labs: several hosts on this machine", GroupID: groupLabs,
		Long: "A lab is several hosts on this machine, joined by a switch: each has its own\nnetwork, processes, host name and folders, and an agent unless told otherwise.\nLabs need root."},
		newLabUp(s), newLabList(s), newLabExec(s), newLabFault(s), newLabDown(s))
}

func newLabList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List the labs",
		Example: "  heddle lab list",
		RunE: func(*cobra.Command, []string) error {
			all, err := lab.List(lab.DefaultDir)
			if err != nil {
				return err
			}
			return s.emit("LabList", listOf(all), func(w io.Writer) error { return s.labTable(w, all) })
		},
	}
}

func (s *session) labTable(w io.Writer, all []*lab.Lab) error {
	if len(all) == 0 {
		s.note("no labs")
		return nil
	}
	var rows [][]string
	for _, l := range all {
		state := s.colour(w, green, "up")
		if !l.Alive() {
			state = s.colour(w, red, "broken")
		} else if crashed := l.Crashed(); len(crashed) > 0 {
			state = s.colour(w, red, "up, relay crashed: "+strings.Join(crashed, ", "))
		}
		rows = append(rows, []string{l.Name, state, fmt.Sprint(len(l.Hosts)), hostKinds(l), formatBytes(l.Topology.MTU), bitRate(l.Topology.Rate), formatTime(l.Created)})
	}
	return writeTable(w, s.width(), []string{"lab", "state", "hosts", "kind", "mtu", "rate", "created"}, rows)
}

// hostTable shows the hosts of a lab.
func (s *session) hostTable(w io.Writer, l *lab.Lab) error {
	var rows [][]string
	for _, h := range slices.Concat(l.Hosts, l.Routers) {
		rows = append(rows, []string{h.Name, formatAddr(h.Addr4), formatAddr(h.Addr6), hostKind(h), h.Socket})
	}
	return writeTable(w, s.width(), []string{"host", "ipv4", "ipv6", "kind", "agent's socket"}, rows)
}

// hostKind says whether a host is made of namespaces or is a virtual machine.
func hostKind(h *lab.Host) string {
	switch {
	case h.Machine == "":
		return "namespaces"
	case h.Emulated():
		return "machine, Linux " + h.Machine + ", emulated (" + h.Accelerator + ")"
	}
	return "machine, Linux " + h.Machine + " (" + h.Accelerator + ")"
}

// hostKinds lists the kinds of a lab's hosts.
func hostKinds(l *lab.Lab) string {
	var all []string
	for _, h := range slices.Concat(l.Hosts, l.Routers) {
		if kind := hostKind(h); !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return strings.Join(all, "; ")
}

// formatAddr returns "" for the zero address.
func formatAddr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// labRemoval is the output document of lab down.
type labRemoval struct {
	Name   string   `json:"name"`
	Folder string   `json:"folder"`
	Hosts  []string `json:"hosts"`
}

func newLabDown(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "down [NAME]", Args: withArgs("[NAME]"), ValidArgsFunction: s.completeFrom(s.labNames),
		Short: "Remove a lab",
		Long: "down ends all processes of a lab's hosts and removes its folder, with all that the\n" +
			"hosts have written.",
		Example: "  heddle lab down --dry-run\n  heddle lab down\n  heddle lab down small",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := defaultLab
			if len(args) > 0 {
				name = args[0]
			}
			l, err := lab.Load(lab.DefaultDir, name)
			if err != nil {
				return err
			}
			r := labRemoval{name, l.Folder(), []string{}}
			for _, h := range slices.Concat(l.Hosts, l.Routers) {
				r.Hosts = append(r.Hosts, h.Name)
			}
			if dryRun {
				return s.emitDone("LabRemoval", r, "would remove lab %s (%s), with all processes of its hosts and folder %s", name, cmp.Or(heddle.List(r.Hosts), "no hosts"), r.Folder)
			}
			defer s.showProgress("removing the lab")()
			if err := l.Down(cmd.Context()); err != nil {
				return err
			}
			return s.emitDone("LabRemoval", r, "lab %s removed", name)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed, and change nothing")
	return cmd
}
