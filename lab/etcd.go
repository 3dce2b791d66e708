package lab

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/heddle-network/heddle"
)

// The ports of etcd.
const (
	etcdClients = 2379
	etcdPeers   = 2380
)

// addEtcd adds etcd as the first daemon of the hosts that shall run a member, and gives the
// agents the members' addresses.
func (t Topology) addEtcd() error {
	var members, endpoints []string
	for _, name := range t.Etcd {
		n := t.findNode(name)
		if n == nil || n.Router {
			return refuse("start etcd on host", name, "the lab has no such host", "name one of its hosts")
		}
		members = append(members, name+"="+httpURL(n.address(), etcdPeers))
		endpoints = append(endpoints, netip.AddrPortFrom(n.address(), etcdClients).String())
	}
	for _, name := range t.Etcd {
		n := t.findNode(name)
		n.Daemons = append([]Daemon{n.etcd(strings.Join(members, ","))}, n.Daemons...)
	}
	return t.checkStore(endpoints)
}

func (t Topology) checkStore(endpoints []string) error {
	switch {
	case t.Store == "" || t.Store == "none":
	case t.Agent.Off:
		return refuse("set store", t.Store, "the lab has no agents", "leave the store out")
	case t.Store == StoreEtcd && len(endpoints) == 0:
		return refuse("set store", t.Store, "no host runs it", "name the hosts that run it under 'etcd'")
	case t.Store == StoreEtcd:
		for i := range t.Hosts {
			a := &t.Hosts[i].Agent
			a.Args = append([]string{"--store", "etcd+insecure://" + strings.Join(endpoints, ","), "--underlay", uplink}, a.Args...)
		}
	case t.Store != StoreEmbedded:
		return refuse("set store", t.Store, "there is no such store", "choose none, embedded or etcd")
	}
	return nil
}

// etcd returns the daemon of one member. Its data is in memory, and its traffic is not
// encrypted: a lab's wires have no other users.
func (n *Node) etcd(members string) Daemon {
	clients, peers := httpURL(n.address(), etcdClients), httpURL(n.address(), etcdPeers)
	return Daemon{Name: "etcd", Ready: Ready{TCP: etcdClients},
		Command: []string{"etcd", "--name", n.Name, "--data-dir", "/run/etcd",
			"--listen-client-urls", clients + "," + httpURL(netip.AddrFrom4([4]byte{127, 0, 0, 1}), etcdClients), "--advertise-client-urls", clients,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--initial-cluster", members, "--initial-cluster-state", "new"}}
}

func httpURL(a netip.Addr, port uint16) string {
	return fmt.Sprintf("http://%v", netip.AddrPortFrom(a, port))
}

// address returns the node's first IPv4 address, or else its first address.
func (n *Node) address() netip.Addr {
	if a := ofFamily(n.NICs[0].Addresses, heddle.IPv4); a.IsValid() {
		return a
	}
	return n.NICs[0].Addresses[0].Addr()
}

func (t Topology) findNode(name string) *Node {
	for i := range t.Hosts {
		if t.Hosts[i].Name == name {
			return &t.Hosts[i]
		}
	}
	return nil
}
