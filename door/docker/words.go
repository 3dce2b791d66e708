package docker

import (
	"regexp"

	"github.com/heddle-network/heddle/door"
)

// A remedy names flags of 'heddle network create' or of 'docker network create'. dockerWords says for
// each how it is written in Docker, where that differs, and in a Compose file.
var dockerWords = []struct {
	flag            *regexp.Regexp
	docker, compose string
}{
	{regexp.MustCompile(`--ipam-driver heddle\b`), "", "ipam: {driver: heddle}"},
	{regexp.MustCompile(`--subnet\b`), "", "ipam: {driver: heddle, config: [{subnet: CIDR}]}"},
	{regexp.MustCompile(`--gateway\b`), "", "ipam: {driver: heddle, config: [{gateway: IP}]}"},
	{regexp.MustCompile(`--ip-range\b`), "", "ipam: {driver: heddle, config: [{ip_range: CIDR}]}"},
	{regexp.MustCompile(`--internal\b`), "", "internal: true"},
	{regexp.MustCompile(`--ipv6\b`), "", "enable_ipv6: true"},
	{regexp.MustCompile(`-o mode=bridge\b`), "", "driver_opts: {mode: bridge}"},
	{regexp.MustCompile(`--mode\b`), "-o mode=MODE", "driver_opts: {mode: MODE}"},
	{regexp.MustCompile(`--parent\b`), "-o parent=NAME", "driver_opts: {parent: NAME}"},
	{regexp.MustCompile(`--mtu\b`), "-o " + door.OptionMTU + "=BYTES", "driver_opts: {" + door.OptionMTU + ": BYTES}"},
	{regexp.MustCompile(`--opt\b`), "-o OPTION=VALUE", "driver_opts: {OPTION: VALUE}"},
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
