package main

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/test/soak"
)

// TestCrowdHosts plays twice on an overlay network of three hosts, which have the users in turn.
func TestCrowdHosts(t *testing.T) {
	soak.Turn(t, 0)
	if !alone(t) {
		return
	}
	folder := t.TempDir()
	out, book, seen := filepath.Join(folder, "report.json"), filepath.Join(folder, "diary.jsonl"), filepath.Join(folder, "seen.pcapng")
	run := runCrowd(t, scenarioFile(t, asking), "--hosts", "3", "--rounds", "2", "--out", out, "--diary", book, "--capture", seen)
	run.ends(t)
	r, err := report.Read(out)
	if err != nil || r.Hosts != 3 || len(r.Rounds) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, one := range r.Rounds {
		checkRound(t, one, 5)
	}
	checkCaptured(t, r, book, seen)
	if shown := call(t, "crowd", "report", out); !strings.Contains(shown.stdout, "namespaces on 3 hosts") { // a late crowd's is an error, too
		t.Error(shown.stdout, shown.stderr)
	}
	checkTurns(t, book)
	nothingLeft(t)
}

// checkTurns: users who follow each other are on different hosts, and talk to each other. A block of addresses belongs to one host.
func checkTurns(t *testing.T, book string) {
	t.Helper()
	subnet := netip.MustParsePrefix("10.128.0.0/16")
	block := func(a netip.AddrPort) netip.Prefix { return heddle.BlockOf(subnet, a.Addr()) }
	homes, calls := map[netip.Prefix]int{}, map[[2]netip.Prefix]bool{}
	for l, err := range diary.Read(book) {
		if err != nil {
			t.Fatal(err)
		}
		f := l.Flow
		if f == nil || !f.From.Addr().Is4() {
			continue
		}
		if turn, known := homes[block(f.From)]; known && turn != f.User%3 {
			t.Errorf("user %d is on the host of user %d", f.User, turn)
		}
		homes[block(f.From)] = f.User % 3
		if f.Do == "voice.call" && block(f.From) != block(f.To) {
			calls[[2]netip.Prefix{block(f.From), block(f.To)}] = true
		}
	}
	if len(homes) != 3 || len(calls) < 2 {
		t.Errorf("users are in blocks %v, and calls between hosts are %v", homes, calls)
	}
}
