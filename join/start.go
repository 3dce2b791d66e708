package join

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
)

// foundingTime bounds how long a new cluster's store may take to come up.
const foundingTime = 30 * time.Second

// start starts the host's part: a member's server and door, and every host's connection to
// the store.
func (n *Node) start(ctx context.Context) error {
	if err := n.checkForce(ctx); err != nil {
		return err
	}
	if n.record.Member {
		if !n.record.KeyAway { // otherwise other hosts sign, later
			if err := n.renew(ctx); err != nil { // before they are used
				return err
			}
		}
		if err := n.serveLocked(); err != nil && (n.opt.ForceNew || n.record.Founder && !n.record.Enabled) {
			return err
		} else if err != nil { // containers need the agent in any case
			n.log.Error("this host does not keep the store for now", "error", err)
		}
	}
	err := n.finishForce(ctx)
	if err != nil {
		return err
	}
	if n.store, err = store.Dial(store.Options{Endpoints: n.endpoints, TLS: n.hostTLS(), Log: n.log}); err != nil {
		return err
	}
	if n.record.Founder && !n.record.Enabled {
		if err := n.enable(ctx); err != nil {
			return err
		}
	}
	ctx, n.stop = context.WithCancel(context.Background())
	n.done.Go(func() { n.followMembers(ctx) })
	n.done.Go(func() { n.followKeeperKey(ctx) })
	n.done.Go(func() { n.followWithdrawal(ctx) })
	n.done.Go(func() { n.maintain(ctx) })
	return nil
}

// serveLocked starts the server and the door of a member of the store, if they do not run.
func (n *Node) serveLocked() error {
	if n.server != nil && stopped(n.server) {
		n.server.Close()
		n.server = nil
	}
	if n.server == nil {
		if err := n.serveStore(); err != nil {
			return err
		}
	}
	if n.door != nil {
		return nil
	}
	var err error
	n.door, err = n.openDoor()
	return err
}

func stopped(s *store.Server) bool {
	select {
	case <-s.Stopped():
		return true
	default:
		return false
	}
}

func (n *Node) serveStore() error {
	for _, a := range n.record.Underlay {
		if n.record.Founder && !n.record.Enabled || !n.dir.has(dirData) {
			awaitAddress(a) // after a restart, do not wait: keepServing tries again
		}
	}
	server, err := store.StartServer(store.ServerOptions{
		Name: n.record.Name, Dir: n.dir.path(dirData), Initial: n.record.Initial, Existing: !n.record.Founder,
		ForceNew: n.opt.ForceNew && !n.record.Forced,
		Client:   ports(n.record.Underlay, ClientPort), Peer: ports(n.record.Underlay, PeerPort),
		TLS: &store.ServerTLS{CA: n.dir.path(fileAuthority), Cert: n.dir.path(fileServer), Key: n.dir.path(fileServerKey), PeerName: serverName}, Log: n.log})
	if err == nil {
		n.server = server
	}
	return err
}

// awaitAddress waits for an address that the kernel may still be checking for
// duplicates (RFC 4862, section 5.4): nothing can listen on it until then.
func awaitAddress(a netip.Addr) {
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		l, err := net.Listen("tcp", netip.AddrPortFrom(a, 0).String())
		if err == nil {
			l.Close()
			return
		}
	}
}

func ports(addrs []netip.Addr, port uint16) []netip.AddrPort {
	var all []netip.AddrPort
	for _, a := range addrs {
		all = append(all, netip.AddrPortFrom(a, port))
	}
	return all
}

// enable turns access control on in the store of a new cluster, and records its
// first host.
func (n *Node) enable(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, foundingTime, errors.New("the store did not come up in time"))
	defer cancel()
	if err := n.awaitServer(ctx); err != nil {
		return err
	}
	r, err := n.roster(ctx)
	if err != nil {
		return err
	}
	if err := r.enrol(ctx, n.record.identity, n.host.Load().key.Public(), n.record.Underlay, n.opt.Now()); err != nil {
		return err
	}
	if err := r.enable(ctx, n.record.identity); err != nil {
		return err
	}
	if err := r.republish(ctx); err != nil {
		return err
	}
	done := n.record
	done.Enabled = true
	return n.saveLocked(done)
}

// roster returns the operator's access to the store, which members have.
func (n *Node) roster(context.Context) (roster, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		return roster{}, noCredential(n.me.Name)
	}
	if n.admin == nil {
		r, err := n.connectLocked(n.keys.operator, n.endpoints)
		if err != nil {
			return roster{}, err
		}
		n.admin = &r
	}
	return *n.admin, nil
}

// connectLocked connects to the store with a credential.
func (n *Node) connectLocked(p pair, endpoints []string) (roster, error) {
	c := n.callTLS()
	cert := p.tls()
	c.Certificates = append(c.Certificates, cert)
	s, err := store.Dial(store.Options{Endpoints: endpoints, TLS: c, Log: n.log})
	if err != nil {
		return roster{}, err
	}
	return roster{s, s, s.Client()}, nil
}

func noCredential(name string) error {
	return heddle.Errorf(heddle.NoCredential, "use the operator's credential on host", name, "the host does not keep the store, and so has none",
		"call on a host that keeps the store ('heddle host list' shows them), or name the credential with --credential (operator.pem of such a host's state folder)")
}

// memberKeys returns the keys, which exist as long as the host keeps the store.
func (n *Node) memberKeys() (*keys, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		return nil, noCredential(n.me.Name)
	}
	k := *n.keys
	return &k, nil
}
