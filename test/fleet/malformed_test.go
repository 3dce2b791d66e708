package fleet_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/test/forge"
)

// malformed is a record that is not as it should be: a key, and what is written there.
type malformed struct {
	what, key, value string
	// quiet says that hosts do not tell of it: it is none of their kinds of record, or
	// whose it was has put it right by then.
	quiet bool
}

// book is what a forger knows of the cluster: one well-formed record of each kind.
type book struct {
	network, host, other      map[string]any // of a shared network, its own, and another host
	networkID, hostID, victim string         // ids
	block, free, alien        string         // keys: another host's block, a free one, one of no network
	name                      string         // the forger's host
}

// with is a record with some fields changed; a nil field is left out.
func with(record map[string]any, fields ...any) string {
	next := maps.Clone(record)
	for i := 0; i < len(fields); i += 2 {
		if next[fields[i].(string)] = fields[i+1]; fields[i+1] == nil {
			delete(next, fields[i].(string))
		}
	}
	text, err := json.Marshal(next)
	if err != nil {
		panic(err) // plain data
	}
	return string(text)
}

func many(n int, format string) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// notJSON is what no record is.
var notJSON = []string{"", "null", "0", `"x"`, "[]", "{", `{"id":1}`, "\x00\xff\xfe", `{"name":` + strings.Repeat("[", 20000), strings.Repeat(" ", 100<<10) + "{}"}

// malformedNetworks are written under a name of their own.
func malformedNetworks(b book) (all []malformed) {
	key := "/heddle/networks/forged"
	for i, v := range notJSON {
		all = append(all, malformed{what: fmt.Sprintf("network that is no JSON (%d)", i), key: key, value: v})
	}
	fresh := maps.Clone(b.network)
	fresh["name"], fresh["id"] = "forged", "f0f0f0f0f0f0f0f0"
	fresh["subnets"], fresh["gateways"] = []string{"10.66.0.0/24"}, []string{"10.66.0.1"}
	add := func(what string, fields ...any) {
		all = append(all, malformed{what: "network " + what, key: key, value: with(fresh, fields...)})
	}
	for _, name := range []string{"", "app", "other", "forged\x1b[2J", "../x", strings.Repeat("n", 300)} {
		add(fmt.Sprintf("that calls itself %.20q", name), "name", name)
	}
	for _, id := range []string{"", "1", "F0F0F0F0F0F0F0F0", "f0f0f0f0f0f0f0f0f0", "f0f0f0f0f0f0f0f/", b.networkID} {
		add(fmt.Sprintf("with id %.20q", id), "id", id)
	}
	for _, mode := range []string{"", "host", "bridge", "routed", "macvlan", "ipvlan", "direct", "none", "overlay\n"} {
		add(fmt.Sprintf("of mode %q", mode), "mode", mode)
	}
	for _, s := range []string{"0.0.0.0/0", "0.0.0.0/1", "8.8.8.0/24", "128.0.0.0/3", "1.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4",
		"255.255.255.0/24", "10.0.0.0/7", "10.10.0.0/25", "10.10.0.0/16", "10.0.0.0/8", "172.31.240.0/24", "172.16.0.0/12", "10.66.0.7/24", "10.66.0.0/31", "10.66.0.0/32",
		"::/0", "2000::/3", "2001:4860::/32", "fe80::/64", "ff00::/8", "::1/128", "::ffff:10.66.0.0/120", "fd10::/64", "fc00::/7"} {
		gateway := strings.Split(s, "/")[0]
		add("over "+s, "subnets", []string{s}, "gateways", []string{gateway})
		_ = gateway
	}
	add("without a subnet", "subnets", nil, "gateways", nil)
	add("with two subnets of a family", "subnets", []string{"10.66.0.0/24", "10.67.0.0/24"}, "gateways", []string{"10.66.0.1", "10.67.0.1"})
	add("with a thousand subnets", "subnets", many(1000, "10.66.%d.0/30"))
	for _, g := range [][]string{nil, {"10.66.0.0"}, {"10.66.0.255"}, {"10.67.0.1"}, {"0.0.0.0"}, {"fe80::1"}, {"10.66.0.1", "10.66.0.2"}} {
		add(fmt.Sprintf("with gateways %v", g), "gateways", g)
	}
	add("with a range outside", "ranges", []string{"10.67.0.0/25"})
	add("with a reserved address outside", "reserved", []string{"8.8.8.8"})
	for _, parent := range []string{"eth0", "lo", "../../x"} {
		add("on interface "+parent, "parent", parent)
	}
	for _, mtu := range []int{-1, 1, 67, 575, 65536, 1 << 30} {
		add(fmt.Sprintf("with MTU %d", mtu), "mtu", mtu)
	}
	for k, v := range map[string]string{"nics": "eth0", "submode": "l3s", "masquerade": "maybe", "fast-path": "\x1b", "": "", strings.Repeat("k", 5000): "true"} {
		add(fmt.Sprintf("with option %.20q", k), "options", map[string]string{k: v})
	}
	add("that allows what is no id", "allow", []string{"app"})
	add("that allows one 50,000 times", "allow", slices.Repeat([]string{b.networkID}, 50000))
	add("that allows 5,000", "allow", many(5000, "%016x"))
	add("with 500 labels", "docker", map[string]any{"labels": labels(500)})
	// over what is there
	app := "/heddle/networks/app"
	all = append(all, malformed{what: "nothing, over a network", key: app, value: "{}"}, malformed{what: "no JSON, over a network", key: app, value: "{"},
		malformed{what: "another id, over a network", key: app, value: with(b.network, "id", "f1f1f1f1f1f1f1f1")},
		malformed{what: "other addresses, over a network", key: app, value: with(b.network, "subnets", []string{"10.68.0.0/24", "fd68::/64"}, "gateways", []string{"10.68.0.1", "fd68::1"})},
		malformed{what: "another mode, over a network", key: app, value: with(b.network, "mode", "macvlan", "parent", "eth0")})
	return all
}

