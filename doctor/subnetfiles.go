package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func lookSubnetDNS(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() (all []foreignPrefix, err error) {
		found, err := linesOf("/etc/resolv.conf")
		for _, l := range found {
			if f := strings.Fields(l.text); len(f) > 1 && f[0] == "nameserver" {
				p, _ := parsePrefix(f[1])
				all = append(all, foreignPrefix{prefix: p, source: l.String()})
			}
		}
		return all, err
	}, func(s subnet, o foreignPrefix) bool { return overlap(s, o) && !h.onLAN(s) })
}

const dockerConf = "/etc/docker/daemon.json"

func lookSubnetDocker(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() (all []foreignPrefix, err error) {
		b, err := os.ReadFile(dockerConf)
		if os.IsNotExist(err) {
			return nil, nil
		}
		var conf struct {
			BIP   string `json:"bip"`
			Fixed string `json:"fixed-cidr"`
			Pools []struct {
				Base string `json:"base"`
			} `json:"default-address-pools"`
		}
		if err == nil {
			err = json.Unmarshal(b, &conf)
		}
		add := func(key, text string) {
			p, _ := parsePrefix(text)
			all = append(all, foreignPrefix{prefix: p, source: fmt.Sprintf("%s: %s: %s", dockerConf, key, text)})
		}
		add("bip", conf.BIP)
		add("fixed-cidr", conf.Fixed)
		for _, p := range conf.Pools {
			add("default-address-pools", p.Base)
		}
		return all, err
	}, overlap)
}

func lookSubnetCNI(ctx context.Context, h *Host) Finding {
	return h.overlaps(ctx, func() (all []foreignPrefix, err error) {
		files, err := h.Conflists()
		for _, f := range files {
			for _, p := range f.Plugins {
				for _, text := range p.subnets() {
					prefix, _ := parsePrefix(text)
					all = append(all, foreignPrefix{prefix: prefix, source: fmt.Sprintf("%s: plugin %s: subnet %s", f.path, p.Type, text), remedy: "change the subnet in " + f.path})
				}
			}
		}
		return all, err
	}, overlap)
}
