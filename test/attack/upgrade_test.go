package attack_test

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestErrorsAfterUpgrade: an agent from before the guard of ICMP errors left endpoints
// whose records and sets do not say whose errors may pass. The agent that follows it puts
// that right: true errors of the containers pass, in both families.
func TestErrorsAfterUpgrade(t *testing.T) {
	for _, mode := range []string{"bridge", "routed", "overlay"} {
		t.Run(mode, func(t *testing.T) {
			ledger := ""
			w := world.New(t, func(o *agent.Options) { ledger = filepath.Join(o.RunDir, "ledger.db") })
			w.Network(t, "net", mode)
			victim, witness := w.Pod(t, "victim", "net"), w.Pod(t, "witness", "net")
			elements := func() int {
				return strings.Count(w.Host.Sh(t, "for f in inet bridge; do nft list set $f heddle quoted4; nft list set $f heddle quoted6; done 2>/dev/null || true"), `"hd`)
			}
			before := elements()
			if before == 0 {
				t.Fatal("there are no sets of quoted addresses")
			}
			w.Restart(t, func() {
				forgetQuoted(t, ledger)
				w.Host.Sh(t, "for f in inet bridge; do nft flush set $f heddle quoted4; nft flush set $f heddle quoted6; done 2>/dev/null || true")
				if n := elements(); n != 0 {
					t.Errorf("%d are left", n)
				}
			})
			if n := elements(); n != before {
				t.Errorf("%d addresses, %d before", n, before)
			}
			for _, a := range victim.Addrs() {
				refused(t, w.Host, hostAddr(a), a)
				refused(t, witness.Netns, witness.Addr(a), a)
			}
			victim.Leave(t)
			if n := elements(); n != before/2 {
				t.Errorf("%d addresses after one of two has left, %d before", n, before)
			}
		})
	}
}

// forgetQuoted makes the records of endpoints what an older agent wrote: JSON behind a
// checksum of four bytes.
func forgetQuoted(t *testing.T, path string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	cell.Must(t, err)
	cell.Must(t, db.Update(func(tx *bbolt.Tx) error {
		all, changed := tx.Bucket([]byte("endpoints")), map[string][]byte{}
		err := all.ForEach(func(key, text []byte) error {
			var r map[string]json.RawMessage
			if err := json.Unmarshal(text[4:], &r); err != nil {
				return err
			}
			var p heddle.Plan
			if err := json.Unmarshal(r["plan"], &p); err != nil {
				return err
			}
			had := len(p.Host.Elements)
			p.Host.Elements = slices.DeleteFunc(p.Host.Elements, func(e heddle.Element) bool {
				return e.Set == firewall.SetQuoted4 || e.Set == firewall.SetQuoted6
			})
			if len(p.Host.Elements) == had {
				t.Errorf("%s has no such elements", key)
			}
			var err error
			if r["plan"], err = json.Marshal(p); err == nil {
				text, err = json.Marshal(r)
				sum := crc32.Update(crc32.ChecksumIEEE(key), crc32.IEEETable, text)
				changed[string(key)] = append(binary.BigEndian.AppendUint32(nil, sum), text...)
			}
			return err
		})
		for key, text := range changed {
			cell.Must(t, all.Put([]byte(key), text))
		}
		return err
	}))
	cell.Must(t, db.Close())
}
