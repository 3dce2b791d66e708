package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// pair is an entry of a mapping.
type pair struct{ key, value *yaml.Node }

// resolve returns the node that an alias stands for, and any other node as it is.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// entries lists the entries of a mapping, in which no key is twice. The words say what is to be given.
func entries(n *yaml.Node, words string) (all []pair, err error) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		return nil, yamlfile.Refuse(n, "it is no mapping; %s", words)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolve(n.Content[i])
		if seen[key.Value] {
			return nil, yamlfile.Refuse(n.Content[i], "%q is given twice; take one out", heddle.Clip(key.Value))
		}
		seen[key.Value] = true
		all = append(all, pair{key, n.Content[i+1]})
	}
	return all, nil
}

// parameter is what a law is given under a name.
type parameter struct {
	name string
	unit unit
	into *float64
}

// fill reads parameters, all of which must be there, and no other.
func fill(n *yaml.Node, all ...parameter) error {
	names := ""
	for _, p := range all {
		names += " " + p.name
	}
	given, err := entries(n, "give"+names)
	if err != nil {
		return err
	}
	if len(given) != len(all) {
		return yamlfile.Refuse(n, "it has %d parameters; give%s", len(given), names)
	}
	for _, g := range given {
		i := slices.IndexFunc(all, func(p parameter) bool { return p.name == g.key.Value })
		if i < 0 {
			return yamlfile.Refuse(g.key, "there is no such parameter; give%s", names)
		}
		if *all[i].into, err = all[i].unit.above0(g.value); err != nil {
			return err
		}
	}
	return nil
}
