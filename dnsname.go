package heddle

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/lazyregexp"
)

// The bounds of an endpoint's names: the bytes of a name and of each label of it (RFC 1035, 2.3.4),
// and how many aliases an endpoint may have.
const MaxName, MaxNameLabel, MaxAliases = 253, 63, 16

// nameLabel is a part of a name between dots: as RFC 1123 has it, with underscores.
var nameLabel = lazyregexp.New(`^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$`)

// CheckNames returns the name and the aliases by which other containers find an endpoint, as they
// are recorded: in small letters, each alias once, in alphabetical order.
func CheckNames(endpoint, name string, aliases []string) (string, []string, error) {
	name = strings.ToLower(name)
	if why := badName(name); name != "" && why != "" {
		return "", nil, malformedName("name", endpoint, name, why)
	}
	var all []string
	for _, alias := range aliases {
		alias = strings.ToLower(alias)
		if why := badName(alias); why != "" {
			return "", nil, malformedName("alias", endpoint, alias, why)
		}
		if alias != name && !slices.Contains(all, alias) {
			all = append(all, alias)
		}
		if len(all) > MaxAliases {
			return "", nil, Errorf(TooMuch, "name endpoint", endpoint, fmt.Sprintf("it has %d aliases", len(aliases)),
				fmt.Sprintf("give at most %d", MaxAliases))
		}
	}
	slices.Sort(all)
	return name, all, nil
}

func malformedName(what, endpoint, name, why string) error {
	return Errorf(BadDNSName, "name endpoint", endpoint, fmt.Sprintf("the %s %q %s", what, Clip(name), why),
		"give labels of letters, digits, '-' and '_', joined by dots, such as web or web.shop")
}

// badName says what is wrong with a name in small letters, "" if nothing is.
func badName(name string) string {
	if len(name) > MaxName {
		return fmt.Sprintf("has %d bytes, and %d are the most", len(name), MaxName)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "is an address"
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "has an empty label"
		case len(label) > MaxNameLabel:
			return fmt.Sprintf("has a label of %d bytes, and %d are the most", len(label), MaxNameLabel)
		case !nameLabel.MatchString(label):
			return "has characters that no name has, or begins or ends a label with '-'"
		}
	}
	return ""
}
