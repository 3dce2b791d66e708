package heddle

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestCheckNames(t *testing.T) {
	label := strings.Repeat("a", MaxNameLabel)
	long := strings.Join([]string{label, label, label, label[:61]}, ".")
	if len(long) != MaxName {
		t.Fatal(len(long))
	}
	for _, good := range []string{"", "web", "WEB", "a.b.c", "_dmarc.x", "my_db", "0", "1.2.3", "xn--bcher-kva", label, long} {
		if got, _, err := CheckNames("c/eth0", good, nil); err != nil || got != strings.ToLower(good) {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	bad := []string{"-a", "a-", "a.-b", "a..b", ".", "a.", ".a", "a b", "a/b", "bücher", "a\n", "10.0.0.1", "fd00::1", label + "a", long + "a"}
	for _, name := range bad {
		if _, _, err := CheckNames("c/eth0", name, nil); !errors.Is(err, BadDNSName.Sentinel()) {
			t.Errorf("name %q: %v", name, err)
		}
		if _, _, err := CheckNames("c/eth0", "", []string{"good", name}); !errors.Is(err, BadDNSName.Sentinel()) {
			t.Errorf("alias %q: %v", name, err)
		}
	}
	if _, _, err := CheckNames("c/eth0", "", []string{""}); !errors.Is(err, BadDNSName.Sentinel()) {
		t.Errorf("an empty alias: %v", err)
	}
	name, aliases, err := CheckNames("c/eth0", "Web", []string{"b", "A", "web", "a"})
	if name != "web" || !slices.Equal(aliases, []string{"a", "b"}) || err != nil {
		t.Error(name, aliases, err)
	}
	var many []string
	for i := range MaxAliases {
		many = append(many, fmt.Sprintf("n%d", i))
	}
	if _, got, err := CheckNames("c/eth0", "web", append(many, many...)); len(got) != MaxAliases || err != nil {
		t.Error(got, err)
	}
	if _, _, err := CheckNames("c/eth0", "web", append(many, "one-more")); !errors.Is(err, TooMuch.Sentinel()) {
		t.Error(err)
	}
}
