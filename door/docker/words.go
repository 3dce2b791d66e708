package docker

import (
	"github.com/heddle-network/heddle/door"
	"github.com/heddle-network/heddle/lazyregexp"
)

// A remedy names flags of 'heddle network create' or of 'docker network create'. dockerWords says for
// each how it is written in Docker, where that differs, and in a Compose file.
var dockerWords = []struct {
	flag            *lazyregexp.Regexp
	docker, compose string
}{
	{lazyregexp.New(`--ipam-driver heddle\b`), "", "ipam: {driver: heddle}"},
	{lazyregexp.New(`--subnet\b`), "", "ipam: {driver: heddle, config: [{subnet: CIDR}]}"},
	{lazyregexp.New(`--gateway\b`), "", "ipam: {driver: heddle, config: [{gateway: IP}]}"},
	{lazyregexp.New(`--ip-range\b`), "", "ipam: {driver: heddle, config: [{ip_range: CIDR}]}"},
	{lazyregexp.New(`--internal\b`), "", "internal: true"},
	{lazyregexp.New(`--ipv6\b`), "", "enable_ipv6: true"},
	{lazyregexp.New(`-o mode=bridge\b`), "", "driver_opts: {mode: bridge}"},
	{lazyregexp.New(`--mode\b`), "-o mode=MODE", "driver_opts: {mode: MODE}"},
	{lazyregexp.New(`--parent\b`), "-o parent=NAME", "driver_opts: {parent: NAME}"},
	{lazyregexp.New(`--mtu\b`), "-o " + door.OptionMTU + "=BYTES", "driver_opts: {" + door.OptionMTU + ": BYTES}"},
	{lazyregexp.New(`--opt\b`), "-o OPTION=VALUE", "driver_opts: {OPTION: VALUE}"},
}

// inDockerWords adds to each flag in a remedy how it is written in Docker and in a Compose file: the
// engine does not say which of them its user has.
func inDockerWords(remedy string) string {
	for _, w := range dockerWords {
		at := w.flag.FindStringIndex(remedy)
		if at == nil {
			continue
		}
		words := "Compose: " + w.compose
		if w.docker != "" {
			words = "docker: " + w.docker + ", " + words
		}
		remedy = remedy[:at[1]] + " (" + words + ")" + remedy[at[1]:]
	}
	return remedy
}
