package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/aliyun"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/world"
)

// vpc has the NICs of a cloud as ports of the plugger's switch. Nobody asks for more here.
type vpc struct{ cloud.Ports }

// instance is the machine into which the cloud plugs them.
type instance struct {
	service.Machine
	*plugger
}

// Make makes a port, with an address that the cloud chooses.
func (vpc) Make(_ context.Context, machine string, order nic.Order, _ bool) (service.Port, error) {
	c := nic.Card{Token: order.Token, Network: order.Network, MAC: heddle.EndpointID{Container: order.Token, IfName: "eth0"}.DefaultMAC("vpc", 0), Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.54/24")}, MTU: 1500}
	return service.Port{Machine: machine, Card: c, TAP: order.Token}, nil
}

func (vpc) Open(service.Port, int) ([]*os.File, error) { return nil, nil }

func (vpc) Remove(context.Context, service.Port) error { return nil }

func (i instance) Plug(ctx context.Context, id string, mac heddle.MAC, _, _ int, _ bool, _ func(int) ([]*os.File, error)) error {
	_, err := i.plugger.Plug(ctx, nic.Order{Token: id, MAC: mac})
	return err
}

func (i instance) Unplug(ctx context.Context, id string) error { return i.plugger.Unplug(ctx, id) }

// newInstance starts a cloud whose vSwitch is the plugger's LAN, and returns the provider of an instance of it.
func newInstance(t *testing.T, p *plugger) nic.Provider {
	t.Helper()
	c := cloud.New(cloud.Options{Instance: "i-me", Type: "ecs.local.large", NICs: 4, VSwitches: map[string]cloud.VSwitch{"vsw-1": {Network: "vsw", V4: netip.MustParsePrefix("192.0.2.0/24"), Free: 100}},
		Ports: vpc{}, Machine: instance{plugger: p}})
	host, ca := cloud.Serve(t, c.API(), c.Metadata(), cloud.MetadataAddr)
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	cell.Must(t, os.WriteFile(file, []byte("aliyun:\n  networks:\n    office: {vswitch: vsw-1, securityGroups: [sg-1]}\n  ecs: "+host+"\n  vpc: "+host+"\n  ca: "+ca+"\n"), 0o600))
	provider, err := aliyun.Open(file)
	cell.Must(t, err)
	return provider
}

// TestPluggedByCloud: on a cloud's instance the lease is of the address that the NIC has there, and the metadata service is closed to the container.
func TestPluggedByCloud(t *testing.T) {
	p := newPlugger(t)
	provider := newInstance(t, p)
	w := world.New(t, func(o *agent.Options) { o.NICs, o.Machine = provider, openMachine })
	server := startDnsmasq(t, p.lan, "--dhcp-option=option:T1,3", "--dhcp-option=option:T2,60")
	w.Network(t, "lan", "direct", onOffice)
	a := w.Pod(t, "a", "lan")
	all, err := provider.List(t.Context())
	cell.Must(t, err)
	if len(all) != 1 || len(all[0].Addrs) != 1 || a.V4() != all[0].Addrs[0].Addr() || a.Endpoint.DHCP == nil || !a.Endpoint.DHCP.Held {
		t.Errorf("the container has %+v, the cloud's NIC is %+v", a.Endpoint, all)
	}
	a.Reaches(t, world.Outside4, world.Beyond4)
	if out := a.Sh(t, "ip route show table all"); !strings.Contains(out, "unreachable "+cloud.MetadataAddr) {
		t.Errorf("the metadata service is open:\n%s", out)
	}
	renewed(t, w, a)
	w.Restart(t, nil)
	renewed(t, w, a)
	w.AuditEmpty(t)
	addr := a.V4()
	a.Leave(t)
	server.getsBack(t, addr)
	world.Within(t, 3*world.Patience, "the cloud has no NIC of ours", func() error {
		all, err := provider.List(t.Context())
		if err == nil && len(all) > 0 {
			err = errors.New(fmt.Sprint(all))
		}
		return err
	})
	w.AuditEmpty(t)
}
