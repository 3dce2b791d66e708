package store

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/heddle-network/heddle"
)

// config is etcd's configuration, for a store of some megabytes and few members.
func (o ServerOptions) config(f *failure) (*embed.Config, error) {
	if len(o.Client) == 0 || len(o.Peer) == 0 {
		return nil, heddle.Errorf(heddle.BadArgument, "start member of the store", o.Name,
			"it has no address to listen on", "name addresses of the underlay")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(o.Dir, 0o700); err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Name, c.Dir = o.Name, o.Dir
	c.ListenClientUrls, c.ListenPeerUrls = o.urls(o.Client), o.urls(o.Peer)
	c.AdvertiseClientUrls, c.AdvertisePeerUrls = o.urls(o.Client[:1]), o.urls(o.Peer[:1])
	c.InitialCluster = o.initial()
	c.InitialClusterToken = "heddle"
	if o.Existing {
		c.ClusterState = embed.ClusterStateFlagExisting
	}
	c.ForceNewCluster = o.ForceNew
	c.MaxLearners = 3
	// A lost quorum is detected within two election timeouts.
	c.TickMs, c.ElectionMs = 100, 800
	c.QuotaBackendBytes = o.Quota
	c.SnapshotCount, c.SnapshotCatchUpEntries = 2000, 500 // entries kept in memory
	c.MaxSnapFiles, c.MaxWalFiles = 2, 2
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, "1h"
	c.EnableGRPCGateway = false // the gateway would act with this server's own rights
	c.Metrics = "basic"
	if t := o.TLS; t != nil {
		info := transport.TLSInfo{TrustedCAFile: t.CA, CertFile: t.Cert, KeyFile: t.Key, ClientCertAuth: true,
			SkipClientSANVerify: true} // a caller may have other addresses than its certificate; the name counts
		c.ClientTLSInfo, c.PeerTLSInfo = info, info
		c.PeerTLSInfo.AllowedCNs = names(t.PeerName)
	}
	c.GRPCAdditionalServerOptions = f.callOptions()
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(&logCore{log: o.Log}, zap.WithFatalHook(f), zap.WithPanicHook(f)))
	return c, nil
}

var _ zapcore.CheckWriteHook = (*failure)(nil)

func names(one string) []string {
	if one == "" {
		return nil
	}
	return []string{one}
}

func (o ServerOptions) urls(addresses []netip.AddrPort) []url.URL {
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	var all []url.URL
	for _, a := range addresses {
		all = append(all, url.URL{Scheme: scheme, Host: a.String()})
	}
	return all
}

func (o ServerOptions) initial() string {
	if len(o.Initial) == 0 {
		own := o.urls(o.Peer[:1])[0]
		return o.Name + "=" + own.String()
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.Initial)) {
		all = append(all, name+"="+o.Initial[name])
	}
	return strings.Join(all, ",")
}

// classify reads etcd's words on why a member cannot run.
func (o ServerOptions) classify(words string) (heddle.Code, string) {
	has := func(some ...string) bool {
		return slices.ContainsFunc(some, func(w string) bool { return strings.Contains(words, w) })
	}
	switch {
	case has("address already in use"):
		return heddle.PortTaken, fmt.Sprintf("end the other program that listens on one of %v, %v ('ss -ltnp' shows it)", o.Client, o.Peer)
	case has("cannot assign requested address"):
		return heddle.BadAddress, "give an address of this host with --underlay"
	case has("no space left", "quota exceeded"):
		return heddle.StoreFull, "make room on the file system of " + o.Dir
	case has("cluster ID mismatch", "member count is unequal", "unmatched member", "has already been bootstrapped", "couldn't find local name", "removed from the cluster", "permanently removed"):
		return heddle.StoreStrange, "if this host was removed, or the folder " + o.Dir + " is from another cluster, move the state folder away and join again"
	case has("invalid database", "failed to open database", "file checksum", "crc mismatch"):
		return heddle.StoreStrange, "replace this host as a keeper of the store ('heddle host replace'): the data in " + o.Dir + " cannot be read"
	case has("x509: ", "tls: ", "no such file", "permission denied"):
		return heddle.StoreRefused, "look at the files of the certificate and at " + o.Dir
	default:
		return heddle.StoreDown, "look at the agent's log and at " + o.Dir
	}
}
