package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// cloud is a provider, and the host into which it plugs NICs.
type cloud struct {
	HostReader
	NICs
	cards map[string]nic.Card
	// calls are what was asked, in order. away is why nothing is answered; hangs says that no call ends by itself. slots are how many
	// NICs the machine may have.
	calls []string
	away  error
	hangs bool
	slots int
	// addresses are how many sets of further addresses a NIC may have, given how many there were.
	addresses, given int
	// block is how many addresses a NIC gets at once, as a prefix; 0 if each comes alone. slotsEach are then how many prefixes a NIC may have.
	block, slotsEach int
	// first are the first addresses of each NIC.
	first []netip.Prefix
	// chooses is the MAC address that each NIC gets, if the provider chooses it.
	chooses heddle.MAC
	ordered nic.Order
	// strange are interfaces that have a NIC's MAC address, and are another one.
	strange []heddle.MAC
	// inside are NICs that containers have, back those that were put back.
	inside map[heddle.MAC]bool
	back   []string
	// permitted are NICs of other machines. settled are endpoints whose moves were looked at.
	permitted []nic.Permitted
	settled   []string
	// relimited are endpoints whose NICs have other limits than recorded. most is what the provider allows.
	relimited []string
	most      heddle.RateLimits
	// renewed are interfaces that were made as new. unfit is why they are not. stuck are NICs that the host has although they were taken out.
	renewed []string
	unfit   error
	stuck   []nic.Card
	// listed is called when the NICs are listed.
	listed func()
	// changed has what a watch returns.
	changed chan string
	// during is called while something is done.
	during func(what string)
}

func (c *cloud) ask(ctx context.Context, what string) error {
	c.calls = append(c.calls, what)
	c.does(what)
	return c.answers(ctx)
}

func (c *cloud) does(what string) {
	if do := c.during; do != nil {
		c.during = nil
		done := make(chan struct{})
		go func() {
			defer close(done)
			do(what)
		}()
		<-done
	}
}

func (c *cloud) answers(ctx context.Context) error {
	if c.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.away
}

func (c *cloud) Plug(ctx context.Context, o nic.Order) (nic.Card, error) {
	c.ordered = o
	if err := c.ask(ctx, "plug "+o.Token); err != nil {
		return nic.Card{}, err
	}
	if c.chooses != "" && o.Chosen != nil {
		if err := o.Chosen(c.chooses); err != nil {
			return nic.Card{}, err
		}
		o.MAC = c.chooses
	}
	card, known := c.cards[o.Token]
	if !known && len(c.cards) >= c.slots || o.Network == "barred" {
		return card, heddle.Errorf(map[bool]heddle.Code{true: heddle.NICNotGranted, false: heddle.NoSlot}[o.Network == "barred"], "plug NIC", o.Token, "the machine has as many as it may have, or not on this network", "")
	}
	if known && card.Network != o.Network {
		return card, heddle.Errorf(heddle.EndpointDiffers, "plug NIC", o.Token, "it is on another network", "")
	}
	card = nic.Card{Token: o.Token, Network: o.Network, MAC: o.MAC, Addrs: c.first, MTU: 1500, Plugged: true, Closed: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}
	if o.From != "" {
		card.Dark = time.Second
	}
	c.cards[o.Token] = card
	return card, nil
}

func (c *cloud) Unplug(ctx context.Context, token string) error {
	if err := c.ask(ctx, "unplug "+token); err != nil {
		return err
	}
	delete(c.cards, token)
	return nil
}

func (c *cloud) Permit(ctx context.Context, token, to, as string) error {
	return c.ask(ctx, strings.TrimSpace("permit "+token+" "+to+" "+as))
}

func (c *cloud) Confirm(ctx context.Context, token string) error { return c.ask(ctx, "confirm "+token) }

func (c *cloud) List(ctx context.Context) (all []nic.Card, err error) {
	if c.listed != nil {
		c.listed()
	}
	for _, card := range c.cards {
		all = append(all, card)
	}
	return all, c.answers(ctx)
}

