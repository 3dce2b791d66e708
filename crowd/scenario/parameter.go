package scenario

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle/yamlfile"
)

// pair is an entry of a mapping.
type pair struct{ key, value *yaml.Node }

// entries lists the entries of a mapping.
func entries(n *yaml.Node) (all []pair, err error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return nil, yamlfile.Refuse(n, "it is neither a value nor a mapping; %s", lawWords)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		all = append(all, pair{n.Content[i], n.Content[i+1]})
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
	given, err := entries(n)
	if err != nil {
		return err
	}
	names := ""
	for _, p := range all {
		names += " " + p.name
	}
	if len(given) != len(all) {
		return yamlfile.Refuse(n, "it has %d parameters; give%s", len(given), names)
	}
	for _, g := range given {
		i := slices.IndexFunc(all, func(p parameter) bool { return p.name == g.key.Value })
		if i < 0 {
			return yamlfile.Refuse(g.key, "there is no such parameter; give%s", names)
		}
		if *all[i].into, err = all[i].unit.value(g.value); err != nil {
			return err
		}
		if *all[i].into == 0 {
			return yamlfile.Refuse(g.value, "it is 0; give a number above it")
		}
	}
	return nil
}
