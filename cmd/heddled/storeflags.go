package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/path"
)

// The values of --store, besides etcd's addresses.
const (
	storeNone     = "none"
	storeEmbedded = "embedded"
	schemeTLS     = "etcd://"
	schemeClear   = "etcd+insecure://"
)

// external returns the addresses of an external etcd.
func (c config) external() (endpoints []string, clear, ok bool) {
	list, tls := strings.CutPrefix(c.Store, schemeTLS)
	if !tls {
		list, clear = strings.CutPrefix(c.Store, schemeClear)
	}
	if !tls && !clear {
		return nil, false, false
	}
	scheme := "https://"
	if clear {
		scheme = "http://"
	}
	for _, e := range strings.Split(list, ",") {
		endpoints = append(endpoints, scheme+e)
	}
	return endpoints, clear, true
}

// clusterDir has what the host has as a member of a cluster.
func (c config) clusterDir() string { return filepath.Join(c.StateDir, "cluster") }

// belongs says that the host has joined or founded a cluster before.
func (c config) belongs() bool {
	_, err := os.Stat(filepath.Join(c.clusterDir(), "host.json"))
	return err == nil
}

// embedded says that the host has, or is to have, a part in an embedded store.
func (c config) embedded() bool {
	return c.Store == storeEmbedded || c.Store == "" && (c.Join != "" || c.belongs())
}

// checkStore refuses settings that contradict each other.
func (c config) checkStore() error {
	endpoints, clear, external := c.external()
	files := c.StoreCA != "" || c.StoreCert != "" || c.StoreKey != ""
	switch {
	case c.Store != "" && c.Store != storeNone && c.Store != storeEmbedded && !external:
		return wrongFlag("--store", c.Store, "give none, embedded, or etcd://HOST:PORT,…")
	case (c.Join != "" || c.hasToken()) && (external || c.Store == storeNone):
		return wrongFlag("--join and a token", "with --store "+c.Store, "they are for an embedded store; leave them or --store out")
	case (c.Join != "") != c.hasToken() && !c.belongs():
		return wrongFlag("--join and --token-file", "one without the other", "give both; 'heddle host token --out FILE' on a host of the cluster makes a token")
	case c.ForceNewStore && !(c.embedded() && c.belongs()):
		return wrongFlag("--force-new-store", "without an embedded store on this host", "give it to a host that keeps one ('heddle host list')")
	case files && (!external || clear):
		return wrongFlag("--store-ca, --store-cert and --store-key", "without --store etcd://…", "they are for an external etcd with TLS")
	case (c.StoreCert != "") != (c.StoreKey != ""):
		return wrongFlag("--store-cert and --store-key", "one without the other", "give both files")
	case c.TunnelPort == 0:
		return heddle.Errorf(heddle.BadPort, "--tunnel-port", "0", "", fmt.Sprintf("give 1 to 65535; %s's is %d", path.Default().Title(), path.Default().Port()))
	}
	if _, err := cluster.ParseRanges(c.ClusterRanges); err != nil {
		return err
	}
	for _, e := range endpoints {
		if _, port, err := net.SplitHostPort(e[strings.Index(e, "//")+2:]); err != nil || port == "" {
			return wrongFlag("--store", c.Store, "give addresses with ports, such as etcd://192.0.2.1:2379,192.0.2.2:2379")
		}
	}
	return nil
}

func wrongFlag(flag, value, remedy string) error {
	return heddle.Errorf(heddle.BadArgument, flag, value, "", remedy)
}
