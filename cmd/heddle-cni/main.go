// Command heddle-cni is the CNI plugin, and with arguments the netavark plugin, which Podman's
// networks of the driver heddle have. A runtime executes it once for every verb. It asks the
// agent and prints the answer; the agent's side is packages door/cni and door/netavark. It
// imports very little, because most of its cost is the start of the process.
//
// While the agent is down, a DEL (netavark: teardown) is queued on disk and succeeds: the
// container goes away in any case. The agent executes the queue before anything else (see
// queue.go).
package main

import (
	"os"
	"strings"
)

// Version of the program, set by the linker.
var Version = "0.1.0-dev"

const supportedVersions = `"0.3.1","0.4.0","1.0.0","1.1.0"`

// banner is printed when the plugin is started by hand, as by other plugins.
const banner = "CNI plugin heddle-cni v"

func main() { os.Exit(run()) }

func run() int {
	if len(os.Args) > 1 { // CNI has no arguments, netavark always has
		return runNetavark(os.Args[1:])
	}
	command := os.Getenv("CNI_COMMAND")
	switch command {
	case "":
		os.Stderr.WriteString(banner + Version + "\nCNI protocol versions supported: " +
			strings.ReplaceAll(strings.ReplaceAll(supportedVersions, `"`, ""), ",", ", ") + "\n")
		return 0
	case "VERSION":
		return printVersions()
	}
	conf, err := readConf()
	if err != nil {
		return request{}.fail(nil, ioFailure, "read network configuration from stdin: "+err.Error(), "")
	}
	q, bad := readEnvironment(command)
	if bad != "" {
		return q.fail(conf, badEnvironment, bad, "see docs/guides/cni.md [HDL-1012]")
	}
	return ask(q, conf)
}

// ask sends the request to the agent and prints its answer.
func ask(q request, conf []byte) int {
	socket := setting(conf, "socket", "HEDDLE_SOCKET", "/run/heddle/heddle.sock")
	r, err := call(socket, q.message(conf))
	if q.detaches() && (err != nil || r.status == statusUnavailable) {
		return enqueue(q, conf)
	}
	if err != nil && rootless() {
		return refuseRootless(q, conf, socket, err)
	}
	if err != nil {
		return unreachable(q, conf, socket, err)
	}
	if !r.ours {
		return q.fail(conf, refused, "the agent at "+socket+" refused the call: HTTP "+itoa(r.status), string(r.body))
	}
	if r.note != "" {
		os.Stderr.WriteString("heddle-cni: " + r.note + "\n")
	}
	if _, err := os.Stdout.Write(r.body); err != nil {
		return 1
	}
	return r.exit
}

// unreachable reports an agent that is down. This is a temporary state; for STATUS it is
// one in which no ADD can be served.
func unreachable(q request, conf []byte, socket string, err error) int {
	code, named := tryAgainLater, "the key socket or HEDDLE_SOCKET"
	if q.command == "STATUS" {
		code = notAvailable
	}
	if q.netavark {
		named = "HEDDLE_SOCKET"
	}
	return q.fail(conf, code, "agent unreachable at "+socket+": "+err.Error(),
		"Start it ('systemctl start heddled'), or name its socket with "+named+". ["+agentDown+"]")
}

// printVersions answers VERSION without the agent (CNI specification 1.1.0,
// section 5, Version): the caller's version is echoed.
func printVersions() int {
	version := "1.1.0"
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		if conf, err := readConf(); err == nil {
			version = versionOf(conf)
		}
	}
	os.Stdout.WriteString(`{"cniVersion":` + quote(version) + `,"supportedVersions":[` + supportedVersions + "]}\n")
	return 0
}
