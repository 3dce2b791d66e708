package modes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/test/world"
)

// named gives a container a name, and a resolv.conf.
func named(name string) world.PodOption {
	return func(r *heddle.AttachRequest) { r.Name, r.ResolvConf = name, true }
}

// TestResolvers: containers ask at their network's gateway where that is an address of the host, and
// else at an address that the host has beside them.
func TestResolvers(t *testing.T) {
	for _, mode := range []string{"bridge", "routed", "overlay", "macvlan"} {
		t.Run(mode, func(t *testing.T) {
			var folders agent.Options
			w := world.New(t, world.Answering(t, &folders))
			n := w.Network(t, "net", mode)
			here := mode != "macvlan"
			want := n.Gateways
			if !here {
				want = beside
			}
			in := world.NewNetns(t, "pod")
			reply, err := w.Attach(context.Background(), w.Request(in, "net", named("web")))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(reply.Resolvers, want) {
				t.Errorf("it asks at %v, not %v", reply.Resolvers, want)
			}
			held := map[netip.Addr]bool{}
			for line := range strings.Lines(w.Host.Sh(t, "ip -o addr show | awk '{print $4}'")) {
				held[netip.MustParsePrefix(strings.TrimSpace(line)).Addr()] = true
			}
			for _, g := range n.Gateways {
				if held[g] != here {
					t.Errorf("the host has %s: %v", g, held[g])
				}
			}
			file := filepath.Join(folders.RunDir, "names", n.ID+".json")
			world.Within(t, world.RepairTime, "the name is in the table", func() error {
				var table names.Network
				text, err := os.ReadFile(file)
				if err == nil {
					err = json.Unmarshal(text, &table)
				}
				if err == nil && (!slices.Equal(table.Listen, want) || len(table.Endpoints) != 1 || table.Endpoints[0].Name != "web") {
					err = fmt.Errorf("%s", text)
				}
				return err
			})
			if _, err := w.Detach(context.Background(), reply.Endpoint.ID); err != nil {
				t.Fatal(err)
			}
			world.Within(t, world.RepairTime, "the table is empty", func() error {
				if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "web") {
					return fmt.Errorf("%s, %v", text, err)
				}
				return nil
			})
			if err := w.DeleteNetwork("net"); err != nil {
				t.Fatal(err)
			}
			world.Within(t, world.RepairTime, "the table is gone", func() error {
				if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("it is there: %v", err)
				}
				return nil
			})
		})
	}
}

// TestResolvConf: the file is there with the endpoint, also after a restart, and never in the place
// of somebody else's.
func TestResolvConf(t *testing.T) {
	var folders agent.Options
	w := world.New(t, world.Answering(t, &folders))
	n := w.Network(t, "net", "bridge")
	in := world.NewNetns(t, "pod")
	file := filepath.Join(folders.Root, "etc/netns/pod/resolv.conf")
	q := w.Request(in, "net", named("web"))
	host := filepath.Join(folders.Root, "etc/resolv.conf")
	if err := errors.Join(os.MkdirAll(filepath.Dir(host), 0o755), os.WriteFile(host, []byte("domain old.example\nnameserver 192.0.2.53\nsearch corp.example .\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dry := q
	dry.DryRun = true
	reply, err := w.Attach(context.Background(), dry)
	if err != nil || !strings.Contains(strings.Join(reply.Commands, "\n"), "> "+file) {
		t.Errorf("a dry run says %v, %v", reply.Commands, err)
	}
	there := func(is bool) {
		t.Helper()
		if _, err := os.Stat(file); (err == nil) != is {
			t.Errorf("the file is there: %v", err)
		}
	}
	there(false)
	attach := func() heddle.Endpoint {
		t.Helper()
		reply, err := w.Attach(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		return reply.Endpoint
	}
	e := attach()
	text, err := os.ReadFile(file)
	want := "# heddle endpoint=pod/eth0\nnameserver " + n.Gateways[0].String() + "\nnameserver " + n.Gateways[1].String() + "\nsearch net.heddle.internal heddle.internal corp.example\n"
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	attach() // again: what is missing is made
	there(true)
	other := q
	other.ResolvConf = false
	if _, err := w.Attach(context.Background(), other); !errors.Is(err, heddle.EndpointDiffers.Sentinel()) {
		t.Errorf("attached again without one: %v", err)
	}
	w.Restart(t, nil)
	there(true)
	if now, err := w.Endpoint(e.ID); err != nil || now.Name != "web" {
		t.Errorf("after a restart: %+v, %v", now, err)
	}
	detach := func() {
		t.Helper()
		if _, err := w.Detach(context.Background(), e.ID); err != nil {
			t.Error(err)
		}
	}
	detach()
	if _, err := os.Stat(filepath.Join(folders.Root, "etc/netns")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}

	w.TripAt(func(step string) error {
		if step == "ledger made" {
			return errors.New("cut off")
		}
		return nil
	})
	if _, err := w.Attach(context.Background(), q); err == nil {
		t.Error("attached, though it was cut off")
	}
	w.TripAt(nil)
	there(false)

	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("nameserver 192.0.2.53\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Attach(context.Background(), q); !errors.Is(err, heddle.BadOption.Sentinel()) {
		t.Errorf("in the place of somebody else's: %v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "nameserver 192.0.2.53\n" {
		t.Errorf("somebody else's is %q, %v", text, err)
	}
	if _, err := w.Endpoint(e.ID); !errors.Is(err, heddle.NoEndpoint.Sentinel()) {
		t.Errorf("an endpoint is left: %v", err)
	}
}
