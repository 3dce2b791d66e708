package agent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/names"
)

const partsNetwork = "00000000000000a1"

// partsTables are the tables of a host with one network without endpoints, with their files in a folder.
func partsTables(t *testing.T, dir string) *nameTables {
	t.Helper()
	tables := newNameTables()
	tables.dir, tables.log = dir, slog.New(slog.DiscardHandler)
	tables.records = newRecords(newWantedObjects(), tables)
	tables.networks = newRegister(newWantedObjects(), reporter{log: events.NewLog()}, tables.again)
	tables.networks.put(&network{Network: heddle.Network{ID: partsNetwork, Name: "many"}})
	if err := tables.open(); err != nil {
		t.Fatal(err)
	}
	return tables
}

func partsRecord(i int) record {
	id := heddle.EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"}
	return record{Endpoint: heddle.Endpoint{ID: id, Network: partsNetwork, Name: fmt.Sprint("n", i),
		Addrs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 16)}}}
}

// readParts returns a folder's files with what tells a file from the one that it has replaced, and the networks in them.
func readParts(t *testing.T, dir string) (files map[string]os.FileInfo, joined []names.Network) {
	t.Helper()
	files = map[string]os.FileInfo{}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []names.Network
	for _, path := range paths {
		if files[path], err = os.Stat(path); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		var n names.Network
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, n)
	}
	return files, names.JoinAll(all)
}

// saysEndpoints fails unless the files have one network with these endpoints, and so has what is in memory.
func saysEndpoints(t *testing.T, tables *nameTables, want, files int) map[string]os.FileInfo {
	t.Helper()
	if err := tables.update(); err != nil {
		t.Fatal(err)
	}
	there, joined := readParts(t, tables.dir)
	if len(there) != files {
		t.Errorf("%d files, want %d", len(there), files)
	}
	inMemory, _ := tables.all()
	for _, all := range [][]names.Network{joined, inMemory} {
		if len(all) != 1 || all[0].Name != "many" || len(all[0].Endpoints) != want {
			t.Fatalf("%d networks, the first with %d endpoints, want %d", len(all), len(all[0].Endpoints), want)
		}
		slices.SortFunc(all[0].Endpoints, func(a, b names.Endpoint) int { return strings.Compare(a.ID.Container, b.ID.Container) })
		if got := slices.CompactFunc(all[0].Endpoints, names.Endpoint.Equal); len(got) != want {
			t.Errorf("%d of %d endpoints are different", len(got), want)
		}
	}
	return there
}

// TestNameParts: with many endpoints, a change writes one small file, whichever way the number goes.
func TestNameParts(t *testing.T) {
	tables := partsTables(t, t.TempDir())
	for i := range fewNames {
		tables.records.add(partsRecord(i), "")
	}
	saysEndpoints(t, tables, fewNames, 1)
	tables.records.add(partsRecord(fewNames), intentAttach)
	before := saysEndpoints(t, tables, fewNames+1, nameParts+1)
	renamed := partsRecord(7)
	renamed.Endpoint.Name = "other"
	tables.records.put(renamed)
	after := saysEndpoints(t, tables, fewNames+1, nameParts+1)
	var written []string
	for path, info := range after {
		if !os.SameFile(info, before[path]) {
			written = append(written, path)
		}
	}
	if want := tables.partPath(partsNetwork, namePart(renamed.Endpoint.ID)); !slices.Equal(written, []string{want}) {
		t.Errorf("written: %v, want %s", written, want)
	}
	if all, _ := tables.all(); !slices.ContainsFunc(all[0].Endpoints, func(e names.Endpoint) bool { return e.Name == "other" }) {
		t.Error("the new name is not there")
	}
	tables.records.setPending(renamed.Endpoint.ID, intentDetach)
	saysEndpoints(t, tables, fewNames, nameParts+1)
	for i := range fewNames + 1 {
		if i != 7 && i >= fewNames/4 {
			tables.records.remove(partsRecord(i))
		}
	}
	saysEndpoints(t, tables, fewNames/4-1, 1)
}

// TestNamePartsOfEarlierAgent: parts that an earlier agent has left go, or are written anew.
func TestNamePartsOfEarlierAgent(t *testing.T) {
	dir := t.TempDir()
	tables := partsTables(t, dir)
	for i := range fewNames + 1 {
		tables.records.add(partsRecord(i), "")
	}
	saysEndpoints(t, tables, fewNames+1, nameParts+1)
	again := partsTables(t, dir)
	for i := range fewNames + 2 {
		again.records.add(partsRecord(i), "")
	}
	saysEndpoints(t, again, fewNames+2, nameParts+1)
	few := partsTables(t, dir)
	few.records.add(partsRecord(0), "")
	saysEndpoints(t, few, 1, 1)
}

// TestNamePartsGo: the files of a network that is gone go, however many there are.
func TestNamePartsGo(t *testing.T) {
	tables := partsTables(t, t.TempDir())
	for i := range fewNames + 1 {
		tables.records.add(partsRecord(i), "")
	}
	saysEndpoints(t, tables, fewNames+1, nameParts+1)
	tables.networks = newRegister(newWantedObjects(), reporter{log: events.NewLog()}, tables.again)
	if err := tables.update(); err != nil {
		t.Fatal(err)
	}
	if files, _ := readParts(t, tables.dir); len(files) > 0 || len(tables.own) > 0 {
		t.Errorf("%d files and %d networks are left", len(files), len(tables.own))
	}
}
