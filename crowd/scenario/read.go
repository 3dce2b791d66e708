package scenario

import (
	"embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// builtIn has the behaviours that every scenario may name, one a file, the services that they go to, and the
// examples.
//
//go:embed behaviours/*.yaml cache.yaml services.yaml scenarios/*.yaml
var builtIn embed.FS

// Read reads the scenario of a file, and checks it.
func Read(file string) (Scenario, error) {
	text, err := readFile(file)
	if err != nil {
		return Scenario{}, heddle.Wrap(heddle.BadArgument, "read scenario", file, err,
			"name a readable file; 'heddle crowd example small' prints one")
	}
	s, err := Parse(text)
	if err != nil {
		return s, heddle.Wrap(heddle.BadArgument, "read scenario", file, err,
			"correct the file; docs/guides/crowd.md has all keys")
	}
	return s, nil
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(text) > MaxFile {
		err = fmt.Errorf("it is larger than %d bytes", MaxFile)
	}
	return text, err
}

// Parse reads a scenario, and adds what is built in: the services, and the behaviours that its personas and
// events name and that it does not have itself.
func Parse(text []byte) (Scenario, error) {
	s := Scenario{Clock: Clock{Start: notGiven, Day: Day{Compress: 1}}}
	if err := yamlfile.Decode(text, &s); err != nil {
		return s, err
	}
	if err := s.complete(); err != nil {
		return s, err
	}
	if p := s.check(); p != nil {
		return s, fmt.Errorf("%s: %s", yamlfile.Where(text, p.keys...), p.why)
	}
	s.Text = text
	return s, nil
}

// complete adds what is built in.
func (s *Scenario) complete() error {
	services := map[string]Service{}
	if err := decodeBuiltIn("services.yaml", &services); err != nil {
		return err
	}
	for name, own := range s.Services {
		services[name] = own.over(services[name])
	}
	s.Services = services
	behaviours := maps.Clone(s.Behaviours)
	if behaviours == nil {
		behaviours = map[string]Behaviour{}
	}
	for _, name := range s.Done() {
		if own, has := behaviours[name]; has && !own.onlyCache() || !slices.Contains(BuiltInBehaviours(), name) {
			continue
		}
		var b Behaviour
		if err := decodeBuiltIn(path.Join("behaviours", name+".yaml"), &b); err != nil {
			return err
		}
		b.BuiltIn, b.Cache = true, behaviours[name].Cache
		behaviours[name] = b
	}
	var usual Cache
	if err := decodeBuiltIn("cache.yaml", &usual); err != nil {
		return err
	}
	for name, b := range behaviours {
		if b.Cache != nil {
			whole := b.Cache.over(usual)
			b.Cache = &whole
			behaviours[name] = b
		}
	}
	s.Behaviours = behaviours
	return nil
}

// onlyCache reports whether a behaviour says of its cache alone, and is else one that is built in.
func (b Behaviour) onlyCache() bool {
	return b.Cache != nil && b.Start == "" && b.States == nil && b.Script == "" && b.Actions == nil && b.Steps == 0 && !b.Patience.Given()
}

func decodeBuiltIn(file string, into any) error {
	text, err := builtIn.ReadFile(file)
	if err == nil {
		err = yamlfile.Decode(text, into)
	}
	if err != nil {
		return fmt.Errorf("heddle's own %s: %w", file, err)
	}
	return nil
}

// BuiltInBehaviours lists the behaviours that every scenario may name.
func BuiltInBehaviours() []string { return names("behaviours") }

// BehaviourText returns the YAML of a behaviour that is built in, or nothing.
func BehaviourText(behaviour string) []byte {
	text, _ := builtIn.ReadFile(path.Join("behaviours", behaviour+".yaml"))
	return text
}

// Examples lists the scenarios that are built in.
func Examples() []string { return names("scenarios") }

// names lists the files of a folder, without their ending.
func names(folder string) (all []string) {
	files, _ := builtIn.ReadDir(folder) // embedded: it is there
	for _, f := range files {
		all = append(all, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return all
}

// Example returns the text of a scenario that is built in.
func Example(name string) ([]byte, error) {
	if !slices.Contains(Examples(), name) {
		return nil, heddle.Errorf(heddle.BadArgument, "find example", fmt.Sprintf("%q", heddle.Clip(name)),
			"there is no such scenario", "choose from "+heddle.List(Examples()))
	}
	return builtIn.ReadFile(path.Join("scenarios", name+".yaml"))
}

// Summary is the first line of an example: what it is about.
func Summary(text []byte) string {
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "# ")
}
