package aws

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/eni"
	"github.com/heddle-network/heddle/test/cell"
	local "github.com/heddle-network/heddle/test/cloud"
)

// TestBusy: what the cloud refuses since the NIC is just changing is asked again.
func TestBusy(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	for _, x := range []struct {
		action, code string
		do           func() error
	}{
		{"AttachNetworkInterface", "IncorrectState", func() error { _, err := p.Plug(t.Context(), order("e-1")); return err }},
		{"DetachNetworkInterface", "IncorrectState", func() error { return p.Unplug(t.Context(), "e-1") }},
		{"DeleteNetworkInterface", "CurrentlyInUse", func() error {
			_, err := p.Plug(t.Context(), order("e-1"))
			cell.Must(t, err)
			return p.Unplug(t.Context(), "e-1")
		}},
	} {
		before := c.Calls(x.action)
		c.Set(local.Faults{Refuse: map[string]string{x.action: x.code}})
		go func() {
			for c.Calls(x.action) == before {
				time.Sleep(10 * time.Millisecond)
			}
			c.Set(local.Faults{})
		}()
		if err := x.do(); err != nil {
			t.Errorf("%s: %v", x.action, err)
		}
	}
	if len(c.IDs()) > 0 {
		t.Error(c.IDs())
	}
}

// TestPages: a page that has no NIC does not end a list.
func TestPages(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.Set(local.Faults{Empty: true})
	_, err := p.Plug(t.Context(), order("e-1"))
	cell.Must(t, err)
	if all, err := p.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := p.Unplug(t.Context(), "e-1"); err != nil || len(c.IDs()) > 0 {
		t.Error(err, c.IDs())
	}
}

// TestUnsaid: a NIC in use of which no attachment is told is neither attached nor detached nor deleted, until one is told.
func TestUnsaid(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	_, err := p.Plug(t.Context(), order("e-1"))
	cell.Must(t, err)
	c.Set(local.Faults{Unsaid: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := p.Unplug(ctx, "e-1"); heddle.Waited.In(err) == nil || c.Calls("DetachNetworkInterface")+c.Calls("DeleteNetworkInterface") > 0 || c.Calls("AttachNetworkInterface") != 1 {
		t.Error(err, c.Calls("DetachNetworkInterface"))
	}
	c.Set(local.Faults{})
	if err := p.Unplug(t.Context(), "e-1"); err != nil || len(c.IDs()) > 0 {
		t.Error(err, c.IDs())
	}
}

// TestForeign: a filter that the cloud does not heed costs nobody's NIC, and what another instance has is not taken.
func TestForeign(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.PutAt("eni-other", "i-other", 1, [2]string{eni.TagMachine, "i-other"}, [2]string{eni.TagToken, "e-1"})
	c.Put("eni-nobody", "Available", "")
	c.PutAt("eni-taken", "i-other", 2, [2]string{eni.TagMachine, me}, [2]string{eni.TagToken, "e-2"}, [2]string{eni.TagNetwork, "lan"})
	c.Set(local.Faults{Unfiltered: true})
	cell.Must(t, p.Unplug(t.Context(), "e-1"))
	if err := p.Unplug(t.Context(), "e-2"); heddle.NotPlugged.In(err) == nil {
		t.Error(err)
	}
	if _, err := p.Plug(t.Context(), order("e-2")); heddle.NotPlugged.In(err) == nil {
		t.Error(err)
	}
	if len(c.IDs()) != 3 || c.Calls("DetachNetworkInterface")+c.Calls("DeleteNetworkInterface")+c.Calls("AttachNetworkInterface") > 0 {
		t.Error(c.IDs())
	}
}

// TestTwins: of two NICs with one token that counts which is with the machine, and the other one is taken out by its own name.
func TestTwins(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	tags := [][2]string{{eni.TagMachine, me}, {eni.TagToken, "e-1"}, {eni.TagNetwork, "lan"}}
	c.Put("eni-a", "Available", "", append(tags, [2]string{tagMade, "2026-01-02T00:00:00Z"})...)
	c.PutAt("eni-b", me, 1, append(tags, [2]string{tagMade, "2026-01-01T00:00:00Z"})...)
	all, err := p.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Token != "e-1" || !all[0].Plugged || all[1].Token != "x-"+"eni-a" {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := p.Unplug(t.Context(), "x-"+"eni-a"); err != nil || !slices.Equal(c.IDs(), []string{"eni-b"}) {
		t.Error(err, c.IDs())
	}
}