func (c *cloud) Watch(ctx context.Context, since string) (string, error) {
	select {
	case now := <-c.changed:
		return now, c.answers(ctx)
	case <-ctx.Done():
		return since, nil
	}
}

func (c *cloud) Describe(ctx context.Context) (nic.Offer, error) {
	return nic.Offer{Machine: "m", Networks: []string{"lan"}, Slots: c.slots, Free: c.slots - len(c.cards), Addresses: c.addresses, Permitted: c.permitted}, c.answers(ctx)
}

func (c *cloud) Assign(ctx context.Context, token string, sets int) (nic.Card, error) {
	if err := c.ask(ctx, fmt.Sprint("assign ", sets)); err != nil {
		return nic.Card{}, err
	}
	card := c.cards[token]
	card.Further = slices.Clone(card.Further)
	for len(card.Further) < sets {
		if c.block > 0 {
			card = c.giveBlock(card)
			continue
		}
		c.given++
		card.Further = append(card.Further, []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(c.given)}), 24)})
	}
	c.cards[token] = card
	return card, nil
}

// giveBlock gives a NIC a prefix of c.block addresses.
func (c *cloud) giveBlock(card nic.Card) nic.Card {
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(c.given)}), 32-bits.Len(uint(c.block-1)))
	for range c.block {
		card.Further = append(card.Further, []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(c.given)}), 24)})
		c.given++
	}
	card.Prefixes = append(slices.Clone(card.Prefixes), p)
	card.Full = len(card.Prefixes) >= c.slotsEach
	return card
}

func (c *cloud) UnassignPrefix(ctx context.Context, token string, p netip.Prefix) error {
	if err := c.ask(ctx, fmt.Sprint("unassign ", p)); err != nil {
		return err
	}
	card := c.cards[token]
	card.Further = slices.DeleteFunc(slices.Clone(card.Further), func(s []netip.Prefix) bool { return p.Contains(s[0].Addr()) })
	card.Prefixes = slices.DeleteFunc(slices.Clone(card.Prefixes), func(x netip.Prefix) bool { return x == p })
	card.Full = false
	c.cards[token] = card
	return nil
}

func (c *cloud) Limit(ctx context.Context, token string, asked heddle.RateLimits) (nic.Card, error) {
	if err := c.ask(ctx, strings.TrimSpace("limit "+token+" "+asked.String())); err != nil {
		return nic.Card{}, err
	}
	card := c.cards[token]
	card.Asked, card.Limits = asked, asked.Within(c.most)
	c.cards[token] = card
	return card, nil
}

func (c *cloud) Unassign(ctx context.Context, token string, a netip.Addr) error {
	if err := c.ask(ctx, fmt.Sprint("unassign ", a)); err != nil {
		return err
	}
	card := c.cards[token]
	card.Further = slices.DeleteFunc(slices.Clone(card.Further), func(s []netip.Prefix) bool { return s[0].Addr() == a })
	c.cards[token] = card
	return nil
}

func (c *cloud) RenewNIC(n heddle.NIC) error {
	c.renewed = append(c.renewed, n.Name)
	c.does("renew " + n.Name)
	return c.unfit
}

// Facts has the interfaces of the host: each NIC, behind those that only look like it.
func (c *cloud) Facts() (f heddle.HostFacts, err error) {
	for _, mac := range c.strange {
		f.Links = append(f.Links, heddle.LinkFact{Name: "strange", MAC: mac})
	}
	for _, card := range append(slices.Collect(maps.Values(c.cards)), c.stuck...) {
		if card.Plugged && !c.inside[card.MAC] {
			f.Links = append(f.Links, heddle.LinkFact{Name: "nic-" + card.Token, MAC: card.MAC})
		}
	}
	return f, nil
}

