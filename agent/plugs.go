package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// plugs are the NICs that a provider plugs in for endpoints, and takes out when these are gone. What the provider has and
// nobody wants is taken out, too: the agent may have been killed before the endpoint was recorded, or the provider been
// away when it went.
type plugs struct {
	provider nic.Provider
	kernel   NICs
	host     *hostView
	lookout  *lookout
	holds    *holds
	networks *register
	records  *records
	ledger   *ledger
	modes    modes
	log      *slog.Logger
	trip     tripwire
	// putBack is Agent.putBackNIC, settle is Agent.settleMove.
	putBack func(context.Context, heddle.EndpointID, nic.Card) error
	settle  func(context.Context, heddle.EndpointID) error
	// relimit is Agent.relimitNIC.
	relimit func(context.Context, heddle.EndpointID) error

	// prune is Agent.pruneAtStart. It is called when it is known for the first time which NICs there are.
	prune func()

	// soon asks for a look at once; its capacity is one.
	soon chan struct{}
	// fill asks to fill the pools; its capacity is one.
	fill chan struct{}
	// plugging and unplugging are requests to the provider. One that hangs keeps none of the other kind from it.
	plugging, unplugging turns
	// tokens is held for a NIC while it is plugged in or taken out.
	tokens keyed[atPlugs, string]

	mu mutex[atPlugged]
	// wanted are the NICs, by token, that endpoints have, or are about to get, and those that are warm. left are those of which
	// it is not known that they were taken out. NIC managers are told to ignore both.
	wanted, left map[string]heddle.MAC
	// suspect are NICs that a container did not let go of.
	suspect map[string]bool
	// pools are those of the networks that have one, by ID.
	pools map[string]*nicPool
	// ordering is how many attaches have a NIC plugged in now.
	ordering int
	// parents are NICs of networks whose endpoints share them.
	parents *parents
	// looked says that it is known which NICs of an earlier agent there are.
	looked bool
	// offer is what the provider said last, trouble why it did not.
	offer   nic.Offer
	trouble error
}

const (
	// plugTime limits the plugging of a NIC, and unplugTime its end. An emulated machine takes about a second for either.
	plugTime   = time.Minute
	unplugTime = 10 * time.Second
	// plugSeen is how often the agent looks whether the kernel has found the NIC.
	plugSeen = 20 * time.Millisecond
)

// plugToken is an endpoint's name for its NIC. It does not change, so that an attach that is tried again finds the NIC.
func plugToken(id heddle.EndpointID) string {
	sum := sha256.Sum256([]byte(id.String()))
	return "e-" + hex.EncodeToString(sum[:16])
}

// plug has a NIC plugged in, and returns it once the kernel has found it.
func (p *plugs) plug(ctx context.Context, order nic.Order) (heddle.NIC, nic.Card, error) {
	defer p.tokens.Lock(order.Token)()
	if p.leftMAC(order.Token) != "" { // it may have come home under another name
		if err := p.unplug(ctx, order.Token); err != nil {
			return heddle.NIC{}, nic.Card{}, err
		}
	}
	p.want(order.Token, order.MAC)
	n, card, err := p.plugInTurn(ctx, order)
	if err != nil && p.wants(order.Token) {
		p.takeOut(context.WithoutCancel(ctx), order.Token, p.wantedMAC(order.Token))
	}
	return n, card, err
}

// plugInTurn is plug without undoing what has failed. Its time begins when it is its turn. If the provider does not answer, the NIC is left:
// it is told later.
func (p *plugs) plugInTurn(ctx context.Context, order nic.Order) (n heddle.NIC, card nic.Card, err error) {
	end, err := p.plugging.take(ctx)
	if err != nil {
		p.unwant(order.Token) // nobody was told
		return n, card, err
	}
	ctx, cancel := context.WithTimeout(ctx, plugTime)
	defer cancel()
	card, err = p.order(ctx, order)
	end()
	switch {
	case err == nil:
		n, err = p.await(ctx, card)
	case ctx.Err() != nil:
		p.leave(order.Token, p.wantedMAC(order.Token))
		signal(p.soon)
	}
	return n, card, err
}

// order has the provider plug a NIC in.
func (p *plugs) order(ctx context.Context, order nic.Order) (nic.Card, error) {
	p.tokens.mustHold(order.Token)
	// NIC managers see the NIC as soon as the agent does
	if err := p.holds.keepOff(heddle.NIC{MAC: order.MAC}); err != nil {
		return nic.Card{}, err
	}
	if err := p.trip.step("plug NIC"); err != nil {
		return nic.Card{}, err
	}
	card, err := p.provider.Plug(ctx, order)
	var known *heddle.Error
	if errors.As(err, &known) && known.Code == heddle.EndpointDiffers { // it is left over from an earlier endpoint of that ID
		if err = p.provider.Permit(ctx, order.Token, "", ""); err == nil { // nor does it wait for another machine
			err = p.provider.Unplug(ctx, order.Token)
		}
		if err == nil {
			card, err = p.provider.Plug(ctx, order)
		}
	}
	return card, err
}

// giveBack has a NIC taken out that nobody has got. If that fails, it is tried again.
func (p *plugs) giveBack(ctx context.Context, token string, mac heddle.MAC) {
	defer p.tokens.Lock(token)()
	p.takeOut(ctx, token, mac)
}

// takeOut is giveBack with the token's lock held.
func (p *plugs) takeOut(ctx context.Context, token string, mac heddle.MAC) {
	p.tokens.mustHold(token)
	p.leave(token, mac)
	if p.provider == nil || p.trip.step("unplug NIC") != nil {
		return // it will be a stray
	}
	if err := p.unplug(ctx, token); err != nil {
		p.log.Warn("a NIC that nobody wants is not taken out; it is tried again", "mac", mac, "error", err)
	}
}

// drop ends an endpoint's NIC, if it was plugged in. It goes back into its pool, or is to be taken out: soon, or by takeOutDropped.
func (p *plugs) drop(e heddle.Endpoint) {
	if e.NIC != nil && e.NIC.Plugged != nil && !p.comesBack(e) {
		p.leave(e.NIC.Plugged.Token, e.MAC)
		signal(p.soon)
	}
}

// takeOutDropped has a NIC taken out that was dropped, and waits for it. If that fails, it is tried again.
func (p *plugs) takeOutDropped(ctx context.Context, token string) {
	defer p.tokens.Lock(token)()
	if mac := p.leftMAC(token); mac != "" {
		p.takeOut(ctx, token, mac)
	}
}

// unplug has a NIC taken out, and lets NIC managers have what may come with its MAC address.
func (p *plugs) unplug(ctx context.Context, token string) error {
	p.holds.managers().Settle() // the NIC may have come back just now
	ctx, cancel := context.WithTimeout(ctx, unplugTime)
	defer cancel()
	end, err := p.unplugging.take(ctx)
	if err != nil {
		return err
	}
	err = p.provider.Unplug(ctx, token)
	end()
	if err != nil {
		return err
	}
	mac := p.leftMAC(token)
	if mac == "" {
		return nil
	}
	if name, err := p.onHost(mac); err != nil || name != "" {
		return cmp.Or(err, stillHere(mac, name))
	}
	_, err = p.holds.freeOnce(mac, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.left, token)
	})
	return err
}
