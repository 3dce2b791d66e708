package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// plugsEvery is how often the agent asks the provider which NICs there are, plugsAgain how soon if they were not as wanted.
const plugsEvery, plugsAgain = 10 * time.Second, 2 * time.Second

// follow asks the provider again and again what there is. It has taken out what nobody wants. If records
// of endpoints are lost, it leaves all as it is: their containers have NICs, too.
func (p *plugs) follow(ctx context.Context) {
	told, again := "", plugsAgain
	for ctx.Err() == nil {
		lost, err := p.ledger.unclaimed()
		if err == nil && !lost && p.provider != nil {
			err = p.tidy(ctx)
		}
		if err != nil {
			if now := err.Error(); now != told && ctx.Err() == nil {
				told = now
				p.log.Warn("NICs that are plugged in are not as wanted; it is tried again", "error", err)
			}
			pause(ctx, again)
			again = min(2*again, plugsEvery) // what does not succeed is asked for less and less often
			continue
		}
		told, again = "", plugsAgain
		select {
		case <-ctx.Done():
		case <-p.soon:
		case <-time.After(plugsEvery):
		}
	}
}

// tidy makes what there is what is wanted: strays are taken out, moves are ended, NICs that left their containers are put back, limits are as recorded. Then
// pools are filled. What fails does not keep the rest.
func (p *plugs) tidy(ctx context.Context) error {
	before, changed := p.pooled(), p.parents.changedSoFar()
	all, err := p.list(ctx)
	if err != nil {
		return err
	}
	lost := p.dropLost(all, before)
	_, err = p.takeOutStrays(ctx, all)
	p.parents.learn(all, changed)
	signal(p.fill)
	return errors.Join(lost, err, p.endMoves(ctx, all), p.mend(ctx, all), p.keepLimits(ctx, all))
}

// collect has the NICs taken out that nobody wants, and returns their tokens.
func (p *plugs) collect(ctx context.Context) (removed []string, err error) {
	if p.provider == nil {
		return nil, nil
	}
	all, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	return p.takeOutStrays(ctx, all)
}

// takeOutStrays is collect, when all is what the provider has.
func (p *plugs) takeOutStrays(ctx context.Context, all []nic.Card) (removed []string, err error) {
	back := map[string]warmNetwork{}
	for _, c := range all {
		if p.wants(c.Token) {
			continue
		}
		if w, is := p.adopt(c); is {
			back[c.Token] = w
		} else {
			p.leaveStray(c.Token, c.MAC)
		}
	}
	for _, c := range all { // with places for all: an audit finds none that is still to be made as new
		if w, is := back[c.Token]; is {
			p.rest(w, c)
		}
	}
	p.sure()
	p.mu.Lock()
	tokens := slices.Sorted(maps.Keys(p.left))
	p.mu.Unlock()
	var errs []error
	for _, token := range tokens {
		done, err := p.takeOutStray(ctx, token)
		if done {
			p.log.Info("a NIC that nobody wants is taken out", "nic", token)
			removed = append(removed, pluggedObject+token)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// takeOutStray has a NIC taken out, unless somebody has got it, or taken it out, meanwhile.
func (p *plugs) takeOutStray(ctx context.Context, token string) (done bool, err error) {
	defer p.tokens.Lock(token)()
	if p.leftMAC(token) == "" {
		return false, nil
	}
	err = p.unplug(ctx, token)
	return err == nil, err
}

// list asks which NICs the provider has for this machine.
func (p *plugs) list(ctx context.Context) ([]nic.Card, error) {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	all, err := p.provider.List(ctx)
	offer := nic.Offer{}
	if err == nil {
		offer, err = p.provider.Describe(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offer, p.trouble = offer, err
	return all, err
}

// findings are, for an audit: the strays, NICs of endpoints that the provider has taken out, and what is not known to be out.
func (p *plugs) findings() []heddle.Finding {
	if p.provider == nil {
		return p.unknown(errors.New("heddled was started without --nic-grant or --nic-cloud"))
	}
	found, err := p.compare()
	if err == nil && len(found) > 0 {
		for _, f := range found { // one may be being plugged in or taken out
			p.tokens.Lock(strings.TrimPrefix(f.Object, pluggedObject))()
		}
		found, err = p.compare()
	}
	if err != nil {
		return p.unknown(err)
	}
	return found
}

// pluggedObject begins the names of NICs in findings; the token follows.
const pluggedObject = "plugged/"

// compare compares what the provider has with what is wanted.
func (p *plugs) compare() (found []heddle.Finding, err error) {
	all, err := p.list(context.Background())
	if err != nil {
		return nil, err
	}
	in := map[string]nic.Card{}
	for _, c := range all {
		in[c.Token] = c
		if !p.wants(c.Token) && !(p.unsure() && strings.HasPrefix(c.Token, warmToken)) {
			found = append(found, heddle.Finding{Kind: "leftover", Object: pluggedObject + c.Token,
				Detail: "NIC " + string(c.MAC) + " is plugged in for no endpoint", Remedy: remedyGC})
		}
	}
	leaks, err := p.leaks(in)
	if err != nil {
		return nil, err
	}
	found = append(found, leaks...)
	found = append(found, p.parents.compare(in)...)
	p.records.each(func(r record, op string) {
		given := r.Endpoint.NIC
		if given == nil || given.Plugged == nil || op != "" {
			return
		}
		card, hasPort := in[given.Plugged.Token]
		f := heddle.Finding{Object: pluggedObject + given.Plugged.Token, Owner: r.Endpoint.ID.String()}
		switch {
		case !hasPort && r.Endpoint.MovesTo != "":
			return // it has moved, and the endpoint ends at the next look
		case card.Taken:
			f.Kind, f.Detail = "pending", "machine "+card.To+" has taken NIC "+string(given.MAC)+" over, and has not confirmed it"
			f.Remedy = "look at the agent there; 'heddle endpoint move " + f.Owner + " --cancel' takes it back"
		case card.From != "":
			f.Kind, f.Detail, f.Remedy = "pending", "NIC "+string(given.MAC)+" has come from machine "+card.From+", which has not been told", remedyRepair
		case card.Plugged:
			return
		default:
			f.Kind, f.Detail, f.Remedy = "missing", "NIC "+string(given.MAC)+" is not plugged in any more", r.remedy()
			if hasPort && !r.Endpoint.Handover {
				f.Remedy = remedyRepair
			}
		}
		found = append(found, f)
	})
	return found, nil
}

// unknown are the NICs of which it is not known that they were taken out, since the provider cannot be asked.
func (p *plugs) unknown(why error) (all []heddle.Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for token, mac := range p.left {
		all = append(all, heddle.Finding{Kind: "pending", Object: pluggedObject + token,
			Detail: "NIC " + string(mac) + " is to be taken out: " + heddle.SentenceOf(why), Remedy: cmp.Or(heddle.RemedyOf(why), "start heddled with --nic-grant or --nic-cloud")})
	}
	slices.SortFunc(all, func(a, b heddle.Finding) int { return strings.Compare(a.Object, b.Object) })
	return all
}
