package cluster

import (
	"encoding/json"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

const (
	clusterKey  = Prefix + "cluster"
	networksKey = Prefix + "networks/"
	blocksKey   = Prefix + "blocks/"
)

func selfKey(host string) string    { return Prefix + "hosts/" + host + "/self" }
func aliveKey(host string) string   { return Prefix + "hosts/" + host + "/alive" }
func hostKeys(host string) string   { return Prefix + "hosts/" + host + "/" }
func networkKey(name string) string { return networksKey + name }
func removedKey(id string) string   { return Prefix + "removed/" + id }
func blockKeys(network string) string {
	return blocksKey + network + "/"
}
func blockKey(network string, p netip.Prefix) string { return blockKeys(network) + p.String() }
func pinKey(host string, p netAddr) string           { return hostKeys(host) + "pins/" + p.String() }
func wantKey(host string, p netAddr) string          { return hostKeys(host) + "wants/" + p.String() }
func answerKey(owner, asker string, p netAddr) string {
	return hostKeys(owner) + "answers/" + asker + "/" + p.String()
}

// netAddr is an IP address in a network.
type netAddr struct {
	network string
	ip      netip.Addr
}

func (p netAddr) String() string { return p.network + "/" + p.ip.String() }

// The values of the keys, in JSON. Blocks and pins name their host by ID, so that a new
// host with an old name inherits nothing.
type (
	clusterRecord struct {
		ID   string `json:"id"`
		VNI  uint32 `json:"vni"`
		Port uint16 `json:"port"`
		// Ranges are what its networks may use; none: DefaultRanges.
		Ranges []netip.Prefix `json:"ranges,omitempty"`
		// Path is how packets get from host to host; "" is the default one.
		Path string `json:"path,omitempty"`
	}
	// hostRecord is a host and the run of its agent. By the run, two agents with one
	// identity (a host's disk was copied) detect each other.
	hostRecord struct {
		heddle.Host
		Run string `json:"run"`
	}
	aliveRecord struct {
		Since time.Time `json:"since"`
	}
	removedRecord struct {
		Name string    `json:"name"`
		At   time.Time `json:"at"`
	}
	blockRecord struct {
		Host string `json:"host"`
	}
	pinRecord struct {
		Host string `json:"host"`
	}
	wantRecord struct {
		Host string            `json:"host"`
		By   heddle.EndpointID `json:"by,omitzero"`
	}
	// answerRecord is an owner's answer to a host: to its want at a revision, or a move
	// that the host did not ask for.
	answerRecord struct {
		Host   string `json:"host"`
		Want   int64  `json:"want,omitempty"`
		Denied string `json:"denied,omitempty"`
		Move   *Move  `json:"move,omitempty"`
		// Key and Revision are those of the sender's own right to the address that it moves: its
		// pin or its block. If they are missing, the address came home, and there is nothing to
		// pin.
		Key      string `json:"key,omitempty"`
		Revision int64  `json:"revision,omitempty"`
	}
)

// item is an entry that was read.
type item struct {
	key      string
	revision int64
	created  int64
	// host is the host below whose name the key is; asker is the host that an answer is
	// for.
	host, asker string
	addr        netAddr
	prefix      netip.Prefix
	// parsed is what the record says: a pointer to one of the records or to a heddle.Network,
	// or nil if the key is unknown to us. value is the accepted part: the same, or what the
	// key said before, or nil (see record.validate).
	parsed, value any
	// before is what was accepted of the key before its last change.
	before any
	// parseError says why the record cannot be read, refused why it is not accepted.
	parseError, refused string
}

// deleteBy makes a change delete the item, if it is unchanged since it was read.
func (i item) deleteBy(change *store.Change) {
	change.Require = append(change.Require, store.Condition{Key: i.key, Revision: i.revision})
	change.Delete = append(change.Delete, i.key)
}

// parseEntry makes an item of an entry.
func parseEntry(e store.Entry) item {
	i := item{key: e.Key, revision: e.Revision, created: e.Created}
	part := strings.Split(strings.TrimPrefix(e.Key, Prefix), "/")
	switch {
	case e.Key == clusterKey:
		i.parsed = &clusterRecord{}
	case part[0] == "networks" && len(part) == 2:
		i.parsed = &heddle.Network{}
	case part[0] == "removed" && len(part) == 2:
		i.parsed = &removedRecord{}
	case part[0] == "blocks" && len(part) == 4:
		i.addr.network = part[1]
		var err error
		if i.prefix, err = netip.ParsePrefix(part[2] + "/" + part[3]); err == nil {
			i.parsed = &blockRecord{}
		}
	case part[0] == "hosts" && len(part) > 2:
		i.host = part[1]
		i.parseHostKey(part[2:])
	}
	if i.parsed != nil {
		i.parseError = decode(e.Value, i.parsed)
	}
	return i
}

func (i *item) parseHostKey(part []string) {
	switch {
	case part[0] == "self" && len(part) == 1:
		i.parsed = &hostRecord{}
	case part[0] == "alive" && len(part) == 1:
		i.parsed = &aliveRecord{}
	case part[0] == "pins" && len(part) == 3:
		i.parsed = &pinRecord{}
	case part[0] == "wants" && len(part) == 3:
		i.parsed = &wantRecord{}
	case part[0] == "answers" && len(part) == 4:
		i.asker, part = part[1], part[1:]
		i.parsed = &answerRecord{}
	}
	if len(part) == 3 {
		var err error
		i.addr.network = part[1]
		if i.addr.ip, err = netip.ParseAddr(part[2]); err != nil {
			i.parsed = nil
		}
	}
}

// entry makes an entry with a record as its value.
func entry(key string, record any) store.Entry {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // records are plain data
	}
	return store.Entry{Key: key, Value: text}
}
