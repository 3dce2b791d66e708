// Package join decides who belongs to a cluster, before there is an agent: the
// cluster's authority and certificates, the tokens, the door by which hosts come
// in, the rights they get in the store, and which of them keep it.
//
//	tokens/HASH            a token, by the hash of its secret
//	hosts/NAME/admitted    which host (by ID and key) has the name's certificate, and
//	                       what it may beside what all may
//	hosts/NAME/keeper      names the host as a keeper of the store
//
// These keys are below KeysPrefix. Only the operator may write them. Only the operator may
// read them, except that a host may read those of its own name. All hosts may read
// MembersKey, which lists the hosts that keep the store now, the copies of admissions
// below AdmittedPrefix, and WithdrawnKey, which says that the authority's key is off the
// hosts.
package join

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// The TCP ports that a host that keeps the store listens on.
const (
	DoorPort   = heddle.DoorPort
	ClientPort = heddle.StoreClientPort
	PeerPort   = heddle.StorePeerPort
)

const (
	// KeysPrefix is the prefix of the keys that only operators may read.
	KeysPrefix = "/heddle-keys/"
	// MembersKey has the members of an embedded store.
	MembersKey = "/heddle/members"
	// AdmittedPrefix is where all hosts may read who was let in.
	AdmittedPrefix = "/heddle/admitted/"
	// WithdrawnKey exists while the authority's key is off the hosts' disks.
	WithdrawnKey = "/heddle/withdrawn"

	tokensPrefix = KeysPrefix + "tokens/"
	hostsPrefix  = KeysPrefix + "hosts/"

	// operatorName is the CN of the operator's certificate: etcd's superuser.
	operatorName = "root"
	// serverName is the CN of certificates that members of the store serve with.
	// No host can have that name.
	serverName = "heddle:server"
)

// The lives of certificates. A certificate is valid from a day before it is made, for
// hosts whose clocks are behind.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	hostLife      = 365 * 24 * time.Hour
	clockSlack    = 24 * time.Hour
)

var hostID = lazyregexp.New(`^[0-9a-f]{16}$`)
var hostName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

// CheckHostName reports whether a host of a cluster can have the name: it
// becomes a certificate's common name, a user of the store, and part of keys.
func CheckHostName(name string) error {
	if hostName.MatchString(name) && !strings.EqualFold(name, operatorName) {
		return nil
	}
	return heddle.Errorf(heddle.BadName, "use host name", fmt.Sprintf("%.80q", name), "hosts cannot have this name",
		"give one with --name: letters, digits, '_', '.', '-', at most 63 bytes, starting with a letter or digit, and not root")
}

// identity is a host that was let in. Name and ID are both part of its certificate's common
// name and of its user name in the store. So the certificate of a removed host is useless,
// even if another host gets its name.
type identity struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

func (g identity) String() string { return g.Name + "@" + g.ID }

func parseIdentity(s string) (identity, bool) {
	name, id, ok := strings.Cut(s, "@")
	return identity{name, id}, ok && CheckHostName(name) == nil && hostID.MatchString(id)
}

// admittedKey, keeperKey: see the package's comment.
func admittedKey(name string) string { return hostsPrefix + name + "/admitted" }
func keeperKey(name string) string   { return hostsPrefix + name + "/keeper" }

// urls are the addresses with a port, as URLs of HTTPS.
func urls(addrs []netip.Addr, port uint16) []string {
	var all []string
	for _, a := range addrs {
		all = append(all, "https://"+netip.AddrPortFrom(a, port).String())
	}
	return all
}

// peerURL is where a member of the store is reached by the others.
func peerURL(underlay []netip.Addr) string { return urls(underlay[:1], PeerPort)[0] }
