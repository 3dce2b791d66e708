package main

import "os"

// usage is printed when the netavark plugin is started by hand.
const usage = "heddle-cni: give create, setup NETNS, teardown NETNS or info (plugin API of netavark)\n"

// runNetavark is the netavark plugin (plugin-API.md of netavark, version 1.0.0). The agent
// checks the document; of a teardown, which may be queued before the agent has seen it, everything
// whose form the agent would refuse is refused here.
func runNetavark(args []string) int {
	q := request{command: args[0], netavark: true}
	wanted := map[string]int{"create": 1, "info": 1, "setup": 2, "teardown": 2}[q.command]
	if wanted != len(args) {
		os.Stderr.WriteString(usage)
		return failNetavark("unknown arguments", "see docs/guides/podman.md [HDL-1012]")
	}
	if q.command == "info" {
		os.Stdout.WriteString(`{"version":` + quote(Version) + `,"api_version":"1.0.0"}` + "\n")
		return 0
	}
	if wanted == 2 {
		q.netns = args[1]
	}
	if !printable(q.netns) {
		return failNetavark("the network namespace is too long, holds control characters, or has blanks at its ends", "see docs/guides/podman.md [HDL-1012]")
	}
	doc, err := readConf()
	if err != nil {
		return failNetavark("read document of netavark from stdin: "+err.Error(), "")
	}
	if wanted == 2 {
		q.container, _ = topLevel(doc, "container_id")
		q.ifname, _ = topLevel(object(doc, "network_options"), "interface_name")
		if !validContainer(q.container) || !validIfName(q.ifname) {
			return failNetavark("the document has no valid container_id, or no valid interface_name", "use a Podman whose netavark has the plugin API 1.0.0 [HDL-1012]")
		}
	}
	return ask(q, doc)
}

// failNetavark prints an error as netavark takes it from a plugin (plugin-API.md, Error handling).
func failNetavark(message, details string) int {
	if details != "" {
		message += ": " + details
	}
	os.Stdout.WriteString(`{"error":` + quote(message) + "}\n")
	return 1
}
