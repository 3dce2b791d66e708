package reconcile

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestPart: the status has a line about dockerd only where one answers, or should.
func TestPart(t *testing.T) {
	away, other := heddle.Finding{Kind: kindUnreachable, Object: "dockerd", Detail: "no such file"}, heddle.Finding{Kind: kindMissing, Object: "network web", Detail: "refused"}
	for _, c := range []struct {
		answers     bool
		findings    []heddle.Finding
		state, text string
	}{
		{false, nil, "", ""},
		{true, nil, "ok", "has the cluster's networks"},
		{false, []heddle.Finding{away}, "warn", "does not answer"},
		{true, []heddle.Finding{other}, "warn", "1 network not in line: network web: refused"},
		{true, []heddle.Finding{other, other}, "warn", "2 networks not in line"},
	} {
		if got := partOf(c.answers, c.findings); got.State != c.state || !strings.HasPrefix(got.Detail, c.text) || (got.Name == "") != (c.state == "") {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
