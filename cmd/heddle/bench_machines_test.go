package main

import (
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
)

// machinesScript measures on NICs that are plugged into running machines, and counts instructions.
const machinesScript = `set -e
TMPDIR=$PWD heddle bench --preset ecs-multinic --machines 6.12 --plug=direct,ipvlan,routed --icount --modes host,direct,ipvlan,routed --hosts 2 --pairs 1 --probes sockperf-throughput,redis-set --values 1024 --rounds 1 --duration 1s --out out > report.txt 2> bench.log & bench=$!
trap 'kill $bench 2> /dev/null || true; wait $bench || true; cat bench.log' EXIT
for i in $(seq 3000); do
	kill -0 $bench
	sleep 0.1
	grep -q 'round 1: ' bench.log && break # until then the lab is being made
done
heddle lab exec --lab bench-$bench hv -- heddle nic list > nics; cat nics
grep -q host1 nics
grep -q host2 nics
if ls -d heddle-bench-nics*; then exit 1; fi # the grants are secrets
trap - EXIT
wait $bench || { cat bench.log report.txt; exit 1; }
cat report.txt
grep -q 'direct/across: way a NIC of its own, plugged into the running machine' report.txt
grep -q 'ipvlan/across: way a NIC that the containers share, plugged in' report.txt
heddle bench report out --fail-if 'instructions{mode=direct} < 1000' > again.txt
grep -q 'emulated: it works, no speed' again.txt
if heddle bench report out --fail-if 'instructions{mode=direct} > 1000' > again.txt; then exit 1; fi
if heddle lab list | grep bench; then exit 1; fi
`

// TestSoakBenchMachines: containers of modes direct, ipvlan and routed are on NICs that the hypervisor plugged in, each cell says that it is emulated and how
// many instructions a packet and a request took, and nothing is left.
func TestSoakBenchMachines(t *testing.T) {
	soak.Need(t, "two emulated machines and sixteen runs take minutes")
	needPrograms(t, "taskset", "sockperf", "redis-server", "redis-benchmark")
	if reason := lab.MissingForMachines("6.12"); reason != "" {
		t.Skip(reason)
	}
	if alone(t) {
		shell(t, machinesScript)
	}
}
