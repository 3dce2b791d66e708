package main

import (
	"testing"

	"github.com/heddle-network/heddle/test/soak"
)

// pathsScript runs the rows of the preset paths that no other preset has. A cell that failed on a busy machine
// is run again.
const pathsScript = `set -e
run() {
	heddle bench --preset paths --modes native,host,overlay,overlay-stack,docker-overlay-nf --wire 10g \
		--probes udp-paced,udp-paced-10000,attach --rounds 1 --duration 300ms --load 2000 --out out "$@"
}
run > report.txt || run --resume > report.txt || run --resume > report.txt
cat report.txt
for words in 'Goals, same-core' 'extra CPU per packet over native' '10,000 flows ÷ 1 flow' 'attach, overlay, with the programs'; do grep -q "$words" report.txt; done
# The goals of what was run are measured, in every form of the report.
measured() { grep -E "$1" report.txt | grep -v 'not measured' | grep -qE '(aim|pass|miss)'; }
measured '10,000 flows ÷ 1 flow'
measured 'attach, overlay, with the programs'
grep -q 'TCP request/response ÷ native.*not measured' report.txt
grep -q '"goals": \[' out/report.json
grep -q '<h2>Goals</h2>' out/report.html
heddle bench report out --fail-if 'missed-goals>1000' > /dev/null
heddle bench report out --fail-if 'missed-goals>0' > /dev/null 2> gate && exit 1
grep -q 'goals are missed or not measured' gate
grep -q '^native,across,udp-paced-10000,28,1,10g,' out/samples.csv
heddle lab list
heddle lab list | grep bench && exit 1
exit 0
`

// TestBenchPaths: the preset that holds the fast path against its goals.
func TestBenchPaths(t *testing.T) {
	soak.Turn(t, 1)
	needPrograms(t, "taskset", "iperf3")
	if testing.Short() {
		t.Skip("takes a minute")
	}
	if alone(t) {
		shell(t, pathsScript)
	}
}
