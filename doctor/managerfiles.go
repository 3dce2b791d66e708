package doctor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
)

func lookIfupdown(context.Context, *Host) Finding {
	var evidence, remedy []string
	for _, l := range append(configLines("/etc/network/interfaces"), configLines("/etc/network/interfaces.d/*")...) {
		words := strings.Fields(l.text)
		takes := words[0] == "auto" || words[0] == "iface" || strings.HasPrefix(words[0], "allow-")
		pattern := func(w string) bool { return matchesSampleName(strings.TrimPrefix(w, "/")) || isOurName(w) }
		if takes && slices.ContainsFunc(words[1:min(len(words), 2)], pattern) {
			evidence, remedy = append(evidence, l.String()), append(remedy, "remove the line from "+l.path)
		}
	}
	return trouble(evidence, remedy...)
}

// isOurName reports whether a name has the form of our links' names: a prefix and ten
// hexadecimal digits, and perhaps more digits or a letter.
func isOurName(name string) bool {
	for _, p := range prefixes {
		digits, found := strings.CutPrefix(name, p)
		if found && len(digits) >= 10 && strings.Trim(digits[:10], "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}

func lookUfw(context.Context, *Host) Finding {
	var evidence []string
	on, drops := false, false
	for _, l := range append(configLines("/etc/ufw/ufw.conf"), configLines("/etc/default/ufw")...) {
		plain := strings.ReplaceAll(l.text, `"`, "")
		if plain == "ENABLED=yes" || plain == "DEFAULT_FORWARD_POLICY=DROP" || plain == "DEFAULT_FORWARD_POLICY=REJECT" {
			evidence = append(evidence, l.String())
			on, drops = on || plain == "ENABLED=yes", drops || plain != "ENABLED=yes"
		}
	}
	if on && drops {
		return trouble(evidence)
	}
	return fine(evidence...)
}

func lookFlush(context.Context, *Host) Finding {
	enabled, _ := filepath.Glob("/etc/systemd/system/*.wants/nftables.service")
	for _, l := range configLines("/etc/nftables.conf") {
		if len(enabled) > 0 && strings.HasPrefix(l.text, "flush ruleset") {
			return trouble(append(enabled, l.String()))
		}
	}
	return fine()
}
