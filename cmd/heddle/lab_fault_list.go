package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
)

// faultDocument is what "lab fault list" prints.
type faultDocument struct {
	lab.Faults
	// Crashed are the wires whose relay has crashed; Relays has the counts of the others.
	Crashed []string               `json:"crashed,omitempty"`
	Relays  map[string]relayCounts `json:"relays,omitempty"`
}

type relayCounts struct {
	Out impair.Count `json:"out"`
	In  impair.Count `json:"in"`
}

func (f *faults) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List what is broken, and what relays did",
		Example: "  heddle lab fault list",
		RunE: func(*cobra.Command, []string) error {
			l, err := lab.Load(lab.DefaultDir, f.lab)
			if err != nil {
				return err
			}
			d := faultDocument{Faults: l.Faults(), Crashed: l.Crashed(), Relays: map[string]relayCounts{}}
			for name := range d.Wires {
				if out, in, err := l.Counts(name); err == nil {
					d.Relays[name] = relayCounts{out, in}
				}
			}
			return f.emit("LabFaults", d, func(w io.Writer) error { return f.faultTable(w, d) })
		},
	}
}

func (f *faults) faultTable(w io.Writer, d faultDocument) error {
	var rows [][]string
	for _, c := range d.Cuts {
		rows = append(rows, []string{orEverybody(c.From) + " → " + orEverybody(c.To), "cut", ""})
	}
	for _, name := range sortedKeys(d.Wires) {
		rows = append(rows, f.wireRows(w, name, d)...)
	}
	for _, host := range sortedKeys(d.Paused) {
		rows = append(rows, []string{host, "paused: " + d.Paused[host], ""})
	}
	for _, host := range sortedKeys(d.Clocks) {
		rows = append(rows, []string{host, "clock " + d.Clocks[host].String() + " ahead", ""})
	}
	if len(rows) == 0 {
		f.note("no faults")
		return nil
	}
	return writeTable(w, f.width(), []string{"where", "fault", "frames"}, rows)
}

func (f *faults) wireRows(w io.Writer, name string, d faultDocument) (rows [][]string) {
	at := d.Wires[name]
	for _, way := range []struct {
		name string
		impair.Impairment
		impair.Count
	}{{"out of ", at.Out, d.Relays[name].Out}, {"into ", at.In, d.Relays[name].In}} {
		if way.Impairment == (impair.Impairment{}) {
			continue
		}
		frames := formatFrames(way.Count)
		if slices.Contains(d.Crashed, name) {
			frames = f.colour(w, red, "relay crashed")
		}
		rows = append(rows, []string{way.name + name, way.Impairment.String() + fmt.Sprint(", seed ", way.Seed), frames})
	}
	if at.Rate != 0 {
		rows = append(rows, []string{name, "rate " + bitRate(at.Rate), ""})
	}
	if at.MTU != 0 {
		rows = append(rows, []string{name, "MTU " + formatBytes(at.MTU) + map[bool]string{true: ", hidden"}[at.Hidden], ""})
	}
	return rows
}

func formatFrames(c impair.Count) string {
	words := []string{fmt.Sprint(c.Frames, " passed")}
	for _, s := range []struct {
		name  string
		count uint64
	}{{"lost", c.Lost}, {"doubled", c.Duplicated}, {"late", c.Reordered}, {"corrupt", c.Corrupted},
		{"spoilt", c.Spoiled}, {"too many", c.Overflown}, {"refused", c.Refused}} {
		if s.count != 0 {
			words = append(words, fmt.Sprint(s.count, " ", s.name))
		}
	}
	return strings.Join(words, ", ")
}

func orEverybody(name string) string {
	if name == "" {
		return "everybody"
	}
	return name
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
