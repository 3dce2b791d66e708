package heddle

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
)

// CreateCommand is the command that creates a network with these settings.
func (n Network) CreateCommand() string {
	args := []string{"heddle", "network", "create", n.Name, "--mode", n.Mode}
	args = append(args, flags("--subnet", n.Subnets)...)
	args = append(args, flags("--gateway", n.Gateways)...)
	args = append(args, flags("--ip-range", n.Ranges)...)
	args = append(args, flags("--reserve", n.Reserved)...)
	if n.Parent != "" {
		args = append(args, "--parent", n.Parent)
	}
	if n.MTU != 0 {
		args = append(args, "--mtu", strconv.Itoa(n.MTU))
	}
	if n.Internal {
		args = append(args, "--internal")
	}
	for _, key := range slices.Sorted(maps.Keys(n.Options)) {
		args = append(args, "--opt", key+"="+n.Options[key])
	}
	for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
		args = append(args, "--label", key+"="+n.Labels[key])
	}
	return CommandLine(args)
}

// flags repeats a flag for each value.
func flags[T interface{ String() string }](name string, values []T) (args []string) {
	for _, v := range values {
		args = append(args, name, v.String())
	}
	return args
}

// Fits reports whether the network is what a container engine remembers of it, which may not know the
// mode and the subnets.
func (n Network) Fits(remembered Network) bool {
	lacks := func(a, b Network) bool {
		return slices.ContainsFunc(a.Subnets, func(p netip.Prefix) bool { return !slices.Contains(b.Subnets, p) })
	}
	return (remembered.Mode == "" || remembered.Mode == n.Mode) && remembered.Internal == n.Internal &&
		(len(remembered.Subnets) == 0 || !lacks(remembered, n) && !lacks(n, remembered))
}
