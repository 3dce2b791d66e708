package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func cniChecks() []Check {
	return []Check{
		{ID: "cni-config", Title: "CNI configurations that name heddle can be read", Wrong: "A CNI configuration that names heddle cannot be read", Severity: Fail, Looks: "*.conflist, *.conf and *.json in /etc/cni/net.d that name heddle-cni",
			Why: "Runtimes skip a broken file without a word, and use another network or none.", Remedy: "correct FILE; /usr/share/heddle/cni has working ones", look: lookCNIConfig},
		{ID: "cni-plugins", Title: "The plugins that heddle's configurations name are there", Wrong: "A plugin that heddle's configurations name is missing", Severity: Fail, Looks: "the plugin types in those files, and /opt/cni/bin",
			Why: "Every ADD fails with 'failed to find plugin in path'.", Remedy: "make install, or apt-get install containernetworking-plugins", look: lookCNIPlugins},
		{ID: "cni-first", Title: "heddle's configuration is the one that is taken", Wrong: "heddle's configuration is not the one that is taken", Severity: Note, Looks: "the first file by name in /etc/cni/net.d, where one names heddle-cni",
			Why: "containerd and CRI-O take the first file only.", Remedy: "mv FILE to a name that sorts earlier", look: lookCNIFirst},
		{ID: "cni-network", Title: "The networks that heddle's configurations name exist", Wrong: "A network that heddle's configurations name does not exist", Severity: Warn, Looks: "the key network in those files, and 'heddle network list'",
			Why: "Every ADD fails until the network is created.", Remedy: "heddle network create NAME --mode bridge --subnet CIDR", look: lookCNINetwork},
		{ID: "cni-socket", Title: "heddle's configurations name this agent's socket", Wrong: "heddle's configurations name another agent's socket", Severity: Warn, Looks: "the key socket in those files",
			Why: "The plugin asks nobody, or another agent.", Remedy: "correct the key socket in FILE", look: lookCNISocket},
		{ID: "cni-queue", Title: "No detach waits in the plugin's queue", Wrong: "A detach waits in the plugin's queue", Severity: Warn, Looks: "STATE/cni-queue: entries older than a minute",
			Why: "While no agent answers, the plugin queues CNI's DEL and netavark's teardown there. The agent carries them out when it starts and at the plugin's next call. Old ones hold addresses.", Remedy: "heddle detach CONTAINER/IFNAME, then remove the entry", look: lookCNIQueue, fix: fixCNIQueue},
	}
}

const plugin = "heddle-cni"

// conflist is a runtime's network configuration.
type conflist struct {
	path    string
	broken  error
	text    string
	Name    string      `json:"name"`
	Version string      `json:"cniVersion"`
	Plugins []cniPlugin `json:"plugins"`
}

type cniPlugin struct {
	Type    string `json:"type"`
	Network string `json:"network"`
	// Mode is set if the plugin creates the network itself.
	Mode   string `json:"mode"`
	Socket string `json:"socket"`
	IPAM   struct {
		Type   string `json:"type"`
		Subnet string `json:"subnet"`
		Ranges [][]struct {
			Subnet string `json:"subnet"`
		} `json:"ranges"`
	} `json:"ipam"`
}

// subnets returns the subnets from which another plugin gives out addresses.
func (p cniPlugin) subnets() (all []string) {
	if p.Type == plugin {
		return nil
	}
	all = append(all, p.IPAM.Subnet)
	for _, set := range p.IPAM.Ranges {
		for _, r := range set {
			all = append(all, r.Subnet)
		}
	}
	return all
}

func (c conflist) ours() bool { return strings.Contains(c.text, `"`+plugin+`"`) }

// Conflists reads all network configurations, in the order of their names.
func (h *Host) Conflists() ([]conflist, error) {
	return h.conflists.get(func() (all []conflist, err error) {
		entries, err := os.ReadDir(h.CNIConf)
		if os.IsNotExist(err) {
			return nil, nil
		}
		for _, e := range entries {
			path := filepath.Join(h.CNIConf, e.Name())
			if !slices.Contains([]string{".conflist", ".conf", ".json"}, filepath.Ext(path)) {
				continue
			}
			all = append(all, readConflist(path))
		}
		return all, err
	})
}