func (c *cloud) Snapshot(name string) (heddle.NIC, error) {
	token, is := strings.CutPrefix(name, "nic-")
	n := heddle.NIC{Name: name, MAC: c.cards[token].MAC}
	for _, card := range c.stuck {
		if card.Token == token {
			n.MAC = card.MAC
		}
	}
	if is {
		n.Was.Permanent = n.MAC
	}
	return n, nil
}

// direct is a mode whose networks have NICs plugged in.
type direct struct{ heddle.Mode }

func (direct) Name() string                    { return "direct" }
func (direct) Pool(heddle.Network) []string    { return nil }
func (direct) PlugsOn(n heddle.Network) string { return n.Options["plug"] }
func (direct) DriverOf(heddle.Network) string  { return "" }

// WarmNICs reads option warm, such as 2-4.
func (direct) WarmNICs(n heddle.Network) (least, most int) {
	fmt.Sscanf(n.Options["warm"], "%d-%d", &least, &most)
	return least, most
}

// shares is a mode whose endpoints share NICs that are plugged in.
type shares struct{ heddle.Mode }

func (shares) Name() string                      { return "shares" }
func (shares) ParentsOn(n heddle.Network) string { return n.Options["plug"] }
func (shares) RoutesOnParents() bool             { return false }

// routes is one whose host routes for the endpoints.
type routes struct{ shares }

func (routes) Name() string          { return "routes" }
func (routes) RoutesOnParents() bool { return true }

func (shares) WarmAddresses(n heddle.Network) (count int) {
	fmt.Sscan(n.Options["warm"], &count)
	return count
}

