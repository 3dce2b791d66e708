package hardship_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// smallDisks mounts a small file system on the state and the run folder.
func smallDisks(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"state", "run"} {
		path := filepath.Join(dir, sub)
		cell.Must(t, unix.Mount("small", path, "tmpfs", 0, "size=4m,mode=755"))
		t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
	}
}

// fill leaves no byte on the file system; the function gives all back.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	cell.Must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return func() { os.Remove(path) }
}

// TestDiskFull: without room for the ledger nothing new is made, what runs goes
// on, and a container can go all the same.
func TestDiskFull(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		smallDisks(t, dir)
		a := cell.Start(t, dir)
		createNetwork(t, a, mode, 0)
		attach(t, a, 0, "one")
		two := attach(t, a, 0, "two")
		attach(t, a, 0, "goes")
		cell.Netns(t, "new")
		end := startPing(t, "one", two)

		emptyState, emptyRun := fill(t, filepath.Join(dir, "state")), fill(t, filepath.Join(dir, "run"))
		wantCode(t, until(func(i int) error {
			_, _, err := a.CreateNetwork(ctx, network(mode, i), false)
			return err
		}), heddle.LedgerFull, heddle.Failed)
		extra := attachUntilFull(t, a)
		before := settled(t)
		_, err := tryAttach(a, 0, "new")
		wantCode(t, err, heddle.LedgerFull, heddle.Failed)
		unchanged(t, before)

		detach(t, a, "goes")
		if out := cell.Sh(t, "ip -n goes -br link | grep -v ^lo || true"); out != "" {
			t.Errorf("left in the pod that went: %s", out)
		}
		a.AuditEmpty(t)
		end()

		emptyState()
		emptyRun()
		_, err = tryAttach(a, 0, "new")
		cell.Must(t, err)
		a.AuditEmpty(t)
		a.Kill()
		a = cell.Start(t, dir)
		a.AuditEmpty(t)
		wantEndpoints(t, a, 3+extra)
	})
}

// until repeats an operation, which may find a last free page in the file, until
// it fails.
func until(f func(i int) error) (err error) {
	for i := 1; i < 60 && err == nil; i++ {
		err = f(i)
	}
	return err
}

// attachUntilFull uses up the room that is left inside the ledger's file.
func attachUntilFull(t *testing.T, a *cell.Agent) (attached int) {
	t.Helper()
	err := until(func(i int) error {
		pod := fmt.Sprint("extra", i)
		cell.Netns(t, pod)
		_, err := tryAttach(a, 0, pod)
		if err == nil {
			attached++
		}
		return err
	})
	wantCode(t, err, heddle.LedgerFull, heddle.Failed)
	return attached
}

func wantEndpoints(t *testing.T, a *cell.Agent, want int) {
	t.Helper()
	all, err := a.Endpoints(ctx)
	cell.Must(t, err)
	if len(all) != want {
		t.Errorf("%d endpoints, want %d: %v", len(all), want, all)
	}
}

// TestGoneWhileFull: an endpoint that went while the record could not be written
// does not come back with the next start, and its address can be another's.
func TestGoneWhileFull(t *testing.T) {
	cell.Need(t)
	dir := folder(t)
	smallDisks(t, dir)
	a := cell.Start(t, dir)
	createNetwork(t, a, "bridge", 0)
	goes := attach(t, a, 0, "goes")
	empty := fill(t, filepath.Join(dir, "run"))
	attachUntilFull(t, a)
	detach(t, a, "goes")
	empty()
	cell.Netns(t, "heir")
	_, err := a.Attach(ctx, heddle.AttachRequest{Network: "net0", ID: endpointID("heir"), Netns: "/run/netns/heir", IPs: addressesOf(goes)})
	cell.Must(t, err)
	a.Kill()
	a = cell.Start(t, dir)
	a.AuditEmpty(t)
	if _, err := a.Endpoint(ctx, endpointID("goes")); err == nil {
		t.Error("the endpoint that went is back")
	}
}

// TestAllGoWhileFull: on a full disk every container can go, and none comes back.
func TestAllGoWhileFull(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		smallDisks(t, dir)
		a := cell.Start(t, dir)
		createNetwork(t, a, mode, 0)
		for i := range 40 {
			attach(t, a, 0, fmt.Sprint("goes", i))
		}
		fill(t, filepath.Join(dir, "state"))
		fill(t, filepath.Join(dir, "run"))
		extra := attachUntilFull(t, a)
		for i := range 40 {
			detach(t, a, fmt.Sprint("goes", i))
		}
		wantEndpoints(t, a, extra)
		a.Kill()
		a = cell.Start(t, dir)
		a.AuditEmpty(t)
		wantEndpoints(t, a, extra)
	})
}

// TestStartOnFullDisk: a full disk does not keep the agent from coming back.
func TestStartOnFullDisk(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		smallDisks(t, dir)
		a := cell.Start(t, dir)
		createNetwork(t, a, mode, 0)
		attach(t, a, 0, "one")
		end := startPing(t, "one", attach(t, a, 0, "two"))
		fill(t, filepath.Join(dir, "state"))
		fill(t, filepath.Join(dir, "run"))
		attachUntilFull(t, a)
		before := settled(t)
		a.Kill()
		a = cell.Start(t, dir)
		unchanged(t, before)
		end() // before its target goes
		detach(t, a, "two")
	})
}
