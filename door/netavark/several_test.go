package netavark

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// endpoint is the fake agent's, whose interface has that name.
func (d caller) endpoint(t *testing.T, ifname string) (heddle.EndpointID, heddle.AttachRequest) {
	t.Helper()
	for id, q := range d.agent.made {
		if id.IfName == ifname {
			return id, q
		}
	}
	t.Fatalf("no %s in %v", ifname, d.agent.made)
	return heddle.EndpointID{}, heddle.AttachRequest{}
}

// TestSeveral: netavark names all ports of a container for each of its networks, in any order. The first
// interface by name has the ports and the default route; if it cannot be attached, nothing changes.
func TestSeveral(t *testing.T) {
	for _, order := range [][]string{{"eth9", "eth10"}, {"eth10", "eth9"}} {
		d := newDoor(t)
		d.ask(t, "create", document(t, "create-front"))
		for _, ifname := range order {
			if exit, body := d.ask(t, "setup", changed(t, "setup-front", `"eth0"`, `"`+ifname+`"`)); exit != "0" {
				t.Error(body)
			}
		}
		if id, q := d.endpoint(t, "eth9"); len(q.Ports) != 5 || d.agent.holder != id {
			t.Errorf("%v: eth9 has the ports %v, and %s the default route", order, q.Ports, d.agent.holder)
		}
		if _, q := d.endpoint(t, "eth10"); len(q.Ports) != 0 {
			t.Errorf("%v: eth10 has the ports %v", order, q.Ports)
		}
		d.agent.attachErr = heddle.Errorf(heddle.AddressTaken, "lease address", "", "", "")
		if exit, body := d.ask(t, "setup", document(t, "setup-front")); exit != "1" {
			t.Error(body)
		}
		if _, q := d.endpoint(t, "eth9"); len(q.Ports) != 5 {
			t.Errorf("%v: after a failure eth9 has the ports %v", order, q.Ports)
		}
	}
}

// TestUnpublished: what a network cannot publish is left out, and told. A network that can has it, and
// there is no note then.
func TestUnpublished(t *testing.T) {
	for network, why := range map[string]string{"internal": "it is internal", "macvlan": "has all its ports at its own address", "IPv4": "no addresses of that family"} {
		d := newDoor(t)
		d.ask(t, "create", document(t, "create-front"))
		n := d.agent.networks["front"]
		left, text := 5, ""
		switch network {
		case "internal":
			n.Internal, text = true, changed(t, "setup-front", `"internal": false`, `"internal": true`)
		case "macvlan":
			n.Mode, text = "macvlan", changed(t, "setup-front", `"mode": "routed"`, `"mode": "macvlan"`)
		case "IPv4":
			n.Subnets, n.Gateways, left = n.Subnets[:1], n.Gateways[:1], 3
			text = changed(t, "setup-front", `,
			{
				"gateway": "fd20::1",
				"lease_range": null,
				"subnet": "fd20::/64"
			}`, "")
		}
		d.agent.networks["front"] = n
		exit, body := d.ask(t, "setup", text)
		_, q := d.endpoint(t, "eth0")
		note := *d.note
		if exit != "0" || len(q.Ports) != 5-left || !strings.Contains(note, why) || !strings.Contains(note, "[::1]:84:84/tcp") && left == 3 || !strings.Contains(note, "and 2 more") && left == 5 {
			t.Errorf("%s: exit %s %s, ports %v, note %q", network, exit, body, q.Ports, note)
		}
	}
}

// TestPublishedElsewhere: there is no note about a port that another network publishes already.
func TestPublishedElsewhere(t *testing.T) {
	d := newDoor(t)
	d.ask(t, "create", document(t, "create-front"))
	d.ask(t, "setup", document(t, "setup-front"))
	n := d.agent.networks["front"]
	n.Internal = true
	d.agent.networks["front"] = n
	text := strings.Replace(changed(t, "setup-front", `"eth0"`, `"eth1"`), `"internal": false`, `"internal": true`, 1)
	exit, body := d.ask(t, "setup", text)
	if _, q := d.endpoint(t, "eth1"); exit != "0" || *d.note != "" || len(q.Ports) != 0 {
		t.Errorf("exit %s %s, note %q, ports %v", exit, body, *d.note, q.Ports)
	}
	if _, q := d.endpoint(t, "eth0"); len(q.Ports) != 5 {
		t.Errorf("eth0 has the ports %v", q.Ports)
	}
}
