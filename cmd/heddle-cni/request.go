package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxConf bounds the network configuration, maxValue one variable, in bytes.
const (
	maxConf  = 1 << 20
	maxValue = 64 << 10
)

// request is what the runtime asks: the environment of section 2 of the CNI
// specification, without CNI_PATH, since the agent delegates to no plugin.
type request struct {
	command, container, netns, ifname, args string
	// netavark says that netavark asks: command is the subcommand, netns its argument, and
	// container and ifname stand in the document.
	netavark bool
}

// detaches reports whether what is asked may be left for later.
func (q request) detaches() bool {
	if q.netavark {
		return q.command == "teardown"
	}
	return q.command == "DEL"
}

// readEnvironment reads and checks the environment; bad says what is wrong with it. A DEL
// may be queued before the agent has seen it. So everything whose form the agent would
// refuse is refused here.
func readEnvironment(command string) (q request, bad string) {
	q = request{command: command, container: os.Getenv("CNI_CONTAINERID"), netns: os.Getenv("CNI_NETNS"),
		ifname: os.Getenv("CNI_IFNAME"), args: os.Getenv("CNI_ARGS")}
	for _, v := range []struct{ name, value string }{
		{"CNI_COMMAND", q.command}, {"CNI_CONTAINERID", q.container}, {"CNI_NETNS", q.netns}, {"CNI_IFNAME", q.ifname}, {"CNI_ARGS", q.args},
	} {
		if !printable(v.value) {
			return q, v.name + " is too long, holds control characters, or has blanks at its ends"
		}
	}
	switch q.command {
	case "ADD", "CHECK":
		if q.netns == "" {
			return q, "CNI_NETNS is missing"
		}
		bad = q.checkID()
	case "DEL":
		bad = q.checkID()
	case "GC", "STATUS":
	default:
		bad = "unknown CNI_COMMAND: " + q.command
	}
	return q, bad
}

func printable(s string) bool {
	return len(s) <= maxValue && strings.TrimSpace(s) == s && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

// checkID checks the endpoint's id as heddle.EndpointID does.
func (q request) checkID() string {
	switch {
	case q.container == "":
		return "CNI_CONTAINERID is missing"
	case !validContainer(q.container):
		return "CNI_CONTAINERID is invalid: it starts with a letter or digit, goes on with letters, digits, '_', '.', '-', and has at most 128 bytes"
	case q.ifname == "":
		return "CNI_IFNAME is missing"
	case !validIfName(q.ifname):
		return "CNI_IFNAME is invalid: an interface name has 1 to 15 printable ASCII bytes without '/', ':' or spaces"
	}
	return ""
}

func validContainer(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

func validIfName(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '/' || c == ':' {
			return false
		}
	}
	return s != "" && len(s) <= 15 && s != "." && s != ".."
}

// message is the one HTTP request; version 1.0 has neither chunks nor
// connections to keep.
func (q request) message(conf []byte) []byte {
	netns := q.netns
	if netns != "" && netns[0] != '/' {
		if dir, err := os.Getwd(); err == nil {
			netns = dir + "/" + netns
		}
	}
	path := "/v1/cni"
	headers := [][2]string{{"Cni-Command", q.command}, {"Cni-Containerid", q.container}, {"Cni-Netns", netns},
		{"Cni-Ifname", q.ifname}, {"Cni-Args", q.args}}
	if q.netavark {
		path, headers = "/v1/netavark", [][2]string{{"Netavark-Command", q.command}, {"Netavark-Netns", netns}}
	}
	b := make([]byte, 0, len(conf)+1024)
	b = append(b, "POST "+path+" HTTP/1.0\r\nHost: heddle\r\n"...)
	for _, h := range headers {
		if h[1] != "" {
			b = append(b, h[0]+": "+h[1]+"\r\n"...)
		}
	}
	b = append(b, "Content-Length: "+strconv.Itoa(len(conf))+"\r\n\r\n"...)
	return append(b, conf...)
}

// readConf reads the network configuration from stdin.
func readConf() ([]byte, error) {
	conf := make([]byte, 0, 4096)
	for {
		n, err := os.Stdin.Read(conf[len(conf):cap(conf)])
		conf = conf[:len(conf)+n]
		switch {
		case err == io.EOF:
			return conf, nil
		case err != nil:
			return nil, err
		case len(conf) > maxConf:
			return nil, errors.New("it is larger than 1 MiB")
		case len(conf) == cap(conf):
			conf = append(conf, 0)[:len(conf)]
		}
	}
}
