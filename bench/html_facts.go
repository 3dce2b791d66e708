package bench

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/lazyregexp"
)

// fact is a line about the machine or the method.
type fact struct{ Label, Value string }

// facts are what the figures depend on besides the modes, the most important first. A field of the
// report that this page does not know is shown under its own name.
func (v *view) facts() []fact {
	e, m := v.Environment, v.Method
	all := []fact{
		{"Processor", fmt.Sprintf("%s, %d cores", e.CPU, e.Cores)},
		{"Kernel", "Linux " + e.Kernel},
		{"Date", e.Start.Format("2006-01-02 15:04 MST")},
		{"Load before", e.Load},
		{"Steal", v.steal()},
		{"Placement", fmt.Sprintf("%s: clients on CPU %d, servers on CPU %d", m.Placement, m.ClientCPU, m.ServerCPU)},
		{"Congestion control", m.CongestionControl},
		{"Offered load", fmt.Sprintf("%d messages/s, all pairs together", m.Load)},
		{"Rounds", fmt.Sprintf("%d of %g s, %d more dropped", m.Rounds, m.Seconds, m.WarmupRounds)},
		{"Seed", fmt.Sprint(m.Seed)},
		{"bridge-nf-call-iptables", e.BridgeNF},
		{"Tools", tools(e.Tools)},
	}
	all = append(all, fact{"Preset", m.Preset}, fact{"Mitigations", strings.Join(sortedKeys(e.Mitigations), ", ")})
	if v.uses("wrk") || v.uses("redis") {
		all = append(all, fact{"Connections", fmt.Sprintf("%d a pair, in all modes, of wrk and redis-benchmark", m.Clients)})
	}
	all = append(all, otherFacts(e, "start", "kernel", "cpu", "cores", "loadBefore", "bridgeNfCallIptables", "tools", "paths", "stealPercent", "mitigations")...)
	all = append(all, otherFacts(m, "wire", "placement", "clientCPU", "serverCPU", "congestionControl", "rounds", "warmupRounds", "seconds", "loadPerSecond", "seed", "preset", "clients", "wires", "capacities", "leftOut")...)
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

// uses reports whether a probe of that kind ran.
func (v *view) uses(kind string) bool {
	return slices.ContainsFunc(v.Probes, func(p ProbeInfo) bool { return strings.HasPrefix(p.Name, kind) })
}

func tools(versions map[string]string) string {
	var all []string
	for _, name := range sortedKeys(versions) {
		all = append(all, name+" "+versions[name])
	}
	return strings.Join(all, ", ")
}

// steal says which part of the machine's time the hypervisor gave to others. It is not known if the
// samples have the time of virtual machines.
func (v *view) steal() string {
	if v.Method.Machine != "" {
		return ""
	}
	var all []float64
	for _, s := range v.Samples {
		if !s.Warmup && s.Error == "" && s.Seconds > 0 && v.Environment.Cores > 0 {
			all = append(all, 100*s.CPU.Steal/s.Seconds/float64(v.Environment.Cores))
		}
	}
	if all == nil {
		return ""
	}
	return fmt.Sprintf("median %s %%, at most %s %% of a run", number(Median(all)), number(slices.Max(all)))
}

func otherFacts(object any, known ...string) []fact {
	var fields map[string]any
	if json.Unmarshal(must(json.Marshal(object)), &fields) != nil {
		return nil
	}
	var all []fact
	for _, key := range sortedKeys(fields) {
		if !slices.Contains(known, key) {
			all = append(all, flat(words(key), fields[key])...)
		}
	}
	return all
}

// flat writes nested values as one fact each.
func flat(label string, value any) []fact {
	switch x := value.(type) {
	case map[string]any:
		var all []fact
		for _, key := range sortedKeys(x) {
			all = append(all, flat(label+" "+key, x[key])...)
		}
		return all
	case []any:
		var parts []string
		for _, one := range x {
			for _, f := range flat("", one) {
				parts = append(parts, strings.TrimSpace(f.Label+" "+f.Value))
			}
		}
		return []fact{{label, strings.Join(parts, ", ")}}
	case nil:
		return nil
	default:
		return []fact{{label, fmt.Sprint(x)}}
	}
}

var capital = lazyregexp.New(`([a-z0-9])([A-Z])`)

// words makes "governorOfCPU0" readable.
func words(key string) string {
	s := strings.ToLower(capital.ReplaceAllString(key, "$1 $2"))
	return strings.ToUpper(s[:min(1, len(s))]) + s[min(1, len(s)):]
}
