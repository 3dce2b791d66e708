package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

func machineChecks() []Check {
	return []Check{
		{ID: "entropy", Title: "The machine has randomness", Wrong: "The machine lacks randomness", Severity: Warn, Looks: "getrandom(2) without waiting",
			Why: "Programs that need random numbers hang, the agent among them.", Remedy: "apt-get install rng-tools5, or give the virtual machine a virtio-rng device", look: lookEntropy},
		{ID: "netns-limit", Title: "The machine may have enough namespaces", Wrong: "The machine may not have enough namespaces", Severity: Warn, Looks: "/proc/sys/user/max_net_namespaces",
			Why: "Each container needs one; below a hundred there will soon be none.", Remedy: "sysctl -w user.max_net_namespaces=65536", look: lookNetnsLimit},
		{ID: "route-protocol", Title: "Nobody else uses heddle's route protocol", Wrong: "Somebody else uses heddle's route protocol", Severity: Warn, Looks: fmt.Sprintf("protocol %d in /etc/iproute2/rt_protos and rt_protos.d", heddle.RouteProtocol),
			Why: "By it heddle knows its routes; another program's would be taken for leftovers and removed.", Remedy: "give the other program another number in FILE", look: lookRouteProtocol},
	}
}

func lookEntropy(context.Context, *Host) Finding {
	var b [16]byte
	n, err := unix.Getrandom(b[:], unix.GRND_NONBLOCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return trouble([]string{"getrandom: " + err.Error(), settingLine("kernel/random/entropy_avail")})
	case err != nil:
		return skip(err.Error())
	}
	return fine(fmt.Sprintf("getrandom: %d bytes", n))
}

func lookNetnsLimit(context.Context, *Host) Finding {
	const name = "user/max_net_namespaces"
	if most, err := strconv.Atoi(setting(name)); err == nil && most < 100 {
		return trouble([]string{settingLine(name)})
	}
	return fine(settingLine(name))
}

func lookRouteProtocol(context.Context, *Host) Finding {
	var evidence []string
	for _, l := range configLines("/etc/iproute2/rt_protos.d/*.conf", "/etc/iproute2/rt_protos", "/usr/share/iproute2/rt_protos") {
		f := strings.Fields(l.text)
		if number, err := strconv.ParseUint(f[0], 0, 8); err == nil && number == heddle.RouteProtocol && len(f) > 1 && f[1] != heddle.Mark {
			evidence = append(evidence, l.String())
		}
	}
	return trouble(evidence)
}
