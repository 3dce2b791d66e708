package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// taken is a cluster of three hosts of which the third was taken over. It keeps the
// store, and so may write networks: what readers make of them is tried. Its agent is
// gone, and its keys write what they may.
type taken struct {
	*fleet
	*forge.Forger
	book book
}

func newTaken(t *testing.T) *taken {
	t.Helper()
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/16", "fd10::/64") // a host's block has addresses for all that is attached
	f.hosts[0].attach(t, "near", "app")
	f.hosts[1].attach(t, "far", "app")
	f.hosts[2].kill(t)
	k := &taken{fleet: f, Forger: forge.As(t, f.hosts[2].Host)}
	t.Cleanup(func() { f.hosts = f.hosts[:2] }) // nobody asks the one that is gone
	k.book = k.read(t)
	return k
}

// read copies the records that are there.
func (k *taken) read(t *testing.T) (b book) {
	t.Helper()
	parse := func(r forge.Record) (v map[string]any) {
		if err := json.Unmarshal(r.Value, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	b.name = k.hosts[2].Host.Name
	b.network, b.host, b.other = parse(k.at(t, "/heddle/networks/app")), parse(k.at(t, "/heddle/hosts/"+b.name+"/self")), parse(k.at(t, "/heddle/hosts/host1/self"))
	b.networkID, b.hostID, b.victim = b.network["id"].(string), b.host["id"].(string), b.other["id"].(string)
	all, err := k.Below("/heddle/blocks/" + b.networkID + "/10.10.")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	for _, r := range all {
		taken[r.Key] = true
		if strings.Contains(string(r.Value), b.victim) {
			b.block = r.Key
		}
	}
	for i := 250; b.free == "" || taken[b.free]; i-- {
		b.free = fmt.Sprintf("/heddle/blocks/%s/10.10.%d.0/26", b.networkID, i)
	}
	b.alien = "/heddle/blocks/0000000000000000/10.10.0.0/29"
	return b
}

// at is the record at a key; without a value if it is not there.
func (k *taken) at(t *testing.T, key string) forge.Record {
	t.Helper()
	all, err := k.Below(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Key == key {
			return r
		}
	}
	return forge.Record{Key: key}
}

// states are those of the survivors.
func (k *taken) states(t *testing.T) map[*host]string {
	t.Helper()
	all := map[*host]string{}
	for _, h := range k.survivors() {
		now, err := state(h)
		if err != nil {
			t.Fatal(err)
		}
		all[h] = now
	}
	return all
}

// survivors are the hosts that must not notice.
func (k *taken) survivors() []*host { return k.hosts[:2] }

// told fails until a part of the host's status has a word.
func told(h *host, part, word string) error {
	st, err := h.Status(context.Background())
	if err != nil {
		return err
	}
	if !strings.Contains(st.Part(part).Detail, word) {
		return fmt.Errorf("part %s of the status says nothing of %s: %+v", part, word, st.Parts)
	}
	return nil
}

// aside gives the survivors a route of their own, so that the network of a marker cannot
// be on them.
func (k *taken) aside(t *testing.T) {
	t.Helper()
	for _, h := range k.survivors() {
		h.Sh(t, "ip route add 10.99.99.0/24 dev eth0")
	}
}

// marker is the record of a network that each host tries to take on, in vain: it has
// begun with all that was written together with it by then.
func (k *taken) marker(i int) (name string, r forge.Record) {
	name = fmt.Sprint("marker", i)
	return name, forge.Text("/heddle/networks/"+name, with(k.book.network, "name", name, "id", fmt.Sprintf("%016x", 0xabcd0000+i),
		"subnets", []string{"10.99.99.0/24"}, "gateways", []string{"10.99.99.1"}))
}

// settled waits until the host has come to an end with what was written together with a
// marker.
func settled(t *testing.T, h *host, marker string) {
	t.Helper()
	world.Within(t, world.RepairTime, h.Host.Name+" has read "+marker, func() error {
		return told(h, "tunnels", "network "+marker+" is not on this host")
	})
	world.Within(t, world.RepairTime, "nothing is under way on "+h.Host.Name, func() error {
		found, err := h.Audit(t.Context())
		if err == nil && slices.ContainsFunc(found, func(f heddle.Finding) bool { return f.Kind == "pending" }) {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// TestMalformedRecords writes what no host may take on, one record after the other, as
// a host that was taken over. The others tell of it, and have what they had; in between
// they attach, detach, and put back what was flushed.
func TestMalformedRecords(t *testing.T) {
	soak.Turn(t, 0)
	k := newTaken(t)
	all := allMalformed(k.book)
	if len(all) < 100 {
		t.Fatalf("%d records only", len(all))
	}
	t.Logf("%d records", len(all))
	k.aside(t)
	before := k.states(t)
	for i, m := range all {
		k.one(t, i, m, before)
		if i%20 == 0 || t.Failed() {
			k.live(t, i)
		}
		if t.Failed() {
			return
		}
	}
	k.live(t, len(all))
}

// one writes a record beside a marker, looks at both hosts, and takes it away.
func (k *taken) one(t *testing.T, i int, m malformed, before map[*host]string) {
	t.Helper()
	was := k.at(t, m.key)
	name, marker := k.marker(i)
	err := k.Write(m.record(), marker)
	if err != nil {
		t.Fatalf("%s: %v", m.what, err)
	}
	var both sync.WaitGroup
	for _, h := range k.survivors() {
		both.Go(func() { m.leaves(t, h, name, before[h]) })
	}
	both.Wait()
	if m.key == k.book.block {
		world.Soon(t, m.what+", written again by its holder", func() error {
			if now := k.at(t, m.key); !strings.Contains(string(now.Value), k.book.victim) {
				return fmt.Errorf("%s", now.Value)
			}
			return nil
		})
	}
	err = k.Delete(marker.Key)
	switch {
	case err != nil:
	case was.Value != nil && string(k.at(t, m.key).Value) == m.value:
		err = k.Write(was)
	case was.Value == nil:
		err = k.Delete(m.key)
	}
	if err != nil {
		t.Fatalf("%s, taken away: %v", m.what, err)
	}
}

// leaves looks whether a host tells of a record, and is as it was before.
func (m malformed) leaves(t *testing.T, h *host, marker, before string) {
	t.Helper()
	settled(t, h, marker)
	if !m.quiet {
		word := strings.Split(m.key, "\n")[0][:min(len(m.key), 30)]
		world.Within(t, world.RepairTime, m.what+" is told on "+h.Host.Name, func() error { return told(h, "records", word) })
	}
	if now, err := state(h); err != nil || now != before {
		t.Errorf("%s changes %s: %v\nbefore:\n%s\nwith it:\n%s", m.what, h.Host.Name, err, before, now)
	}
}

// live has the hosts do what hosts do.
func (k *taken) live(t *testing.T, i int) {
	t.Helper()
	var pods []*pod
	for n, h := range k.survivors() {
		pods = append(pods, h.attach(t, fmt.Sprintf("p%d-%d", n, i), "app"))
	}
	pods[0].finds(t, pods[1].addrs()...)
	for n, h := range k.survivors() {
		peer := []string{"172.31.240.12", "172.31.240.11"}[n]
		h.Sh(t, "nft flush chain inet heddle guard-tunnel; nft delete element inet heddle peers4 { %s }", peer)
		world.Within(t, world.RepairTime, "the firewall of "+h.Host.Name+" is put back", func() error {
			out, err := h.TrySh("nft list chain inet heddle guard-tunnel; nft list set inet heddle peers4")
			if err == nil && (!strings.Contains(out, "drop") && !strings.Contains(out, "goto") && !strings.Contains(out, "jump") || !regexp.MustCompile(`\b`+regexp.QuoteMeta(peer)+`\b`).MatchString(out)) {
				err = errors.New(out)
			}
			return err
		})
	}
	pods[1].finds(t, pods[0].addrs()...)
	for _, p := range pods {
		p.detach(t)
	}
}
