package names_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

func TestForwards(t *testing.T) {
	all, err := names.ParseForwards([]string{"Corp.Example.=10.0.0.53,2001:db8::53", "lab.corp.example=10.0.1.53:5353", "10.in-addr.arpa=[2001:db8::53]:54"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(all), "[{corp.example [10.0.0.53:53 [2001:db8::53]:53]} {lab.corp.example [10.0.1.53:5353]} {10.in-addr.arpa [[2001:db8::53]:54]}]"; got != want {
		t.Errorf("read as %s, want %s", got, want)
	}
	for name, want := range map[string]string{"db.CORP.example": "corp.example", "corp.example": "corp.example", "a.lab.corp.example": "lab.corp.example",
		"1.0.0.10.in-addr.arpa": "10.in-addr.arpa", "xcorp.example": "", "example": "", "": ""} {
		got := ""
		if f := names.ForwardOf(all, name); f != nil {
			got = f.Domain
		}
		if got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
	many := strings.Split(strings.TrimPrefix(strings.Repeat(" 10.0.0.1", 7), " "), " ")
	for _, bad := range [][]string{{""}, {"corp.example"}, {"corp.example="}, {"=10.0.0.1"}, {"a..b=10.0.0.1"}, {"a b=10.0.0.1"}, {"corp=ten"},
		{"corp=10.0.0.1,"}, {"corp=0.0.0.0"}, {"corp=224.0.0.1"}, {"corp=10.0.0.1:0"}, {"app.heddle.internal=10.0.0.1"}, {"heddle.internal=10.0.0.1"},
		{"corp=10.0.0.1", "CORP=10.0.0.2"}, {"corp=" + strings.Join(many, ",")}, {strings.Repeat("a.", 127) + "a=10.0.0.1"}} {
		if _, err := names.ParseForwards(bad); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