func newPlugs(t *testing.T) (*plugs, *cloud) {
	t.Helper()
	c := &cloud{cards: map[string]nic.Card{}, slots: 8}
	log := slog.New(slog.DiscardHandler)
	ledger, err := openLedger(t.TempDir(), t.TempDir(), "boot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.close() })
	records := newRecords(newWantedObjects(), newNameTables())
	host := &hostView{kernel: c}
	p := &plugs{provider: c, kernel: c, host: host, lookout: newLookout(host), plugging: newTurns(), unplugging: newTurns(), log: log, records: records, ledger: ledger, modes: modes{direct{}, shares{}, routes{}},
		networks: newRegister(newWantedObjects(), reporter{}, nil), soon: make(chan struct{}, 1), fill: make(chan struct{}, 1),
		wanted: map[string]heddle.MAC{}, left: map[string]heddle.MAC{}, suspect: map[string]bool{}, looked: true, pools: map[string]*nicPool{}}
	p.parents = &parents{plugs: p, pools: map[string]*parentPool{}}
	p.putBack = func(_ context.Context, id heddle.EndpointID, card nic.Card) error {
		c.back = append(c.back, fmt.Sprint(id.Container, " ", card.Plugged))
		return nil
	}
	p.relimit = func(_ context.Context, id heddle.EndpointID) error {
		c.relimited = append(c.relimited, id.Container)
		return nil
	}
	p.settle = func(_ context.Context, id heddle.EndpointID) error {
		c.settled = append(c.settled, id.Container)
		return nil
	}
	p.holds = &holds{records: records, root: t.TempDir(), log: log, plugged: p.has, unsure: func() bool { return false }}
	return p, c
}

const plugMAC = heddle.MAC("0a:00:00:00:00:01")

// took returns what was asked of the provider since the last call.
func (c *cloud) took() string {
	defer func() { c.calls = nil }()
	return strings.Join(c.calls, ", ")
}

func (p *plugs) object() (all []string) {
	for _, f := range p.findings() {
		all = append(all, f.Kind+" "+f.Object)
	}
	slices.Sort(all)
	return all
}

// TestPlugs: an endpoint's NIC is the one that was plugged in for it, and goes with it.
func TestPlugs(t *testing.T) {
	p, c := newPlugs(t)
	c.strange = []heddle.MAC{plugMAC}
	n, card, err := p.plug(t.Context(), nic.Order{Token: "e-1", Network: "lan", MAC: plugMAC})
	if err != nil || n.Name != "nic-e-1" || n.Plugged.Token != "e-1" || card.MAC != plugMAC {
		t.Fatalf("%+v, %+v, %v", n, card, err)
	}
	if c.took() != "plug e-1" || !p.has(plugMAC) || len(p.object()) > 0 {
		t.Errorf("%v, %v", p.wanted, p.object())
	}
	p.drop(heddle.Endpoint{MAC: plugMAC, NIC: &n})
	if got := p.object(); !slices.Equal(got, []string{"leftover plugged/e-1"}) {
		t.Error(got)
	}
	p.takeOutDropped(t.Context(), "e-1")
	if got := c.took(); got != "unplug e-1" || p.has(plugMAC) || len(p.object()) > 0 {
		t.Errorf("%s, %v", got, p.object())
	}
	p.takeOutDropped(t.Context(), "e-1")
	if got := c.took(); got != "" {
		t.Errorf("taken out twice: %s", got)
	}
}

// TestPlugsAnew: what is left over from an earlier endpoint of the same ID is not given to the next one.
func TestPlugsAnew(t *testing.T) {
	p, c := newPlugs(t)
	c.cards["e-1"] = nic.Card{Token: "e-1", Network: "other", MAC: plugMAC, Plugged: true}
	order := nic.Order{Token: "e-1", Network: "lan", MAC: plugMAC}
	if _, card, err := p.plug(t.Context(), order); err != nil || card.Network != "lan" || c.took() != "plug e-1, permit e-1, unplug e-1, plug e-1" {
		t.Errorf("%+v, %v", card, err)
	}
	c.away = errors.New("away")
	p.giveBack(t.Context(), "e-1", plugMAC)
	if got := p.object(); !slices.Equal(got, []string{"pending plugged/e-1"}) || !p.has(plugMAC) {
		t.Errorf("while the provider is away: %v", got)
	}
	c.away, c.calls = nil, nil
	if _, _, err := p.plug(t.Context(), order); err != nil || c.took() != "unplug e-1, plug e-1" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c.strange = []heddle.MAC{"0a:00:00:00:00:02"}
	c.NICs = nil
	p.kernel = looksAlike{}
	if _, _, err := p.plug(ctx, nic.Order{Token: "e-2", Network: "lan", MAC: "0a:00:00:00:00:02"}); err == nil || c.took() != "plug e-2, unplug e-2" || p.wants("e-2") {
		t.Errorf("an interface that only looks like it: %v", err)
	}
}

// looksAlike has NICs without permanent MAC addresses.
type looksAlike struct{ NICs }

func (looksAlike) Snapshot(name string) (heddle.NIC, error) { return heddle.NIC{Name: name}, nil }

// TestPlugStrays: what nobody wants is taken out, and nothing else.
func TestPlugStrays(t *testing.T) {
	p, c := newPlugs(t)
	for i, token := range []string{"e-kept", "e-stray", "w-stray"} {
		c.cards[token] = nic.Card{Token: token, Network: "lan", MAC: heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", i+1)), Plugged: true}
	}
	p.want("e-kept", plugMAC)
	removed, err := p.collect(t.Context())
	if err != nil || !slices.Equal(removed, []string{"plugged/e-stray", "plugged/w-stray"}) || len(c.cards) != 1 {
		t.Errorf("%v, %v, left %v", removed, err, c.cards)
	}
	p.leaveStray("e-kept", plugMAC)
	if done, err := p.takeOutStray(t.Context(), "e-kept"); done || err != nil {
		t.Errorf("an endpoint's NIC is taken out: %v", err)
	}
	p.records.add(record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: "eth0"},
		NIC: &heddle.NIC{Plugged: &heddle.PluggedNIC{Token: "e-gone"}}}}, "")
	if got := p.object(); !slices.Equal(got, []string{"missing plugged/e-gone"}) {
		t.Error(got)
	}
	c.away = errors.New("away")
	if _, err := p.collect(t.Context()); err == nil {
		t.Error("the provider is away, and nothing is said")
	}
	if part := p.parts()[0]; part.State != "warn" {
		t.Errorf("the status is %+v", part)
	}
	p.provider = nil
	if part := p.parts()[0]; part.State != "warn" || !strings.Contains(part.Detail, "--nic-grant") {
		t.Errorf("without a provider the status is %+v", part)
	}
	p.giveBack(t.Context(), "e-kept", plugMAC)
	if got := p.object(); !slices.Equal(got, []string{"pending plugged/e-kept"}) {
		t.Error(got)
	}
}