func labels(n int) map[string]string {
	all := map[string]string{}
	for i := range n {
		all[fmt.Sprint("l", i)] = "x"
	}
	return all
}

// malformedHosts are written over the forger's own record.
func malformedHosts(b book) (all []malformed) {
	key := "/heddle/hosts/" + b.name + "/self"
	for i, v := range notJSON {
		all = append(all, malformed{what: fmt.Sprintf("host that is no JSON (%d)", i), key: key, value: v})
	}
	add := func(what string, fields ...any) {
		all = append(all, malformed{what: "host " + what, key: key, value: with(b.host, fields...)})
	}
	for _, name := range []string{"", "host1", "x\x1b]0;x\x07", b.name + "\n"} {
		add(fmt.Sprintf("that calls itself %q", name), "name", name)
	}
	for _, id := range []string{"", "1", strings.ToUpper(b.hostID) + "G", b.victim, "0123456789abcdef"} {
		add(fmt.Sprintf("with id %q", id), "id", id)
	}
	for _, a := range [][]string{{"0.0.0.0"}, {"224.0.0.1"}, {"255.255.255.255"}, {"127.0.0.1"}, {"240.0.0.1"}, {"169.254.1.1"}, {"0.1.2.3"}, {"::"}, {"::1"}, {"ff02::1"}, {"fe80::1"},
		{"fe80::1%eth0"}, {"::ffff:192.0.2.1"}, {"10.10.0.9"}, {"fd10::9"}, {"192.0.2.1", "192.0.2.2"}, many(500, "192.0.2.%d")[:200]} {
		add(fmt.Sprintf("at %.40v", a), "underlay", a)
	}
	for _, mtu := range []int{-1, 65537, 1 << 40} {
		add(fmt.Sprintf("with MTU %d", mtu), "mtu", mtu)
	}
	add("with a version of escapes", "version", "1\x1b[2J\u202e")
	add("with a version of a kilobyte", "version", strings.Repeat("v", 1000))
	return all
}

