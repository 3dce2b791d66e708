package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// programTimeout limits a program that only shows something.
const programTimeout = 10 * time.Second

// show runs a program that changes nothing and returns what it prints.
func show(ctx context.Context, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programTimeout)
	defer cancel()
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}

// link is an interface as ip(8) shows it.
type link struct {
	Name  string `json:"ifname"`
	MTU   int    `json:"mtu"`
	Alias string `json:"ifalias"`
	// Master is the bridge of which it is a port.
	Master string `json:"master"`
	Info   struct {
		Kind string `json:"info_kind"`
		Data struct {
			ID   int `json:"id"`
			Port int `json:"port"`
		} `json:"info_data"`
	} `json:"linkinfo"`
}

func (l link) ours() bool { return heddle.IsOurs(l.Alias) }

// Links returns the host's interfaces.
func (h *Host) Links(ctx context.Context) ([]link, error) {
	return h.links.get(func() (all []link, err error) { return all, showJSON(ctx, &all, "ip", "-j", "-d", "link", "show") })
}

// route is a route of the main table as ip(8) shows it.
type route struct {
	Dst      string `json:"dst"`
	Dev      string `json:"dev"`
	Gateway  string `json:"gateway"`
	Protocol string `json:"protocol"`
	Type     string `json:"type"`
	prefix   netip.Prefix
}

func (r route) ours() bool { return r.Protocol == fmt.Sprint(heddle.RouteProtocol) }

// String returns the line that ip(8) prints, as far as it matters.
func (r route) String() string {
	s := strings.TrimSpace(r.Type + " " + r.Dst)
	if r.Gateway != "" {
		s += " via " + r.Gateway
	}
	if r.Dev != "" {
		s += " dev " + r.Dev
	}
	return s + " proto " + r.Protocol
}

// Routes returns the routes of the main table, of both families.
func (h *Host) Routes(ctx context.Context) ([]route, error) {
	return h.routes.get(func() (all []route, err error) {
		for _, family := range []string{"-4", "-6"} {
			var some []route
			if err := showJSON(ctx, &some, "ip", "-N", "-j", family, "route", "show"); err != nil {
				return nil, err
			}
			for _, r := range some {
				r.prefix, _ = parsePrefix(r.Dst)
				all = append(all, r)
			}
		}
		return all, nil
	})
}

// parsePrefix reads a prefix as ip(8) writes it. An address alone is a prefix of full length.
// "default" is no prefix.
func parsePrefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, false
	}
	return heddle.Single(a), true
}

// rule is a policy rule as ip(8) shows it.
type rule struct {
	Priority int    `json:"priority"`
	Table    string `json:"table"`
	Protocol string `json:"protocol"`
	Src      string `json:"src"`
	Dst      string `json:"dst"`
}

func (r rule) String() string {
	s := fmt.Sprintf("%d: from %s", r.Priority, r.Src)
	if r.Dst != "" {
		s += " to " + r.Dst
	}
	return s + " lookup " + r.Table + " proto " + r.Protocol
}

// Rules returns the policy rules of both families.
func (h *Host) Rules(ctx context.Context) ([]rule, error) {
	return h.rules.get(func() (all []rule, err error) {
		for _, family := range []string{"-4", "-6"} {
			var some []rule
			if err := showJSON(ctx, &some, "ip", "-N", "-j", family, "rule", "show"); err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		return all, nil
	})
}

func showJSON(ctx context.Context, into any, argv ...string) error {
	text, err := show(ctx, argv...)
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return nil
}

// setting reads /proc/sys/NAME of this namespace. It is "" if it does not exist.
func setting(name string) string {
	b, _ := os.ReadFile(filepath.Join("/proc/sys", name))
	return strings.Join(strings.Fields(string(b)), " ")
}

// settingLine returns a setting and its value, as sysctl(8) prints them.
func settingLine(name string) string { return name + " = " + setting(name) }

// writeSetting sets a setting, and returns the equivalent command.
func writeSetting(name, value string) ([]string, error) {
	if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644); err != nil {
		return nil, err
	}
	return []string{"sysctl -w " + name + "=" + value}, nil
}

// linesOf reads a file's lines without comments (# and ;) and empty lines. A missing file has
// none.
func linesOf(path string) ([]fileLine, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var all []fileLine
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			all = append(all, fileLine{path, line})
		}
	}
	return all, err
}

type fileLine struct{ path, text string }

func (l fileLine) String() string { return l.path + ": " + l.text }

// configLines reads the files that match the patterns. Of files with the same name only the one
// of the first pattern counts, as with systemd.
func configLines(patterns ...string) (all []fileLine) {
	seen := map[string]bool{}
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if seen[filepath.Base(path)] {
				continue
			}
			seen[filepath.Base(path)] = true
			lines, _ := linesOf(path)
			all = append(all, lines...)
		}
	}
	return all
}
