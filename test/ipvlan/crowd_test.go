package ipvlan_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// readers is a crowd of people who read and talk.
const readers = `
crowd: readers
users: 6
clock: {start: "Mon 09:00", length: 5s}
personas:
  reader: {share: 100%, does: {read: 15/m, talk: 10/m}}
behaviours:
  read:
    start: page
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, more: {count: 3, receives: 2KB}, connections: 2, expect: 50ms, next: {end: 1}}
  talk:
    start: call
    states:
      call: {do: voice.call, sends: 160B, receives: 160B, every: 20ms, lasts: 500ms, next: {end: 1}}
`

// TestCrowd: people fare on ipvlan beside bridge, by the same plan. An emulated processor makes the crowd late, so its rounds
// need not be valid.
func TestCrowd(t *testing.T) {
	if !vm.InGuest() {
		t.Skip("only in guests: this kernel may have no ipvlan")
	}
	folder := t.TempDir()
	file, out := filepath.Join(folder, "readers.yaml"), filepath.Join(folder, "report.json")
	cell.Must(t, os.WriteFile(file, []byte(readers), 0o600))
	said, failed := exec.Command(cell.Build(t, "heddle"), "crowd", "run", file, "--modes", "bridge,ipvlan", "--out", out, "-o", "json").CombinedOutput()
	r, err := report.Read(out)
	if err != nil {
		t.Fatalf("%v: %v: %s", err, failed, said)
	}
	for _, mode := range []string{"bridge", "ipvlan"} {
		if len(r.Of(mode)) != 1 {
			t.Fatalf("mode %s was not played: %v: %s", mode, failed, said)
		}
		one := r.Of(mode)[0]
		sum := one.Sessions()
		if text, _ := json.Marshal(one); sum.Intended == 0 || sum.Achieved != sum.Intended || one.Calls.Count == 0 || one.Actions["dns.query"].Count == 0 {
			t.Errorf("%s: %s", mode, text)
		}
	}
	if _, err := os.Stat(lab.DefaultDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of labs is left: %v", err)
	}
}
