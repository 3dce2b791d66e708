package policy

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// maxFile bounds the size of a file in bytes.
const maxFile = 1 << 20

// File is a file of policies.
type File struct {
	Policies []Policy `yaml:"policies"`
}

// Read reads a file of policies, and checks them. Its error is of code heddle.BadPolicy, and names line and key.
func Read(from io.Reader, name string) ([]Policy, error) {
	refuse := func(why, remedy string) error {
		return heddle.Errorf(heddle.BadPolicy, "read policies", name, why, remedy)
	}
	text, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, heddle.Wrap(heddle.BadPolicy, "read policies", name, err, "name a readable file")
	}
	if len(text) > maxFile {
		return nil, refuse(fmt.Sprintf("it is larger than %d bytes", maxFile), "split it")
	}
	var f File
	if err := yamlfile.Decode(text, &f); err != nil {
		return nil, refuse(err.Error(), "see docs/guides/policies.md for what a policy has")
	}
	if len(f.Policies) == 0 {
		return nil, refuse("it has no policies", "give a list under the key policies")
	}
	if len(f.Policies) > MaxPolicies {
		return nil, refuse(fmt.Sprintf("it has %d policies", len(f.Policies)), fmt.Sprintf("give at most %d", MaxPolicies))
	}
	for i, p := range f.Policies {
		w := p.wrong()
		if w == nil && slices.ContainsFunc(f.Policies[:i], func(o Policy) bool { return o.Name == p.Name }) {
			w = &wrong{[]string{"name"}, fmt.Sprintf("%q is the name of another policy of the file", p.Name), "give each policy a name of its own"}
		}
		if w != nil {
			keys := append([]string{"policies", strconv.Itoa(i + 1)}, w.keys...)
			return nil, refuse(yamlfile.Where(text, keys...)+": "+w.why, w.remedy)
		}
	}
	return f.Policies, nil
}
