package main

import (
	"os"
	"strings"
)

// rootless reports whether the plugin runs in a user namespace, as it does for containers of a user
// who is not root: there not every number of a user is its own (user_namespaces(7)).
func rootless() bool {
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(users)), " ") != "0 0 4294967295"
}

// refuseRootless says what to do instead. The network of a rootless container hangs on its user's
// namespaces, where the agent makes nothing.
func refuseRootless(q request, conf []byte, socket string, err error) int {
	return q.fail(conf, refused, "rootless containers are not attached by their runtime: agent at "+socket+": "+err.Error(),
		"Run the container as root. Or run it with '--network none', and have an operator attach it: "+
			"'heddle attach NETWORK --pid PID' (see docs/guides/podman.md). ["+noPermission+"]")
}
