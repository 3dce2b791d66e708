package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func podmanChecks() []Check {
	return []Check{
		{ID: "podman-network", Title: "The networks that Podman's networks stand for exist", Wrong: "A network that one of Podman's networks stands for does not exist", Severity: Warn, Looks: "*.json in /etc/containers/networks with the driver heddle, and 'heddle network list'",
			Why: "No container starts on it.", Remedy: "podman network rm NAME, and podman network create --driver heddle NAME", look: lookPodmanNetwork},
	}
}

// podmanNetworks holds Podman's networks, one file each (containers.conf(5), network_config_dir).
const podmanNetworks = "/etc/containers/networks"

// podmanNetwork is what the plugin has made of a network of Podman's.
type podmanNetwork struct {
	Name, Driver string
	Options      struct {
		ID string `json:"heddle.id"`
	}
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
		known, err := h.hasNetwork(ctx, n)
		if err != nil {
			return unknown(err)
		}
		if !known {
			evidence = append(evidence, fmt.Sprintf("%s: network %q, heddle.id %q", path, n.Name, n.Options.ID))
			remedies = append(remedies, fmt.Sprintf("podman network rm %s, and podman network create --driver heddle %[1]s", n.Name))
		}
	}
	return trouble(evidence, remedies...)
}

func (h *Host) hasNetwork(ctx context.Context, n podmanNetwork) (bool, error) {
	if _, err := h.Status(ctx); err != nil {
		return false, err
	}
	all, err := h.Networks(ctx)
	for _, ours := range all {
		if ours.ID == n.Options.ID || n.Options.ID == "" && ours.Name == n.Name {
			return true, err
		}
	}
	return false, err
}
