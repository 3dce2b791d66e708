package cluster_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

// TestFullStore has one host fill the store: below its own name; among the blocks, with records
// that are no blocks, or padded blocks, its own or another host's; and with records that are no
// networks. It can be removed nevertheless. The other hosts keep their blocks and continue.
func TestFullStore(t *testing.T) {
	soak.Turn(t, 1)
	at, _ := server(t, 16<<20)
	s := dial(t, at)
	a, b := open(t, dial(t, at), "a", t.TempDir()), open(t, dial(t, at), "b", t.TempDir())
	n, err := a.CreateNetwork(wait(t), lan("web", "10.1.0.0/16"), nil)
	cell.Must(t, err)
	block, err := a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
	junk := strings.Repeat("x", 500_000)
	cell.Must(t, b.Close()) // who took it over writes by its keys
	padded := func(host string) string {
		return fmt.Sprintf(`{"host":%q,"more":%q}`, host, strings.Repeat("x", 60_000))
	}
	owners := []string{a.View().Self.ID, b.View().Self.ID, "0000000000001234"}
	free := block
	nextBlock := func() string {
		free = netip.PrefixFrom(heddle.LastAddr(free).Next(), block.Bits())
		return "blocks/" + n.ID + "/" + free.String()
	}
	put := func(key, value string) error {
		_, _, err := s.Commit(wait(t), store.Change{Put: []store.Entry{{Key: cluster.Prefix + key, Value: []byte(value)}}})
		return err
	}
	full, i := heddle.StoreFull.Sentinel(), 0
	fill := func() (err error) {
		for ; err == nil; i++ {
			err = errors.Join(put(fmt.Sprint("hosts/b/x", i), junk), put(fmt.Sprint("hosts/b/selfish", i), junk),
				put(fmt.Sprintf("blocks/%s/x%d", n.ID, i), junk), put(fmt.Sprint("networks/x", i), junk),
				put(fmt.Sprintf("blocks/0000000000001234/10.9.0.0/%d", 8+i), padded("0000000000001234")),
				put(fmt.Sprintf("blocks/%s/10.9.%d.0/26", n.ID, i), padded("0000000000001234")),
				put(nextBlock(), padded(owners[i%len(owners)])))
		}
		return err
	}
	// A store that is full looks every five seconds whether it can make room by itself.
	makesRoom := func() bool {
		_, err := poll.Until(12*time.Second, 100*time.Millisecond, func() error { return put("hosts/b/s", "x") })
		return err == nil
	}
	for err = fill(); errors.Is(err, full) && i < 100 && makesRoom(); err = fill() {
		t.Log("the store has made room by itself, and is filled again")
	}
	if !errors.Is(err, full) {
		t.Fatal(err)
	}
	if err := a.RemoveHost(wait(t), s, "b", true); !errors.Is(err, full) {
		t.Fatalf("a full store took more: %v", err)
	}
	cell.Must(t, a.MakeRoom(wait(t), s, "b"))
	left, err := s.Read(wait(t), cluster.Prefix)
	cell.Must(t, err)
	for _, e := range left.Entries {
		if len(e.Value) > 10_000 {
			t.Errorf("left: %s, %d bytes", e.Key, len(e.Value))
		}
	}
	until(t, "there is room again", func() bool { return put("room", "x") == nil })
	cell.Must(t, a.RemoveHost(wait(t), s, "b", false))
	if v := a.View(); !slices.Contains(v.Blocks, heddle.Block{Network: n.ID, Prefix: block, Host: v.Self.ID}) {
		t.Errorf("blocks: %+v", v.Blocks)
	}
	_, err = a.ClaimBlock(wait(t), n, n.Subnets[0], netip.Addr{})
	cell.Must(t, err)
}
