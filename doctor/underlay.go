package doctor

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/path"
)

// storePorts are the ports for joining, and for clients and members of the store.
var storePorts = lazyregexp.New(`\b94(78|79|80)\b`)

// portOf returns a pattern that finds a path's port in rules, by number or name.
func portOf(p path.Path) *lazyregexp.Regexp {
	return lazyregexp.New(fmt.Sprintf(`\b(%d|%s)\b`, p.Port(), p.Name()))
}

// openPattern matches rules that accept all packets of an interface or a source, which may
// include the underlay's.
var openPattern = lazyregexp.New(`(iifname|iif|saddr|-i |-s ).*(accept|ACCEPT)`)

func lookUnderlayInput(ctx context.Context, h *Host) Finding {
	if !h.clustered() {
		return notInCluster
	}
	all, err := h.foreign(ctx)
	if err != nil {
		return unknown(err)
	}
	links, err := h.Links(ctx)
	if err != nil {
		return unknown(err)
	}
	tunnelPorts := portOf(pathOf(links))
	var evidence []string
	for _, c := range all {
		if !filterAt("input")(c) {
			continue
		}
		for _, r := range c.rules {
			if endPattern.MatchString(r) && (tunnelPorts.MatchString(r) || storePorts.MatchString(r)) {
				evidence = append(evidence, c.quote(r))
			}
		}
		lets := func(ports *lazyregexp.Regexp) bool {
			return slices.ContainsFunc(all, func(o chain) bool {
				return o.family == c.family && o.table == c.table && o.hook != "forward" && slices.ContainsFunc(o.rules, func(r string) bool {
					return !endPattern.MatchString(r) && (ports.MatchString(r) || openPattern.MatchString(r) && !strings.Contains(r, "lo"))
				})
			})
		}
		if c.drops && (!lets(tunnelPorts) || !lets(storePorts)) {
			evidence = append(evidence, c.quote(c.head))
		}
	}
	return trouble(evidence)
}

// certificates returns this host's certificates in its cluster, by file.
func (h *Host) certificates() (all map[string]*x509.Certificate, missing *Finding) {
	if !h.clustered() {
		return nil, &notInCluster
	}
	files, _ := filepath.Glob(filepath.Join(h.StateDir, "cluster", "*.crt"))
	all = map[string]*x509.Certificate{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f := skip(err.Error())
			return nil, &f
		}
		if block, _ := pem.Decode(text); block != nil {
			if c, err := x509.ParseCertificate(block.Bytes); err == nil {
				all[file] = c
			}
		}
	}
	if len(all) == 0 {
		f := skip("no certificates in " + filepath.Join(h.StateDir, "cluster"))
		return nil, &f
	}
	return all, nil
}

func lookClusterClock(_ context.Context, h *Host) Finding {
	return h.lookDates(func(c *x509.Certificate, now time.Time) bool { return now.Before(c.NotBefore) })
}

// expiryWarning is how long before the expiry the check warns. Agents renew much earlier.
const expiryWarning = 7 * 24 * time.Hour

func lookCertificate(_ context.Context, h *Host) Finding {
	return h.lookDates(func(c *x509.Certificate, now time.Time) bool { return now.Add(expiryWarning).After(c.NotAfter) })
}

func (h *Host) lookDates(bad func(*x509.Certificate, time.Time) bool) Finding {
	all, missing := h.certificates()
	if missing != nil {
		return *missing
	}
	now := time.Now()
	var evidence, read []string
	for file, c := range all {
		line := fmt.Sprintf("%s: valid from %s to %s; the clock says %s", file, c.NotBefore.UTC().Format(time.DateTime), c.NotAfter.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime))
		read = append(read, line)
		if bad(c, now) {
			evidence = append(evidence, line)
		}
	}
	slices.Sort(evidence)
	slices.Sort(read)
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

// dialTimeout limits connecting to a member of the store.
const dialTimeout = 3 * time.Second

func lookStoreReach(ctx context.Context, h *Host) Finding {
	if !h.clustered() {
		return notInCluster
	}
	file := filepath.Join(h.StateDir, "cluster", "endpoints")
	lines, err := linesOf(file)
	if err != nil {
		return skip(err.Error())
	}
	var evidence, read []string
	for _, line := range lines {
		at, err := url.Parse(line.text)
		if err != nil {
			return skip(line.String())
		}
		read = append(read, line.String())
		dialer := net.Dialer{Timeout: dialTimeout}
		conn, err := dialer.DialContext(ctx, "tcp", at.Host)
		if err != nil {
			evidence = append(evidence, line.String()+": "+err.Error())
			continue
		}
		conn.Close()
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

func lookTunnelChecksums(ctx context.Context, h *Host) Finding {
	if !h.clustered() {
		return notInCluster
	}
	st, err := h.Status(ctx)
	if err != nil {
		return unknown(err)
	}
	if detail := st.Part("paths").Detail; strings.Contains(detail, "checksums") {
		return trouble([]string{"heddle status: paths: " + detail})
	}
	return fine()
}

func lookTunnelOffload(ctx context.Context, h *Host) Finding {
	l, _, missing := h.underlay(ctx)
	if missing != nil {
		return *missing
	}
	text, err := show(ctx, "ethtool", "-k", l.Name)
	if err != nil {
		return skip(err.Error())
	}
	line := ""
	for one := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(one), "tx-udp_tnl-segmentation:") {
			line = "ethtool -k " + l.Name + ": " + strings.TrimSpace(one)
		}
	}
	if strings.Contains(line, ": off") {
		return trouble([]string{line}, "ethtool -K "+l.Name+" tx-udp_tnl-segmentation on, if the NIC can")
	}
	return fine(line)
}
