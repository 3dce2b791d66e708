package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

func podmanChecks() []Check {
	return []Check{
		{ID: "podman-network", Title: "The networks that Podman's networks stand for exist", Wrong: "A network that one of Podman's networks stands for does not exist", Severity: Warn, Looks: "*.json in /etc/containers/networks with the driver heddle, and 'heddle network list'",
			Why: "No container starts on it.", Remedy: "heddle network create NAME --mode MODE --subnet CIDR, as Podman knows it", look: lookPodmanNetwork},
	}
}

// podmanNetworks holds Podman's networks, one file each (containers.conf(5), network_config_dir).
const podmanNetworks = "/etc/containers/networks"

// podmanOnly are options of Podman's network that are no options of its mode.
var podmanOnly = lazyregexp.New(`^(heddle|com\.docker)\.|^no_default_route$`)

// podmanNetwork is what the plugin has made of a network of Podman's.
type podmanNetwork struct {
	Name, Driver string
	Parent       string `json:"network_interface"`
	Internal     bool
	Options      map[string]string
	Subnets      []struct {
		Subnet  netip.Prefix
		Gateway netip.Addr
	}
}

// heddle is the network that it stands for.
func (n podmanNetwork) heddle() heddle.Network {
	stands := heddle.Network{ID: n.Options["heddle.id"], Name: n.Name, Parent: n.Parent, Internal: n.Internal, Options: map[string]string{}}
	for key, value := range n.Options {
		switch key {
		case "mode":
			stands.Mode = value
		case "parent":
			stands.Parent = value
		case "mtu":
			stands.MTU, _ = strconv.Atoi(value) // the plugin has accepted it
		default:
			if !podmanOnly.MatchString(key) {
				stands.Options[key] = value
			}
		}
	}
	for _, s := range n.Subnets {
		if stands.Subnets = append(stands.Subnets, s.Subnet); s.Gateway.IsValid() {
			stands.Gateways = append(stands.Gateways, s.Gateway)
		}
	}
	return stands
}

func lookPodmanNetwork(ctx context.Context, h *Host) Finding {
	files, _ := filepath.Glob(filepath.Join(podmanNetworks, "*.json"))
	var evidence, remedies []string
	for _, path := range files {
		var n podmanNetwork
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &n)
		}
		if err != nil || n.Driver != "heddle" {
			continue // Podman says itself what it cannot read
		}
		if _, err := h.Status(ctx); err != nil {
			return unknown(err)
		}
		all, err := h.Networks(ctx)
		if err != nil {
			return unknown(err)
		}
		stands := n.heddle()
		if slices.ContainsFunc(all, func(ours heddle.Network) bool { return ours.ID == stands.ID }) {
			continue
		}
		// else one that was made again, under the name
		at := slices.IndexFunc(all, func(ours heddle.Network) bool { return ours.Name == stands.Name })
		if at >= 0 && all[at].Fits(stands) {
			continue
		}
		evidence = append(evidence, fmt.Sprintf("%s: network %q, heddle.id %q", path, n.Name, stands.ID))
		if at >= 0 {
			remedies = append(remedies, "heddle network delete "+stands.Name)
		}
		if stands.Mode == "" {
			stands.Mode = "MODE"
		}
		remedies = append(remedies, stands.CreateCommand())
	}
	return trouble(evidence, remedies...)
}