// TestPlugsLostRecords: if records of endpoints are lost, their NICs stay.
func TestPlugsLostRecords(t *testing.T) {
	p, c := newPlugs(t)
	c.cards["e-1"] = nic.Card{Token: "e-1", Network: "lan", MAC: plugMAC, Plugged: true}
	for _, lost := range []bool{true, false} {
		if err := p.ledger.setUnclaimed(lost); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		p.follow(ctx)
		cancel()
		if _, is := c.cards["e-1"]; is != lost {
			t.Errorf("records lost: %v, the NIC is there: %v", lost, is)
		}
	}
}

// TestPlugsAstray: a NIC that is not plugged in any more, or is on the host, is put back into its container. One without a port is not, nor
// one that a container's engine has moved.
func TestPlugsAstray(t *testing.T) {
	p, c := newPlugs(t)
	c.inside = map[heddle.MAC]bool{}
	for i, x := range []struct {
		name                                              string
		port, plugged, inside, handover, pending, program bool
	}{
		{name: "there", port: true, plugged: true, inside: true},
		{name: "out", port: true},
		{name: "host", port: true, plugged: true},
		{name: "portless"},
		{name: "engine", port: true, handover: true},
		{name: "begun", port: true, pending: true},
		{name: "program", port: true, plugged: true, inside: true, program: true}, // its driver may have been taken from it
	} {
		mac, op := heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", i)), ""
		if x.pending {
			op = intentAttach
		}
		if x.port {
			c.cards["e-"+x.name] = nic.Card{Token: "e-" + x.name, Network: "lan", MAC: mac, Plugged: x.plugged}
		}
		c.inside[mac] = x.inside
		p.want("e-"+x.name, mac)
		given := &heddle.NIC{MAC: mac, Plugged: &heddle.PluggedNIC{Token: "e-" + x.name}}
		if x.program {
			given.Device = &heddle.NICDevice{}
		}
		p.records.add(record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: x.name, IfName: "eth0"}, MAC: mac, Handover: x.handover, NIC: given}}, op)
	}
	if err := p.tidy(t.Context()); err != nil {
		t.Error(err)
	}
	slices.Sort(c.back)
	if !slices.Equal(c.back, []string{"host true", "out false", "program true"}) || c.took() != "" {
		t.Errorf("put back: %v", c.back)
	}
	c.away = errors.New("away")
	if err := p.tidy(t.Context()); err == nil || len(c.back) != 3 {
		t.Errorf("while the provider is away: %v, %v", err, c.back)
	}
}

// TestPlugAgain: a NIC is plugged in again with the MAC address and addresses that its endpoint has. It is not taken out when that fails.
func TestPlugAgain(t *testing.T) {
	p, c := newPlugs(t)
	e := heddle.Endpoint{MAC: plugMAC, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}, NIC: &heddle.NIC{Plugged: &heddle.PluggedNIC{Token: "e-1"}}}
	n, err := p.again(t.Context(), "lan", e)
	if err != nil || n.MAC != plugMAC || n.Plugged.Token != "e-1" || c.took() != "plug e-1" {
		t.Errorf("%+v, %v", n, err)
	}
	if o := c.ordered; o.MAC != plugMAC || len(o.IPs) != 1 || o.IPs[0] != e.Addrs[0].Addr() || o.Network != "lan" {
		t.Errorf("the order is %+v", o)
	}
	c.away = errors.New("away")
	if _, err := p.again(t.Context(), "lan", e); err == nil || c.took() != "plug e-1" {
		t.Error(err)
	}
}

