package doctor

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func lookNetworkdRoutes(_ context.Context, h *Host) Finding {
	daemon := h.running("systemd-networkd")
	if len(daemon) == 0 {
		return fine("systemd-networkd does not run here")
	}
	var read []string
	kept := map[string]bool{}
	for _, l := range configLines("/etc/systemd/networkd.conf.d/*.conf", "/run/systemd/networkd.conf.d/*.conf", "/usr/lib/systemd/networkd.conf.d/*.conf", "/etc/systemd/networkd.conf") {
		key, value, _ := strings.Cut(l.text, "=")
		if key = strings.TrimSpace(key); strings.HasPrefix(key, "ManageForeignRout") {
			read = append(read, l.String())
			kept[key] = slices.Contains([]string{"no", "false", "off", "0"}, strings.ToLower(strings.TrimSpace(value)))
		}
	}
	if kept["ManageForeignRoutes"] && kept["ManageForeignRoutingPolicyRules"] {
		return fine(read...)
	}
	return trouble(append(lines(daemon), append(read, "without a line the default is yes")...))
}

// section holds the keys of a section of a unit file.
type section map[string][]string

// networkFile reads the [Match] and [Link] sections of a *.network file.
func networkFile(file string) (match, link section) {
	match, link = section{}, section{}
	all, _ := linesOf(file)
	current := section{}
	for _, l := range all {
		switch key, value, pair := strings.Cut(l.text, "="); {
		case l.text == "[Match]":
			current = match
		case l.text == "[Link]":
			current = link
		case strings.HasPrefix(l.text, "["):
			current = section{}
		case pair:
			key = strings.TrimSpace(key)
			current[key] = append(current[key], strings.Fields(value)...)
		}
	}
	return match, link
}

// matchesOurs reports whether the section matches links such as ours: by name, or, if it names
// none, only by types or kinds that ours have.
func (s section) matchesOurs() bool {
	if names, given := s["Name"]; given {
		return slices.ContainsFunc(names, matchesSampleName)
	}
	for key, values := range s {
		ours := func(v string) bool { return slices.Contains([]string{"ether", "veth", "bridge", "*"}, v) }
		if key != "Type" && key != "Kind" || !slices.ContainsFunc(values, ours) {
			return false
		}
	}
	return len(s) > 0
}

func matchesSampleName(pattern string) bool {
	for _, name := range sampleNames {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}

func lookNetworkdLinks(_ context.Context, h *Host) Finding {
	daemon := h.running("systemd-networkd")
	if len(daemon) == 0 {
		return fine("systemd-networkd does not run here")
	}
	// of the files that match a link, the first by name counts
	byName := map[string]string{}
	for _, dir := range []string{"/usr/lib/systemd/network", "/lib/systemd/network", "/run/systemd/network", "/etc/systemd/network"} {
		files, _ := filepath.Glob(dir + "/*.network")
		for _, f := range files {
			byName[filepath.Base(f)] = f
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		match, link := networkFile(byName[name])
		if !match.matchesOurs() {
			continue
		}
		read := byName[name] + ": [Match]"
		for key, values := range match {
			read += " " + key + "=" + strings.Join(values, " ")
		}
		if unmanaged := strings.Join(link["Unmanaged"], ""); unmanaged == "yes" || unmanaged == "true" || unmanaged == "1" {
			return fine(read, byName[name]+": Unmanaged="+unmanaged)
		}
		return trouble(append(lines(daemon), read))
	}
	return fine("no *.network file matches hb*, hc*, hd*, hi*, hm*, hs* or hv*")
}
