package heddle

import (
	"errors"
	"fmt"
	"testing"
)

func TestCheckBatch(t *testing.T) {
	of := func(n int) (all []AttachRequest) {
		for i := range n {
			all = append(all, AttachRequest{ID: EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"}})
		}
		return all
	}
	twice := append(of(3), of(1)...)
	otherInterface := append(of(3), AttachRequest{ID: EndpointID{Container: "c0", IfName: "eth1"}})
	dry := of(2)
	dry[1].DryRun = true
	for _, c := range []struct {
		name  string
		batch []AttachRequest
		want  Code
	}{
		{"none", nil, ""}, {"as many as may be", of(MaxBatch), ""}, {"one more", of(MaxBatch + 1), TooMuch},
		{"one endpoint twice", twice, BadArgument}, {"two interfaces", otherInterface, ""}, {"a dry run", dry, BadArgument},
	} {
		if err := CheckBatch(c.batch); (err == nil) != (c.want == "") || err != nil && !errors.Is(err, c.want.Sentinel()) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
