package program

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"go4.org/netipx"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// caddy serves HTTP/3, and what nginx does: one file for every path.
type caddy struct{}

func (caddy) debian() (pack, file string) { return "caddy", "caddy" }

func (caddy) version() ([]string, func(string) string) {
	return []string{"version"}, func(said string) string { // v2.6.2 h1:…, or 2.6.2
		v, _, _ := strings.Cut(strings.TrimSpace(said), " ")
		return strings.TrimPrefix(v, "v")
	}
}

// Where caddy has its files.
const (
	caddyConf = "/etc/caddy.json"
	caddyRun  = "/run/caddy"
)

func (c caddy) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	if s.Authority == nil || s.HTTP != 3 {
		return p, nil, errors.New("it is for HTTP/3 over TLS")
	}
	h := protocol.HTTP{Host: s.Host}
	if p.Files, h.TLS, err = s.secured(); err != nil {
		return p, nil, err
	}
	conf, err := c.conf(s, h.Port())
	if err != nil {
		return p, nil, err
	}
	p.Args, p.Folders, p.Size = []string{"run", "--config", caddyConf}, []string{caddyRun}, protocol.Content+int64(len(conf))+spare
	p.Files = append(p.Files, text(caddyConf, conf), s.webFile())
	return p, protocol.HTTP3{HTTP2: protocol.HTTP2{HTTP: h}}, nil
}

// conf has all that caddy does (its JSON structure, https://caddyserver.com/docs/json/), and nothing that it does by itself: no
// certificates from elsewhere, no commands from others, no other versions of HTTP. Who is not admitted has no handshake.
func (caddy) conf(s Setting, port uint16) (string, error) {
	type object = map[string]any
	people, err := ranges(s.Admits)
	if err != nil {
		return "", err
	}
	listen := make([]string, len(s.Addrs))
	for i, a := range s.Addrs {
		listen[i] = netip.AddrPortFrom(a, port).String()
	}
	routes := []object{
		{"match": []object{{"path": []string{protocol.LoginPath + "*"}}}, "terminal": true,
			"handle": []object{{"handler": "static_response", "status_code": 401, "body": webRefusal,
				"headers": object{"Content-Length": []string{strconv.Itoa(len(webRefusal))}}}}},
		{"handle": []object{{"handler": "rewrite", "uri": webContent}, {"handler": "file_server", "root": webFolder}}},
	}
	conf, err := json.MarshalIndent(object{
		"admin":   object{"disabled": true, "config": object{"persist": false}},
		"logging": object{"logs": object{"default": object{"level": "ERROR", "writer": object{"output": "stderr"}}}},
		"storage": object{"module": "file_system", "root": caddyRun},
		"apps": object{
			"tls": object{"certificates": object{"load_files": []object{{"certificate": certFile, "key": keyFile}}}},
			"http": object{"servers": object{s.Service: object{"listen": listen, "protocols": []string{"h3"}, "automatic_https": object{"disable": true},
				"tls_connection_policies": []object{{"match": object{"remote_ip": object{"ranges": people}}}}, "routes": routes}}},
		},
	}, "", " ")
	return string(conf), err
}

// ranges are as few ranges as have these addresses, and no other: caddy looks at one after the other.
func ranges(addrs []netip.Addr) (all []string, err error) {
	var set netipx.IPSetBuilder
	for _, a := range addrs {
		set.Add(a)
	}
	one, err := set.IPSet()
	if err != nil {
		return nil, err
	}
	for _, p := range one.Prefixes() {
		all = append(all, p.String())
	}
	return all, nil
}
