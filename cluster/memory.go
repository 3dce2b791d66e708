package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/durable"
)

// memory is what this host keeps on its own disk. The host may use the blocks and pins in
// it, and no others, even when the store cannot be reached.
type memory struct {
	Cluster string `json:"cluster,omitempty"`
	// Host is this host's ID; Introduced says that its key was in the store once.
	Host       heddle.Host `json:"host"`
	Introduced bool        `json:"introduced,omitempty"`
	// Removed says that the host has seen its removal by an operator.
	Removed bool `json:"removed,omitempty"`
	// Held are own blocks, Pins borrowed addresses, each with the revision at which
	// it was committed.
	Held held `json:"held,omitempty"`
	Pins pins `json:"pins,omitempty"`
	// Lent are addresses of own blocks that another host has or may have. Sent are borrowed
	// addresses that were sent on. Each entry names that host.
	Lent lent `json:"lent,omitempty"`
	Sent lent `json:"sent,omitempty"`
	// Used is the revision up to which moves of an address to this host were used.
	Used pins `json:"used,omitempty"`
	// Last is the cluster as last seen, for a start without the store. Seen is its revision.
	Last heddle.Fabric `json:"last,omitzero"`
	Seen int64         `json:"seen,omitempty"`
}

type (
	held map[blockID]int64
	pins map[netAddr]int64
	lent map[netAddr]string
)

// blockID names a block.
type blockID struct {
	network string
	prefix  netip.Prefix
}

func (b blockID) MarshalText() ([]byte, error) {
	return []byte(b.network + "/" + b.prefix.String()), nil
}

func (b *blockID) UnmarshalText(text []byte) (err error) {
	network, prefix, _ := strings.Cut(string(text), "/")
	b.network = network
	b.prefix, err = netip.ParsePrefix(prefix)
	return err
}

// MarshalText and UnmarshalText make a netAddr the key of a JSON object.
func (p netAddr) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p *netAddr) UnmarshalText(text []byte) (err error) {
	network, addr, _ := strings.Cut(string(text), "/")
	p.network = network
	p.ip, err = netip.ParseAddr(addr)
	return err
}

func (m memory) clone() memory {
	m.Held, m.Pins = maps.Clone(m.Held), maps.Clone(m.Pins)
	m.Used = maps.Clone(m.Used)
	m.Lent, m.Sent = maps.Clone(m.Lent), maps.Clone(m.Sent)
	m.fill()
	return m
}

func (m *memory) fill() {
	if m.Held == nil {
		m.Held = held{}
	}
	if m.Pins == nil {
		m.Pins = pins{}
	}
	if m.Used == nil {
		m.Used = pins{}
	}
	if m.Lent == nil {
		m.Lent = lent{}
	}
	if m.Sent == nil {
		m.Sent = lent{}
	}
}

// heldBlock returns the held block that an address lies in.
func (m memory) heldBlock(p netAddr) (blockID, bool) {
	for b := range m.Held {
		if b.network == p.network && b.prefix.Contains(p.ip) {
			return b, true
		}
	}
	return blockID{}, false
}

// file is the memory on disk, with the SHA-256 of its text.
type file struct {
	Sum    string          `json:"sha256"`
	Memory json.RawMessage `json:"memory"`
}

func memoryPath(dir string) string { return filepath.Join(dir, "cluster.json") }

func loadMemory(dir string) (m memory, err error) {
	m.fill()
	text, err := os.ReadFile(memoryPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && f.Sum != sum(f.Memory) {
		err = errors.New("its checksum is wrong")
	}
	if err == nil {
		err = json.Unmarshal(f.Memory, &m)
	}
	if err != nil {
		return m, heddle.Wrap(heddle.LedgerBroken, "read record", memoryPath(dir), err,
			"restore the file from a copy; if there is none, remove the host from the cluster and join again: without the file it does not know which addresses are its own")
	}
	m.fill()
	return m, nil
}

// saveMemory replaces the file and returns when it is on the disk.
func saveMemory(dir string, m memory) error {
	text, err := json.Marshal(m)
	if err == nil {
		text, err = json.Marshal(file{sum(text), text})
	}
	if err == nil {
		err = durable.Replace(memoryPath(dir), text)
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "write record", memoryPath(dir), err,
			"free room on the disk; until then the host claims no blocks of addresses")
	}
	return nil
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}
