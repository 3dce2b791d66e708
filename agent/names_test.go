package agent

import "testing"

// Who lists names waits for the round that writes what has changed before.
func TestAwaitUpdated(t *testing.T) {
	tables := partsTables(t, t.TempDir())
	tables.awaitUpdated() // nothing has changed
	tables.records.add(partsRecord(1), "")
	seen := make(chan int)
	go func() {
		tables.awaitUpdated()
		all, _ := tables.all()
		seen <- len(all)
	}()
	select {
	case <-seen:
		t.Error("who lists names does not wait for the change before")
	default:
	}
	if err := tables.update(); err != nil {
		t.Fatal(err)
	}
	if n := <-seen; n != 1 {
		t.Errorf("after the change there are %d networks with names", n)
	}
}
