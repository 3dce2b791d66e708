package join

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"strings"

	"github.com/heddle-network/heddle"
)

// unfounded says that the store of the host's cluster never came up, and that the cluster
// has no other hosts.
func (n *Node) unfounded() bool {
	text, err := os.ReadFile(n.dir.path(fileRecord))
	var r record
	return err == nil && json.Unmarshal(text, &r) == nil && r.Founder && !r.Enabled
}

// Remembered is the underlay that the host had when it was last part of a cluster,
// for a start before its addresses are there.
func Remembered(dir string) (underlay []netip.Addr, mtu int, ok bool) {
	text, err := os.ReadFile(folder(dir).path(fileRecord))
	var r record
	if err != nil || json.Unmarshal(text, &r) != nil || !goodUnderlay(r.Underlay) {
		return nil, 0, false
	}
	return r.Underlay, r.MTU, true
}

// forget removes everything but the host's ID, and the record first.
func (n *Node) forget() error {
	return n.dir.remove(fileRecord, fileAuthority, fileHostKey, fileHost, fileEndpoints, fileMembers, fileAuthorityKey, fileOperator,
		fileServer, fileServerKey, dirData)
}

// load reads what the host is.
func (n *Node) load() error {
	text, err := n.dir.read(fileRecord)
	if err == nil {
		err = json.Unmarshal(text, &n.record)
	}
	if err == nil {
		n.ca, err = n.loadAuthority()
	}
	if err == nil {
		n.me = n.record.identity
		var host pair
		host, err = n.loadPair(fileHost, fileHostKey)
		n.host.Store(&host)
	}
	switch {
	case err == nil && n.record.Member:
		n.keys, err = n.loadKeys(n.record.KeyAway)
	case err == nil: // becoming a member, or ceasing to be one, was interrupted
		err = errors.Join(n.dropKeys(), n.dir.remove(dirData))
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerBroken, "read cluster state in folder", string(n.dir), err,
			"restore the folder from a backup, or move it away and join again")
	}
	if text, err := n.dir.read(fileEndpoints); err == nil {
		n.endpoints = strings.Fields(string(text))
	}
	if text, err := os.ReadFile(n.dir.path(fileMembers)); err == nil {
		_ = json.Unmarshal(text, &n.members) // for display, until the store answers
	}
	return nil
}

func (n *Node) loadAuthority() (*x509.Certificate, error) {
	text, err := n.dir.read(fileAuthority)
	if err != nil {
		return nil, err
	}
	certs, _, err := parse(text)
	if err == nil && len(certs) != 1 {
		err = errors.New(fileAuthority + " has no certificate")
	}
	if err != nil {
		return nil, err
	}
	return certs[0], nil
}

func (n *Node) loadPair(files ...string) (pair, error) {
	var texts [][]byte
	for _, name := range files {
		text, err := n.dir.read(name)
		if err != nil {
			return pair{}, err
		}
		texts = append(texts, text)
	}
	return parsePair(texts...)
}

// loadKeys reads the keys of a member of the store. away says that the authority's key
// must not be among them; a key that an interrupted deletion left is deleted.
func (n *Node) loadKeys(away bool) (*keys, error) {
	ca, err := pair{cert: n.ca}, error(nil)
	if away {
		err = n.dir.remove(fileAuthorityKey)
	} else {
		ca, err = n.loadPair(fileAuthority, fileAuthorityKey)
	}
	if err != nil {
		return nil, err
	}
	operator, err := n.loadPair(fileOperator)
	if err != nil {
		return nil, err
	}
	serving, err := n.loadPair(fileServer, fileServerKey)
	return &keys{authority: authority{ca}, operator: operator, serving: serving}, err
}

// saveLocked writes the record.
func (n *Node) saveLocked(r record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := n.dir.write(fileRecord, append(text, '\n')); err != nil {
		return err
	}
	n.record = r
	return nil
}
