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

// clusterDir is the folder of the host's membership in a cluster.
func (c config) clusterDir() string { return filepath.Join(c.StateDir, "cluster") }

// isMember says that the host has joined or founded a cluster before.
func (c config) isMember() bool {
	_, err := os.Stat(filepath.Join(c.clusterDir(), "host.json"))
	return err == nil
}

// embedded says that the host has, or is to have, a part in an embedded store.
func (c config) embedded() bool {
	return c.Store == storeEmbedded || c.Store == "" && (c.Join != "" || c.isMember())
}

// checkStore refuses settings that contradict each other.
func (c config) checkStore() error {
	endpoints, clear, external := c.external()
	files := c.StoreCA != "" || c.StoreCert != "" || c.StoreKey != ""
	switch {
	case c.Store != "" && c.Store != storeNone && c.Store != storeEmbedded && !external:
		return badFlag("--store", fmt.Sprintf("%q is not the name of a store", c.Store),
			"give none, embedded, or etcd://HOST:PORT,…")
	case (c.Join != "" || c.hasToken()) && (external || c.Store == storeNone):
		return badFlag("--store", "--join and a token are for an embedded store, not for "+c.Store,
			"leave out --store, or --join and the token")
	case c.Join != "" && !c.hasToken() && !c.isMember():
		return badFlag("--join", "--token-file is not given",
			"give both; make a token with 'heddle host token --out FILE' on a host of the cluster")
	case c.Join == "" && c.hasToken() && !c.isMember():
		return badFlag("--token-file", "--join is not given", "give both, --join with the address of a host of the cluster")
	case c.ForceNewStore && !(c.embedded() && c.isMember()):
		return badFlag("--force-new-store", "this host has no part in an embedded store",
			"give it to a host that keeps the store ('heddle host list')")
	case files && (!external || clear):
		return badFlag("--store-ca, --store-cert and --store-key", "they are for an external etcd with TLS",
			"leave them out, or give --store etcd://HOST:PORT,…")
	case (c.StoreCert != "") != (c.StoreKey != ""):
		return badFlag("--store-cert and --store-key", "only one of them is given", "give both files")
	case c.TunnelPort == 0:
		return heddle.Errorf(heddle.BadPort, "read flag", "--tunnel-port", "0 is not a port",
			fmt.Sprintf("give 1 to 65535, such as %d, the port of %s", path.Default().Port(), path.Default().Title()))
	}
	if _, err := cluster.ParseRanges(c.ClusterRanges); err != nil {
		return err
	}
	for _, e := range endpoints {
		if _, port, err := net.SplitHostPort(e[strings.Index(e, "//")+2:]); err != nil || port == "" {
			return badFlag("--store", fmt.Sprintf("%q has an address without a port", c.Store),
				"give addresses with ports, such as etcd://192.0.2.1:2379,192.0.2.2:2379")
		}
	}
	return nil
}

// badFlag is the error for a flag, or for its key in the configuration file.
func badFlag(flag, cause, remedy string) error {
	return heddle.Errorf(heddle.BadArgument, "read flag", flag, cause, remedy)
}
