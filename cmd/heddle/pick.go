package main

import (
	"strings"

	"github.com/heddle-network/heddle"
)

// A person names an endpoint by its ID, by the container's name, by the pod, or by the beginning of
// an ID or name. What only shows something takes any beginning that is unique. What changes something takes
// whole names, and of IDs that a machine has made the digits that tables show: a script that detaches
// web twice must not hit web2.

// purpose is what an endpoint or a network is looked for.
type purpose bool

const (
	toShow   purpose = false
	toChange purpose = true
)

// naming reports whether a word names an endpoint. If the word has an interface, this is
// looked at elsewhere.
type naming func(e heddle.Endpoint, word string, interfaceGiven bool) bool

// pickEndpoints returns the endpoints that a word names, if it is not the ID of one: those of the
// first way of naming that has any.
func pickEndpoints(all []heddle.Endpoint, word string, to purpose) []heddle.Endpoint {
	ways := []naming{hasContainer, hasName, isOfPod, beginsWith}
	if to == toChange {
		ways = []naming{hasName, isOfPod, beginsSurely}
	}
	for _, names := range ways {
		if found := pickBy(names, all, word); len(found) > 0 {
			return found
		}
	}
	return nil
}

// pickBy returns the endpoints that the word names, as a whole or as NAME/IF.
func pickBy(names naming, all []heddle.Endpoint, word string) []heddle.Endpoint {
	found := only(all, func(e heddle.Endpoint) bool { return names(e, word, false) })
	at := strings.LastIndex(word, "/")
	if len(found) > 0 || at < 0 {
		return found
	}
	name, ifname := word[:at], word[at+1:]
	return only(all, func(e heddle.Endpoint) bool {
		return names(e, name, true) && (e.ID.IfName == ifname || e.Interface() == ifname)
	})
}

func hasContainer(e heddle.Endpoint, word string, _ bool) bool { return e.ID.Container == word }

func hasName(e heddle.Endpoint, word string, _ bool) bool {
	return e.Name != "" && strings.EqualFold(e.Name, word)
}

// isOfPod reports whether the word is POD or NAMESPACE/POD.
func isOfPod(e heddle.Endpoint, word string, _ bool) bool {
	pod := e.Labels[heddle.LabelPod]
	return pod != "" && (word == pod || word == e.Labels[heddle.LabelPodNamespace]+"/"+pod)
}

func beginsWith(e heddle.Endpoint, word string, _ bool) bool {
	named := strings.HasPrefix(strings.ToLower(e.Name), strings.ToLower(word))
	return word != "" && (named || strings.HasPrefix(e.ID.Container, word))
}

// beginsSurely reports whether the word has enough of an ID that a machine has made. Without an
// interface it is the usual one, as in other IDs. Docker's endpoints have only one.
func beginsSurely(e heddle.Endpoint, word string, interfaceGiven bool) bool {
	usual := interfaceGiven || e.ID.IfName == "eth0" || e.ID.IfName == "eth"
	return usual && e.ID.IsMade() && len(word) >= heddle.ShortID && strings.HasPrefix(e.ID.Container, word)
}

// pickNetworks returns the networks that a word names, if it is neither the name nor the ID of one.
func pickNetworks(all []heddle.Network, word string, to purpose) []heddle.Network {
	return only(all, func(n heddle.Network) bool {
		if to == toChange {
			return len(word) >= heddle.ShortID && strings.HasPrefix(n.ID, word)
		}
		return word != "" && (strings.HasPrefix(n.ID, word) || strings.HasPrefix(n.Name, word))
	})
}

func only[T any](all []T, fits func(T) bool) (found []T) {
	for _, x := range all {
		if fits(x) {
			found = append(found, x)
		}
	}
	return found
}
