package cni

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/containernetworking/cni/pkg/types"

	"github.com/heddle-network/heddle"
)

// Conf is a network configuration as the plugin receives it (specification,
// section 3, Derivation): the administrator's keys with the runtime's.
type Conf struct {
	CNIVersion string
	Name       string
	DNS        types.DNS
	Options    AttachOptions
	// PrevResult is the result of the plugin before, or for CHECK of the ADD.
	PrevResult json.RawMessage
	// Valid lists the attachments to keep; nil when the key is absent.
	Valid *[]types.GCAttachment
	// Network names the heddle network, the configuration's name by default.
	Network string
	// DefaultRoute says whether the container's default route leads through this
	// network; nil leaves it to the container's first.
	DefaultRoute *bool
	// FastPath lets the container use the fast path, which the qdiscs of chained
	// plugins (bandwidth) do not see.
	FastPath bool
	// Definition says how to create the network; nil when it is only named.
	Definition *heddle.Network
}

// ParseConf decodes a network configuration. Unknown keys are refused, so that a typing
// error is not silently ignored. Unknown keys in the specification's own name space are
// allowed, for later versions of it.
func ParseConf(body []byte) (Conf, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(body, &doc); err != nil {
		return Conf{}, faultf(undecodable, heddle.BadJSON, "decode network configuration", "", err.Error(), "send one JSON object")
	}
	var c Conf
	// the version first: errors are reported in it
	if raw, ok := doc["cniVersion"]; ok {
		if err := decode("cniVersion", raw, &c.CNIVersion); err != nil {
			return c, err
		}
	}
	var d definition
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		if err := c.decodeKey(&d, key, doc[key]); err != nil {
			return c, err
		}
	}
	return c, c.check(d)
}

// decodeKey decodes one member.
func (c *Conf) decodeKey(d *definition, key string, raw json.RawMessage) error {
	var ignored any
	target, known := map[string]any{
		"cniVersion": &c.CNIVersion, "name": &c.Name, "dns": &c.DNS, "prevResult": &c.PrevResult,
		"cni.dev/valid-attachments": &c.Valid, "runtimeConfig": &c.Options.runtime, "args": &c.Options.args,
		"network": &c.Network, "defaultRoute": &c.DefaultRoute, "fastPath": &c.FastPath, "mode": &d.mode, "subnet": &d.subnet, "subnets": &d.subnets, "gateway": &d.gateway,
		"gateways": &d.gateways, "ranges": &d.ranges, "parent": &d.parent, "mtu": &d.mtu, "internal": &d.internal,
		"options": &d.options, "type": &ignored, "capabilities": &ignored, "socket": &ignored, "queue": &ignored,
		"disableCheck": &ignored, "disableGC": &ignored,
	}[key]
	switch {
	case known:
		d.present = d.present || d.hasKey(key)
		if key == "cni.dev/valid-attachments" {
			c.Valid = new([]types.GCAttachment) // null is an empty list
			return decode(key, raw, c.Valid)
		}
		return decode(key, raw, target)
	case strings.HasPrefix(key, "cni.dev/"):
		return nil
	case key == "ipam" && (string(raw) == "{}" || string(raw) == "null"):
		return nil
	case key == "ipam":
		return unsupported(key, raw, "leave ipam out, and give subnets: heddle chooses the addresses itself")
	}
	return unsupported(key, raw, "leave the key out; look up the keys in docs/guides/cni.md")
}

func decode(key string, raw json.RawMessage, target any) error {
	if err := json.Unmarshal(raw, target); err != nil {
		return badKey(key, fmt.Sprintf("its value %s does not fit: %v", heddle.Clip(string(raw)), err),
			"look up the type of the key in docs/guides/cni.md")
	}
	return nil
}

func (c *Conf) check(d definition) error {
	if !validName(c.Name) {
		return badKey("name", fmt.Sprintf("%q is not the name of a configuration", heddle.Clip(c.Name)),
			"give a name of letters, digits, '_', '.' and '-' that starts with a letter or digit")
	}
	if c.Network == "" {
		c.Network = c.Name
	}
	if err := heddle.CheckNetworkName(c.Network); err != nil {
		return err
	}
	if !d.present {
		return nil
	}
	n, err := d.network(c.Network)
	c.Definition = &n
	return err
}

// validName checks a configuration's name as the specification's section 1
// defines it.
func validName(s string) bool {
	for i, r := range s {
		alphanumeric := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !alphanumeric && (i == 0 || !strings.ContainsRune("_.-", r)) {
			return false
		}
	}
	return s != ""
}

// owner is the name under which the agent records what this configuration attached.
func (c Conf) owner() string { return "cni/" + c.Name }
