package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
)

// needPrograms skips where the tools of the named packages are not installed.
func needPrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
}

// layoutScript measures beside Docker's layout, and looks at the layout meanwhile.
const layoutScript = `set -e
heddle bench --modes host,docker-overlay --probes ping --rounds 8 --duration 1s --out out 2> bench.log > report.txt & bench=$!
trap 'kill $bench 2> /dev/null || true; wait $bench || true; cat bench.log' EXIT
on() { heddle lab exec --lab bench-$bench "$@"; }
layout() { on docker2 -- ip -n 1-docker "$@"; }
for i in $(seq 600); do
	kill -0 $bench
	sleep 0.1
	grep -q 'round 1: ' bench.log || continue # until then the lab is being made
	layout -s -j link show vxlan0 > stats.json 2> /dev/null || true
	grep -q '"rx":{"bytes":[1-9]' stats.json && break
done
echo "what arrives comes through the device:"; cat stats.json
grep -q '"rx":{"bytes":[1-9]' stats.json
layout -d link show vxlan0 > vxlan; cat vxlan
grep -q 'mtu 1450 .*master br0' vxlan
grep -q 'vxlan id 4097 ' vxlan
for word in 'dstport 4789' proxy l2miss l3miss; do grep -q " $word" vxlan; done
on docker2 -- bridge -n 1-docker fdb show dev vxlan0 > fdb; cat fdb
grep -q '^02:42:0a:c9:00:0a dst 172.31.240.13 .*self permanent' fdb
layout neigh show dev vxlan0 > neigh; cat neigh
grep -q '^10.201.0.10 lladdr 02:42:0a:c9:00:0a PERMANENT' neigh
on docker2 -- sh -c '! pgrep heddled'
trap - EXIT
wait $bench || { cat bench.log; exit 1; }
cat report.txt
grep -q 'not its binary' report.txt
grep -q '"docker-overlay/across"' out/report.json
grep -c '^docker-overlay,' out/samples.csv
grep -q 'not its binary' out/report.html
heddle lab list
heddle lab list | grep bench && exit 1
exit 0
`

// TestDockerLayout: the layout is there while it is measured, is Docker's in what
// matters, carries the packets, and is gone with the rig.
func TestDockerLayout(t *testing.T) {
	soak.Turn(t, 2)
	needPrograms(t, "taskset", "ping", "bridge", "pgrep")
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if alone(t) {
		shell(t, layoutScript)
	}
}

// guideBlock finds the named blocks of commands in the guide.
var guideBlock = regexp.MustCompile("(?s)```sh (\\S+)\n(.*?)```")

// TestBenchGuide runs the guide's named blocks as they are printed, one after the
// other in one folder; the others take minutes to hours.
func TestBenchGuide(t *testing.T) {
	soak.Turn(t, 0)
	needPrograms(t, "taskset", "ping", "iperf3")
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	text, err := os.ReadFile("../../docs/guides/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	script, found := "set -ex\n", 0
	for _, block := range guideBlock.FindAllStringSubmatch(string(text), -1) {
		script += block[2]
		found++
	}
	if found < 2 {
		t.Fatalf("%d named blocks in the guide", found)
	}
	if alone(t) {
		shell(t, script)
	}
}
