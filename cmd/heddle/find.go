package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// endpointWord is a word that may name an endpoint: an ID, a name or the beginning of one, the pod
// with its namespace, each with or without an interface.
var endpointWord = lazyregexp.New(`^` + wordPart + `(/` + wordPart + `(/[!-.0-9;-~]{1,15})?)?$`)

const wordPart = `[A-Za-z0-9][A-Za-z0-9_.-]{0,252}`

// onEndpoint does something to the endpoint that a word of the user names. An ID comes first. If do
// returns NoEndpoint for it, the word is looked for among all endpoints of this host.
func (s *session) onEndpoint(ctx context.Context, word string, to purpose, do func(heddle.EndpointID) error) error {
	id, failed := heddle.ParseEndpointID(word)
	if failed == nil {
		if failed = do(id); !errors.Is(failed, heddle.NoEndpoint.Sentinel()) {
			return failed
		}
	}
	if !endpointWord.MatchString(word) {
		return failed
	}
	all, err := s.client().Endpoints(ctx)
	if err != nil {
		return err
	}
	found := pickEndpoints(all, word, to)
	if len(found) == 1 {
		return do(found[0].ID)
	}
	if len(found) == 0 {
		s.suggest(shortIDs(pickEndpoints(all, word, toShow)))
		return failed
	}
	return ambiguous("find endpoint", word, shortIDs(found))
}

// onNetwork does something to the network that a word of the user names. A name or ID comes
// first. If do returns NoNetwork for it, the word is looked for among the networks of this host.
func (s *session) onNetwork(ctx context.Context, word string, to purpose, do func(name string) error) error {
	if err := heddle.CheckNetworkName(word); err != nil {
		return err
	}
	failed := do(word)
	if !errors.Is(failed, heddle.NoNetwork.Sentinel()) {
		return failed
	}
	all, err := s.client().Networks(ctx)
	if err != nil {
		return err
	}
	found := pickNetworks(all, word, to)
	if len(found) == 1 {
		return do(found[0].Name)
	}
	if len(found) == 0 {
		s.suggest(networkLines(pickNetworks(all, word, toShow)))
		return failed
	}
	return ambiguous("find network", word, networkLines(found))
}

// networkName returns the name of the network, which is to be changed, that a word names.
func (s *session) networkName(ctx context.Context, word string) (name string, err error) {
	err = s.onNetwork(ctx, word, toChange, func(word string) error {
		n, err := s.client().Network(ctx, word)
		name = n.Name
		return err
	})
	return name, err
}

// suggest tells what a word may have meant that is not enough for a change.
func (s *session) suggest(candidates []string) {
	if len(candidates) > 0 {
		s.note("there is %s: what changes something takes whole names, or %d digits of an id",
			firstFew(candidates), heddle.ShortID)
	}
}

func ambiguous(op, word string, candidates []string) error {
	return heddle.Errorf(heddle.Ambiguous, op, heddle.Clip(word),
		fmt.Sprintf("it fits %d: %s", len(candidates), firstFew(candidates)),
		"give more of the id or name, for an endpoint with its interface (ID/IF)")
}

// maxCandidates is how many candidates a message lists.
const maxCandidates = 8

func firstFew(all []string) string {
	text := strings.Join(all[:min(len(all), maxCandidates)], ", ")
	if more := len(all) - maxCandidates; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// shortIDs lists endpoints for a message: the ID, and the name if there is one.
func shortIDs(all []heddle.Endpoint) (lines []string) {
	for _, e := range all {
		line := e.ID.Short()
		if e.Name != "" {
			line += " (" + e.Name + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

// networkLines lists networks for a message.
func networkLines(all []heddle.Network) (lines []string) {
	for _, n := range all {
		lines = append(lines, n.Name+" ("+n.ID[:min(len(n.ID), heddle.ShortID)]+")")
	}
	return lines
}