// TestPlugMoves: what has come is confirmed, what has gone or may not go any more is settled, and what another machine has is not
// put back.
func TestPlugMoves(t *testing.T) {
	p, c := newPlugs(t)
	c.inside = map[heddle.MAC]bool{}
	for i, x := range []struct {
		name  string
		gone  bool
		card  nic.Card
		to    string
		begun string
	}{
		{name: "comes", card: nic.Card{From: "b", Plugged: true}},
		{name: "begun", card: nic.Card{From: "b", Plugged: true}, begun: intentAttach},
		{name: "may", card: nic.Card{To: "b", Plugged: true}, to: "b"},
		{name: "goes", card: nic.Card{To: "b", Taken: true}, to: "b"},
		{name: "gone", gone: true, to: "b"},
		{name: "stays", card: nic.Card{Plugged: true}, to: "b"},
	} {
		mac := heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", i))
		x.card.Token, x.card.Network, x.card.MAC = "e-"+x.name, "lan", mac
		if !x.gone {
			c.cards[x.card.Token] = x.card
		}
		c.inside[mac] = true
		p.want(x.card.Token, mac)
		p.records.add(record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: x.name, IfName: "eth0"}, MAC: mac, MovesTo: x.to,
			NIC: &heddle.NIC{MAC: mac, Plugged: &heddle.PluggedNIC{Token: x.card.Token}}}}, x.begun)
	}
	if err := p.tidy(t.Context()); err != nil {
		t.Error(err)
	}
	slices.Sort(c.settled)
	if got := c.took(); got != "confirm e-comes" || !slices.Equal(c.settled, []string{"gone", "stays"}) || len(c.back) > 0 {
		t.Errorf("%s; settled %v; put back %v", got, c.settled, c.back)
	}
	if got := p.object(); !slices.Equal(got, []string{"pending plugged/e-comes", "pending plugged/e-goes"}) {
		t.Error(got)
	}
}

// TestPlugFrom: a NIC is ordered from another machine as that machine permits it, and no other one is taken in its place.
func TestPlugFrom(t *testing.T) {
	p, c := newPlugs(t)
	req := heddle.AttachRequest{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}, MoveFrom: "b"}
	withPool(p, "1-1")
	p.poolLocked(p.warmNetworks()[0]).nics = []waitingNIC{{Card: nic.Card{Token: "w-1", Network: "lan", MAC: plugMAC, Plugged: true}}}
	good := nic.Permitted{From: "b", Token: plugToken(req.ID), Network: "lan", MAC: plugMAC, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}
	for what, x := range map[string]struct {
		change func(*nic.Permitted)
		code   heddle.Code
	}{
		"another machine's": {func(o *nic.Permitted) { o.From = "d" }, heddle.NICNotGranted},
		"another endpoint":  {func(o *nic.Permitted) { o.Token = "e-1" }, heddle.NICNotGranted},
		"another network":   {func(o *nic.Permitted) { o.Network = "other" }, heddle.BadOption},
	} {
		bad := good
		x.change(&bad)
		c.permitted = []nic.Permitted{bad}
		if _, _, err := p.forEndpoint(t.Context(), "id", "lan", req); x.code.In(err) == nil || c.took() != "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	c.permitted = []nic.Permitted{good}
	n, card, err := p.forEndpoint(t.Context(), "id", "lan", req)
	if err != nil || card.MAC != plugMAC || n.Plugged.Token != good.Token || c.ordered.From != "b" || !slices.Equal(c.ordered.IPs, []netip.Addr{netip.MustParseAddr("192.0.2.7")}) {
		t.Errorf("%+v, %+v, %v", card, c.ordered, err)
	}
	if n.Plugged.Left.IsZero() || time.Since(n.Plugged.Left) < time.Second {
		t.Errorf("the other machine let go of it at %v", n.Plugged.Left)
	}
}
