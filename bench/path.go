package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Path is the device through which a column's client sends.
type Path struct {
	Device string `json:"device"`
	// MTU in bytes.
	MTU int `json:"mtu"`
	// Offloads are the active offloads among those that decide how large a packet the path carries
	// and who computes checksums; "unknown" without ethtool.
	Offloads string `json:"offloads"`
}

// readPaths reads the path of each column's first client. What cannot be read is left out: the
// figures do not depend on it.
func readPaths(ctx context.Context, m Matrix) map[string]Path {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	all := map[string]Path{}
	for _, c := range m.Columns {
		if p, ok := readPath(ctx, c.Pairs[0]); ok {
			all[c.name()] = p
		}
	}
	return all
}

func readPath(ctx context.Context, p Pair) (Path, bool) {
	var routes []struct{ Dev string }
	if json.Unmarshal(p.Client.output(ctx, "ip", "-j", "route", "get", p.target()), &routes) != nil || len(routes) == 0 {
		return Path{}, false
	}
	out := Path{Device: routes[0].Dev, Offloads: "unknown"}
	var links []struct{ MTU int }
	if json.Unmarshal(p.Client.output(ctx, "ip", "-j", "link", "show", "dev", out.Device), &links) == nil && len(links) > 0 {
		out.MTU = links[0].MTU
	}
	if features := p.Client.output(ctx, "ethtool", "-k", out.Device); len(features) > 0 {
		out.Offloads = readOffloads(string(features))
	}
	return out, true
}

func (p Endpoint) output(ctx context.Context, argv ...string) []byte {
	cmd, err := p.Command(ctx, argv...)
	if err != nil {
		return nil
	}
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return out
}

var (
	offloadLine  = lazyregexp.New(`(?m)^([a-z-]+): (on|off)`)
	offloadNames = map[string]string{
		"rx-checksumming": "rx checksum", "tx-checksumming": "tx checksum", "scatter-gather": "scatter-gather", "tcp-segmentation-offload": "TSO",
		"generic-segmentation-offload": "GSO", "generic-receive-offload": "GRO", "large-receive-offload": "LRO",
	}
)

// readOffloads returns the active offloads in the output of "ethtool -k", in its order.
func readOffloads(text string) string {
	var on []string
	for _, line := range offloadLine.FindAllStringSubmatch(text, -1) {
		if name, wanted := offloadNames[line[1]]; wanted && line[2] == "on" {
			on = append(on, name)
		}
	}
	if on == nil {
		return "none"
	}
	return strings.Join(on, ", ")
}

// paths are shown apart from the other facts: the wires, their measured capacities, and the device
// of each column.
func (v *view) paths() []fact {
	var all []fact
	for _, w := range v.Method.Wires {
		all = append(all, fact{wireWords(w.Name), fmt.Sprintf("MTU %d; on: %s", w.MTU, onWords(w.Offloads))})
	}
	for _, c := range v.Method.Capacities {
		what := fmt.Sprintf("capacity, %s, %s, %s", spanText(c.Span), sizeText(c.Size), wireWords(c.Wire))
		all = append(all, fact{what, fmt.Sprintf("%s packets/s (%s)", number(c.PerSecond), c.Mode)})
	}
	for _, c := range v.Columns {
		if p, ok := v.Environment.Paths[columnName(c.Mode, c.Span, c.Wire)]; ok {
			all = append(all, fact{v.columnWords(c), fmt.Sprintf("%s, MTU %d; on: %s", p.Device, p.MTU, p.Offloads)})
		}
	}
	return all
}

func onWords(features map[string]bool) string {
	var on []string
	for _, name := range sortedKeys(features) {
		if features[name] {
			on = append(on, name)
		}
	}
	if on == nil {
		return "none"
	}
	return strings.Join(on, ", ")
}

func (v *view) columnWords(c ColumnInfo) string {
	text := c.Mode + ", " + spanText(c.Span)
	if v.several && c.Span != SameHost {
		text += ", " + wireWords(c.Wire)
	}
	return text
}

// wireNotes returns how each wire differs from a cable.
func (v *view) wireNotes() []fact {
	var all []fact
	for _, w := range v.Method.Wires {
		all = append(all, fact{wireWords(w.Name), w.Note})
	}
	return all
}
