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

// How long the start waits for the store: of a cluster that this host remembers, and of
// one that is new to it.
const (
	rememberedTime = time.Second
	openTime       = 20 * time.Second
)

// company is this host's part in a cluster, which the agent and the doors use. It is nil
// for a host without a cluster.
type company struct {
	cluster *cluster.Cluster
	store   store.Store
	// node is nil with an external store.
	node *join.Node
	name string
}

// keepCompany connects the host to its cluster. It returns nil for a host without one.
func keepCompany(ctx context.Context, c config, log *slog.Logger) (*company, error) {
	endpoints, clear, external := c.external()
	if !external && !c.embedded() {
		return nil, nil
	}
	self, now, err := c.self(log)
	if err != nil {
		return nil, err
	}
	known := c.belongs()
	if c.tokenUnused != nil {
		log.Warn("the token is not used: this host belongs to its cluster already", "error", c.tokenUnused)
	}
	m := &company{name: self.Name}
	if external {
		m.store, err = c.dial(endpoints, clear, log)
	} else if m.node, err = join.Open(ctx, join.Options{Dir: c.clusterDir(), Name: self.Name, Underlay: self.Underlay, MTU: self.MTU,
		Join: c.Join, Token: c.Token, ForceNew: c.ForceNewStore, Now: now, Log: log}); err == nil {
		m.store = m.node.Store()
		self.ID, self.Underlay = m.node.Self().ID, m.node.Self().Underlay
	}
	if err != nil {
		return nil, err
	}
	wait := openTime
	if _, err := os.Stat(c.clusterDir() + "/cluster.json"); err == nil && known || err == nil && external {
		wait = rememberedTime
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

// self is this host's record for other hosts.
func (c config) self(log *slog.Logger) (heddle.Host, func() time.Time, error) {
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

// dial connects to an external etcd.
func (c config) dial(endpoints []string, clear bool, log *slog.Logger) (store.Store, error) {
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
			return nil, heddle.Errorf(heddle.BadArgument, "read file of --store-ca", c.StoreCA, "it holds no certificate in PEM", "name another file")
		}
	}
	if c.StoreCert != "" {
		if _, err := tls.LoadX509KeyPair(c.StoreCert, c.StoreKey); err != nil {
			return nil, heddle.Wrap(heddle.BadArgument, "read files of --store-cert and --store-key", c.StoreCert+", "+c.StoreKey, err, "name a certificate and its key in PEM")
		}
		// Read at each connection, since a renewal replaces the files.
		o.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			p, err := tls.LoadX509KeyPair(c.StoreCert, c.StoreKey)
			return &p, err
		}
	}
	return store.Dial(o)
}

// api is the interface for the agent. It is nil if company is, since an interface with a
// nil pointer is not nil.
func (m *company) api() cluster.API {
	if m == nil {
		return nil
	}
	return m.cluster
}

func (m *company) hosts() api.Hosts {
	if m == nil {
		return nil
	}
	return hosts{m}
}

func (m *company) close() error {
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
