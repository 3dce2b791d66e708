package program

import (
	"fmt"
	"net/netip"
	"runtime"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// nginx serves one file for every path; answers of a planned size are ranges of it. It takes PUT of any size, and drops the
// bodies as they come: it answers at once, and goes on to the next request of the connection when it has the body.
type nginx struct{}

func (nginx) debian() (pack, file string) { return "nginx-light", "nginx" }

func (nginx) version() ([]string, func(string) string) {
	return []string{"-v"}, func(said string) string { // nginx version: nginx/1.22.1
		_, v, _ := strings.Cut(strings.TrimSpace(said), "nginx/")
		v, _, _ = strings.Cut(v, " ")
		return v
	}
}

// Where nginx has its files.
const (
	nginxConf   = "/etc/nginx.conf"
	nginxPeople = "/etc/people.conf"
	nginxRun    = "/run/nginx"
)

func (n nginx) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	h := protocol.HTTP{Host: s.Host}
	p = container.Program{Args: []string{"-c", nginxConf, "-e", "stderr"}, Folders: []string{nginxRun},
		Size: protocol.Content + int64(len(s.Admits))*perAdmitted + spare}
	if p.Files, h.TLS, err = s.secured(); err != nil {
		return p, nil, err
	}
	speaks = h
	if s.HTTP == 2 {
		h.TLS.NextProtos = []string{"h2"}
		speaks = protocol.HTTP2{HTTP: h}
	}
	p.Files = append(p.Files, text(nginxConf, n.conf(s, h.Port())), text(nginxPeople, people(s.Admits)),
		s.webFile())
	return p, speaks, nil
}

// What nginx' files take, beside the contents, in bytes.
const (
	perAdmitted = 64      // a line
	spare       = 1 << 20 // all else
)

// connections is how many each process of a program takes: all may come to one of them, and as people wait longer on a slow
// network than planned, twice as many. It never takes more than a process may have files.
func (s Setting) connections() int64 {
	c := max(512, 2*s.Connections)
	if s.Files > 0 {
		c = min(c, s.Files-scenario.FilesOfProgram)
	}
	return c
}

// people lists whom nginx answers, in the words of its module geo.
func people(admits []netip.Addr) string {
	var b strings.Builder
	for _, a := range admits {
		fmt.Fprintf(&b, "%s 1;\n", a)
	}
	return b.String()
}

func (nginx) conf(s Setting, port uint16) string {
	var listen strings.Builder
	how, more := "", ""
	if s.Authority != nil {
		how = " ssl"
		if s.HTTP == 2 {
			how = " ssl http2"
		}
		more = fmt.Sprintf("\n    ssl_certificate %s;\n    ssl_certificate_key %s;", certFile, keyFile)
	}
	for _, a := range s.Addrs {
		fmt.Fprintf(&listen, "\n    listen %s%s;", netip.AddrPortFrom(a, port), how)
	}
	c := s.connections()
	return fmt.Sprintf(`daemon off;
pid %[1]s/pid;
error_log stderr error;
worker_processes %[2]d;
worker_rlimit_nofile %[3]d;
events { worker_connections %[4]d; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  default_type text/html;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  # The plan says how long connections last, and how large requests are.
  keepalive_timeout 1d;
  keepalive_requests 1000000000;
  client_header_timeout 1h;
  send_timeout 1h;
  client_max_body_size 0;
  lingering_time 1d;
  lingering_timeout 1h;
  geo $person {
    default 0;
    include %[5]s;
  }
  server {%[6]s%[7]s
    root %[11]s;
    # What nginx refuses by itself comes back here, for strangers to be dropped.
    error_page 400 405 408 414 494 497 501 505 = /refused;
    if ($person = 0) { return 444; }
    if ($request_method = PUT) { return 204; }
    location %[8]s { return 401 "%[9]s"; }
    location = /refused { internal; return 400; }
    location / { try_files %[10]s =404; }
  }
}
`, nginxRun, runtime.NumCPU(), c+scenario.FilesOfProgram, c, nginxPeople, listen.String(), more, protocol.LoginPath, webRefusal, webContent, webFolder)
}
