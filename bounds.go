package heddle

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle/lazyregexp"
)

// The most that a record may hold. Every agent makes every shared network in its
// kernel: without bounds, one record would keep all of them busy.
const (
	// MaxRecord is the maximum length of a record in the store, in bytes of JSON. It is
	// checked before the record is parsed.
	MaxRecord = 64 << 10
	// MaxAllow is the maximum number of networks in a network's Allow list.
	MaxAllow = 256
	// MaxRanges, MaxReserved and MaxOptions bound the lists of a network. MaxOptions
	// applies to each of: options, limits, and Docker's labels, options and pools.
	MaxRanges, MaxReserved, MaxOptions = 64, 1024, 256
	// MaxText bounds every text of a network, in bytes.
	MaxText = 4096
	// MaxPorts is how many ports an endpoint may publish.
	MaxPorts = 4096
)

var networkID = lazyregexp.New(`^[0-9a-f]{16}$`)

// Bounded returns the network without duplicate list entries. It returns an error of
// code TooMuch if the network exceeds a bound, or BadLabel if a label is malformed.
// It checks nothing else.
func Bounded(n Network) (Network, error) {
	for _, list := range []struct {
		what      string
		has, most int
	}{
		{"subnets", len(n.Subnets), 2}, {"gateways", len(n.Gateways), 2}, {"limits", len(n.Limits), MaxOptions},
		{"options", len(n.Options), MaxOptions},
	} {
		if list.has > list.most {
			return n, tooMuch(n, list.what, list.has, list.most)
		}
	}
	err := CheckLabels("network "+Clip(n.Name), n.Labels)
	if err != nil {
		return n, err
	}
	if n.Allow, err = distinct(n, "permissions (allow)", n.Allow, MaxAllow); err != nil {
		return n, err
	}
	if n.Ranges, err = distinct(n, "ranges", n.Ranges, MaxRanges); err != nil {
		return n, err
	}
	if n.Reserved, err = distinct(n, "reserved addresses", n.Reserved, MaxReserved); err != nil {
		return n, err
	}
	for _, id := range n.Allow {
		if !networkID.MatchString(id) {
			return n, Errorf(TooMuch, "check network", Clip(n.Name), Clip(id)+" in the permissions (allow) is not a network's ID",
				"give IDs of 16 hexadecimal digits")
		}
	}
	if err := boundedTexts(n); err != nil {
		return n, err
	}
	if text, err := json.Marshal(n); err != nil || len(text) > MaxRecord {
		return n, tooMuch(n, "bytes", len(text), MaxRecord)
	}
	return n, nil
}

func boundedTexts(n Network) error {
	texts := append(slices.Concat(n.Limits, []string{n.ID, n.Name, n.Mode, n.Parent}), keysAndValues(n.Options)...)
	if d := n.Docker; d != nil {
		for what, has := range map[string]int{"labels": len(d.Labels), "Docker's options": len(d.Options) + len(d.IPAMOptions), "Docker's pools": len(d.Pools)} {
			if has > MaxOptions {
				return tooMuch(n, what, has, MaxOptions)
			}
		}
		texts = slices.Concat(texts, keysAndValues(d.Labels), keysAndValues(d.Options), keysAndValues(d.IPAMOptions))
		for _, p := range d.Pools {
			if len(p.Reserved) > MaxReserved {
				return tooMuch(n, "reserved addresses", len(p.Reserved), MaxReserved)
			}
			texts = append(texts, slices.Collect(maps.Keys(p.Reserved))...)
		}
	}
	for _, s := range texts {
		if len(s) > MaxText {
			return tooMuch(n, "bytes in a text", len(s), MaxText)
		}
	}
	return nil
}

func keysAndValues(m map[string]string) []string {
	return append(slices.Collect(maps.Keys(m)), slices.Collect(maps.Values(m))...)
}

// distinct removes duplicates from a list, and refuses a list that is too long.
func distinct[T string | netip.Prefix | netip.Addr](n Network, what string, all []T, most int) ([]T, error) {
	seen := make(map[T]bool, min(len(all), most))
	var once []T
	for _, x := range all {
		if !seen[x] {
			seen[x] = true
			once = append(once, x)
		}
		if len(once) > most {
			return all, tooMuch(n, what, len(all), most)
		}
	}
	return once, nil
}

func tooMuch(n Network, what string, has, most int) error {
	return Errorf(TooMuch, "check network", Clip(n.Name), fmt.Sprintf("it has %d %s", has, what), fmt.Sprintf("give at most %d", most))
}