// malformedRest is what says something about hosts and addresses.
func malformedRest(b book) (all []malformed) {
	add := func(what, key, value string, quiet ...bool) {
		all = append(all, malformed{what, key, value, len(quiet) > 0})
	}
	own := "/heddle/hosts/" + b.name + "/"
	for i, v := range notJSON[:8] {
		add(fmt.Sprintf("block of another host that is no JSON (%d)", i), b.block, v, true)
	}
	add("block of another host, taken", b.block, `{"host":"`+b.hostID+`"}`, true)
	add("block of another host, of nobody", b.block, `{"host":""}`, true)
	add("free block of nobody", b.free, `{"host":"nobody"}`)
	add("block of no network", b.alien, `{"host":"`+b.hostID+`"}`, true)
	for _, p := range []string{"10.10.0.0/24", "10.10.0.1/29", "8.8.8.0/29", "0.0.0.0/0", "fd10::/64"} {
		add("block "+p, "/heddle/blocks/"+b.networkID+"/"+p, `{"host":"`+b.hostID+`"}`)
	}
	for _, p := range []string{"x/y", "10.10.0.0/99", "10.10.0.0/"} {
		add("block "+p, "/heddle/blocks/"+b.networkID+"/"+p, `{"host":"`+b.hostID+`"}`, true)
	}
	for _, kind := range []string{"pins", "wants"} {
		add(kind+" outside the network", own+kind+"/"+b.networkID+"/8.8.8.8", `{"host":"`+b.hostID+`"}`)
		add(kind+" in another's name", own+kind+"/"+b.networkID+"/10.10.0.250", `{"host":"`+b.victim+`"}`)
		add(kind+" that are no JSON", own+kind+"/"+b.networkID+"/10.10.0.250", "{")
		add(kind+" of no address", own+kind+"/"+b.networkID+"/x", `{"host":"`+b.hostID+`"}`, true)
		add(kind+" of no network", own+kind+"/0000000000000000/10.10.0.250", `{"host":"`+b.hostID+`"}`, true)
	}
	answer := own + "answers/host1/" + b.networkID + "/10.10.0.250"
	for what, v := range map[string]string{
		"no JSON":                "[",
		"for nobody":             `{"host":"x"}`,
		"that denies at length":  `{"host":"` + b.victim + `","denied":"` + strings.Repeat("no ", 5000) + `"}`,
		"that moves another":     `{"host":"` + b.victim + `","move":{"network":"` + b.networkID + `","addr":"10.10.0.251","endpoint":{"container":"c","ifname":"eth0"},"from":"` + b.name + `","to":"host1"}}`,
		"that moves for another": `{"host":"` + b.victim + `","move":{"network":"` + b.networkID + `","addr":"10.10.0.250","endpoint":{"container":"c","ifname":"eth0"},"from":"host2","to":"host1"}}`,
		"that moves no endpoint": `{"host":"` + b.victim + `","move":{"network":"` + b.networkID + `","addr":"10.10.0.250","endpoint":{"container":"../c","ifname":"\u001b"},"from":"` + b.name + `","to":"host1"}}`,
		"that moves no MAC":      `{"host":"` + b.victim + `","move":{"network":"` + b.networkID + `","addr":"10.10.0.250","endpoint":{"container":"c","ifname":"eth0"},"mac":"zz","from":"` + b.name + `","to":"host1"}}`,
	} {
		add("answer "+what, answer, v)
	}
	add("alive that is no JSON", own+"alive", "{")
	add("key of no kind", own+"zzz/1/2/3/4/5", "x", true)
	add("key with escapes", own+"\x1b[2J\n", "x", true)
	add("network of two names", "/heddle/networks/a/b", "{}", true)
	return all
}

// allMalformed are all of them.
func allMalformed(b book) []malformed {
	return slices.Concat(malformedNetworks(b), malformedHosts(b), malformedRest(b))
}

// record is what the forger writes.
func (m malformed) record() forge.Record { return forge.Text(m.key, m.value) }
