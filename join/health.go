package join

import (
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// hostStore is the host's store, whose health also tells of the host's certificate.
type hostStore struct {
	*store.Etcd
	node *Node
}

// Health says that the certificate has expired, if it has: the store's own error does not
// say so.
func (j hostStore) Health() store.Health {
	h := j.Etcd.Health()
	if err := checkDates(j.node.host.Load().cert, j.node.opt.Now(), "this host", time.Time{}); err != nil {
		h.State, h.Detail, h.Cause = "down", err.Error(), heddle.SentenceOf(err)
	} else if err := j.node.refused.Load(); err != nil {
		h.State, h.Detail, h.Cause = "down", (*err).Error(), heddle.SentenceOf(*err)
	}
	return h
}

// Close leaves the connection to the node.
func (j hostStore) Close() error { return nil }
