package store

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/heddle-network/heddle"
)

// Options of an access to an etcd store.
type Options struct {
	// Endpoints are HOST:PORT of the members' client ports.
	Endpoints []string
	// TLS has this host's certificate and the authority; nil: unencrypted.
	TLS *tls.Config
	// Patience is how long a call retries if its context does not end sooner; 5 s if 0.
	Patience time.Duration
	// Log receives what happens between calls; nil: nothing is logged.
	Log *slog.Logger
}

// Etcd is a Store in etcd, from version 3.4 on.
type Etcd struct {
	options Options
	client  *clientv3.Client
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	health  health
	leases  leases
}

var _ Store = (*Etcd)(nil)

// Dial returns an access to the store. It does not wait for it to answer.
func Dial(o Options) (*Etcd, error) {
	if o.Patience <= 0 {
		o.Patience = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            urls(o.Endpoints, o.TLS != nil),
		TLS:                  o.TLS,
		DialKeepAliveTime:    10 * time.Second, // gRPC allows no less
		DialKeepAliveTimeout: silence,          // this is also the kernel's TCP_USER_TIMEOUT
		MaxUnaryRetries:      2,                // the function retry does it, since it knows what may be tried again
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(dial),
			// A snapshot is one answer, as large as everything the hosts share. gRPC accepts
			// 4 MiB by default, which is some 40,000 keys.
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
				MinConnectTimeout: 2 * time.Second,
			}),
		},
	})
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "open store", strings.Join(o.Endpoints, ","), err,
			"name its servers as HOST:PORT")
	}
	e := &Etcd{options: o, client: client}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.running.Go(e.watchHealth)
	return e, nil
}

// silence is how long a peer may fail to acknowledge what was sent to it.
const silence = 2500 * time.Millisecond

// dial connects in a way that lets the kernel detect, within silence, that a server's host
// is gone. This costs less than asking the server.
func dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 3}}
	return d.DialContext(ctx, "tcp", address)
}

func urls(endpoints []string, secure bool) []string {
	var all []string
	for _, e := range endpoints {
		switch {
		case strings.Contains(e, "://"):
		case secure:
			e = "https://" + e
		default:
			e = "http://" + e
		}
		all = append(all, e)
	}
	return all
}

// SetEndpoints replaces the servers to call.
func (e *Etcd) SetEndpoints(endpoints []string) {
	e.client.SetEndpoints(urls(endpoints, e.options.TLS != nil)...)
	e.health.refreshMembers()
}

// Client is etcd's own client, for the administration of members and users.
func (e *Etcd) Client() *clientv3.Client { return e.client }

// Close ends the watches and gives the lease back, if the store answers at once.
func (e *Etcd) Close() error {
	e.cancel()
	e.leases.revoke(e)
	e.running.Wait()
	return e.client.Close()
}