func readConflist(path string) conflist {
	c := conflist{path: path}
	b, err := os.ReadFile(path)
	if err != nil {
		c.broken = err
		return c
	}
	c.text = string(b)
	if c.broken = json.Unmarshal(b, &c); c.broken == nil && len(c.Plugins) == 0 {
		var one cniPlugin // a file of the old form holds a single plugin
		c.broken = json.Unmarshal(b, &one)
		c.Plugins = []cniPlugin{one}
	}
	return c
}

// ownConflists are the configurations that name our plugin.
func (h *Host) ownConflists() (some []conflist) {
	all, _ := h.Conflists()
	for _, c := range all {
		if c.ours() {
			some = append(some, c)
		}
	}
	return some
}

func lookCNIConfig(_ context.Context, h *Host) Finding {
	var read, evidence []string
	for _, c := range h.ownConflists() {
		read = append(read, fmt.Sprintf("%s: name %q, cniVersion %q", c.path, c.Name, c.Version))
		switch {
		case c.broken != nil:
			evidence = append(evidence, c.path+": "+c.broken.Error())
		case c.Name == "":
			evidence = append(evidence, c.path+": it has no name")
		case !slices.Contains(cniVersions, c.Version):
			evidence = append(evidence, fmt.Sprintf("%s: cniVersion %q is none of %s", c.path, c.Version, strings.Join(cniVersions, ", ")))
		}
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

var cniVersions = []string{"0.3.1", "0.4.0", "1.0.0", "1.1.0"}

func lookCNIPlugins(_ context.Context, h *Host) Finding {
	var evidence []string
	for _, c := range h.ownConflists() {
		for _, p := range c.Plugins {
			types := []string{p.Type}
			if p.IPAM.Type != "" {
				types = append(types, p.IPAM.Type)
			}
			for _, t := range types {
				st, err := os.Stat(filepath.Join(h.CNIBin, t))
				if err == nil && st.Mode()&0o111 == 0 {
					err = fmt.Errorf("%s: mode %v: it cannot be executed", filepath.Join(h.CNIBin, t), st.Mode())
				}
				if err != nil && c.broken == nil {
					evidence = append(evidence, fmt.Sprintf("%s names %s; %s", c.path, t, err))
				}
			}
		}
	}
	return trouble(evidence)
}

func lookCNIFirst(_ context.Context, h *Host) Finding {
	all, _ := h.Conflists()
	if own := h.ownConflists(); len(own) > 0 && !all[0].ours() {
		return trouble([]string{"first: " + all[0].path, "heddle's: " + own[0].path}, fmt.Sprintf("mv %s %s", own[0].path, filepath.Join(h.CNIConf, "00-heddle"+filepath.Ext(own[0].path))))
	}
	return fine()
}

func lookCNINetwork(ctx context.Context, h *Host) Finding {
	if _, err := h.Status(ctx); err != nil {
		return unknown(err)
	}
	networks, err := h.Networks(ctx)
	if err != nil {
		return unknown(err)
	}
	known := map[string]bool{}
	for _, n := range networks {
		known[n.Name] = true
	}
	var evidence []string
	for _, c := range h.ownConflists() {
		for _, p := range c.Plugins {
			name := p.Network
			if name == "" {
				name = c.Name
			}
			if p.Type == plugin && p.Mode == "" && !known[name] {
				evidence = append(evidence, fmt.Sprintf("%s: network %q", c.path, name))
			}
		}
	}
	return trouble(evidence)
}

func lookCNISocket(_ context.Context, h *Host) Finding {
	var evidence []string
	for _, c := range h.ownConflists() {
		for _, p := range c.Plugins {
			if p.Type == plugin && p.Socket != "" && p.Socket != h.Socket {
				evidence = append(evidence, fmt.Sprintf("%s: socket %q; the agent's is %q", c.path, p.Socket, h.Socket))
			}
		}
	}
	return trouble(evidence)
}
