package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/door/api"
	"github.com/heddle-network/heddle/join"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/store"
)

// How long the start waits for the store: of a cluster that this host has been in, and of
// one that is new to it.
const (
	knownClusterWait = time.Second
	newClusterWait   = time.Minute
)

// membership is this host's part in a cluster. It is nil for a host without a cluster.
type membership struct {
	cluster *cluster.Cluster
	store   store.Store
	// node is nil with an external store.
	node *join.Node
	name string
}

// openMembership connects the host to its cluster. It returns nil for a host without one.
func openMembership(ctx context.Context, c config, log *slog.Logger) (*membership, error) {
	endpoints, clear, external := c.external()
	if !external && !c.embedded() {
		return nil, nil
	}
	self, now, err := c.ownHost(log)
	if err != nil {
		return nil, err
	}
	known := c.isMember()
	if c.tokenError != nil {
		log.Warn("the token is not used: this host belongs to its cluster already", "error", c.tokenError)
	}
	m := &membership{name: self.Name}
	if external {
		m.store, err = c.dialExternal(endpoints, clear, log)
	} else if m.node, err = join.Open(ctx, join.Options{Dir: c.clusterDir(), Name: self.Name, Underlay: self.Underlay, MTU: self.MTU,
		Join: c.Join, Token: c.Token, ForceNew: c.ForceNewStore, Now: now, Log: log}); err == nil {
		m.store = m.node.Store()
		self.ID, self.Underlay = m.node.Self().ID, m.node.Self().Underlay
	}
	if err != nil {
		return nil, err
	}
	wait := newClusterWait
	if _, err := os.Stat(c.clusterDir() + "/cluster.json"); err == nil && known || err == nil && external {
		wait = knownClusterWait
	}
	ranges, err := cluster.ParseRanges(c.ClusterRanges)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	o := cluster.Options{Store: m.store, Self: self, StateDir: c.clusterDir(), Port: c.TunnelPort, Ranges: ranges, Fits: heddle.FitsSpan(mode.All()), Wait: wait, Log: log, Now: now}
	if m.node != nil { // the rights in an external store are its operator's
		o.MayWriteNetworks = m.node.MayWriteNetworks
	}
	m.cluster, err = cluster.Open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

// ownHost returns this host's record for other hosts, and its clock.
func (c config) ownHost(log *slog.Logger) (heddle.Host, func() time.Time, error) {
	h := heddle.Host{Name: c.Name, PrivilegedPorts: true, Version: heddle.Version}
	now, err := clock()
	if err != nil {
		return h, nil, err
	}
	k, err := kernel.Open()
	if err != nil {
		return h, nil, err
	}
	defer k.Close()
	facts, err := k.Facts()
	if err != nil {
		return h, nil, err
	}
	if h.Name == "" {
		h.Name = facts.Name
	}
	if err := join.CheckHostName(h.Name); err != nil {
		return h, nil, err
	}
	h.Underlay, h.MTU, err = underlay(c.Underlay, facts)
	if last, mtu, ok := join.Remembered(c.clusterDir()); err != nil && ok && heddle.KindOf(err) != heddle.Usage {
		// While a host boots, its containers need their agent before the host has addresses.
		log.Warn("this host's addresses for other hosts are not there (yet)", "error", err, "remembered", last)
		h.Underlay, h.MTU, err = last, mtu, nil
	}
	return h, now, err
}

// dialExternal connects to an external etcd.
func (c config) dialExternal(endpoints []string, clear bool, log *slog.Logger) (store.Store, error) {
	o := store.Options{Endpoints: endpoints, Log: log}
	if clear {
		log.Warn("the store is not encrypted, and does not know who calls: whoever reaches it can change all networks", "store", c.Store)
		return store.Dial(o)
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.StoreCA != "" {
		text, err := os.ReadFile(c.StoreCA)
		if err != nil {
			return nil, heddle.Wrap(heddle.BadArgument, "read file of --store-ca", c.StoreCA, err, "name a readable file in PEM")
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(text) {
			return nil, heddle.Errorf(heddle.BadArgument, "read file of --store-ca", c.StoreCA,
				"it holds no certificate in PEM", "name another file")
		}
	}
	if c.StoreCert != "" {
		if _, err := tls.LoadX509KeyPair(c.StoreCert, c.StoreKey); err != nil {
			return nil, heddle.Wrap(heddle.BadArgument, "read files of --store-cert and --store-key",
				c.StoreCert+", "+c.StoreKey, err, "name a certificate and its key in PEM")
		}
		// Read at each connection, since a renewal replaces the files.
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			p, err := tls.LoadX509KeyPair(c.StoreCert, c.StoreKey)
			return &p, err
		}
	}
	return store.Dial(o)
}

// api returns the interface for the agent. For a nil membership it returns nil, since an
// interface with a nil pointer is not nil.
func (m *membership) api() cluster.API {
	if m == nil {
		return nil
	}
	return m.cluster
}

func (m *membership) hosts() api.Hosts {
	if m == nil {
		return nil
	}
	return hosts{m}
}

func (m *membership) close() error {
	if m == nil {
		return nil
	}
	var errs []error
	if m.cluster != nil {
		errs = append(errs, m.cluster.Close())
	}
	errs = append(errs, m.store.Close())
	if m.node != nil {
		errs = append(errs, m.node.Close())
	}
	return errors.Join(errs...)
}
