package vm

import (
	"bytes"
	"testing"

	"github.com/heddle-network/heddle/lab/boot"
)

// TestModulesOfKernels holds the default list against the real kernels in the cache.
func TestModulesOfKernels(t *testing.T) {
	kernels := boot.Kernels()
	if len(kernels) == 0 {
		skip(t, boot.MissingKernel(boot.Versions()[0]))
	}
	for _, k := range kernels {
		modules, err := k.Modules(DefaultModules())
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]int{}
		for i, m := range modules {
			at[m.Name] = i
			if bytes.Contains(m.Data, []byte("~Module signature appended~")) {
				t.Errorf("%s: module %s still has its signature", k.Version, m.Name)
			}
		}
		for _, pair := range [][2]string{{"llc", "bridge"}, {"bridge", "br_netfilter"}, {"nf_tables", "nft_ct"}, {"nf_conntrack", "nf_nat"}, {"x_tables", "xt_nat"}} {
			first, ok := at[pair[0]]
			second, ok2 := at[pair[1]]
			if !ok || !ok2 || first > second {
				t.Errorf("%s: want %s before %s, have positions %d (%t) and %d (%t)", k.Version, pair[0], pair[1], first, ok, second, ok2)
			}
		}
	}
}
