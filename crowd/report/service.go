package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
)

// Service is what answered for a service.
type Service struct {
	// By is a program, of that version; "" is what is built in.
	By      string `json:"by,omitempty"`
	Version string `json:"version,omitempty"`
	// TLS secured its connections.
	TLS bool `json:"tls,omitempty"`
	// HTTP is 2 or 3 if people spoke HTTP/2 or HTTP/3 with it.
	HTTP int `json:"http,omitempty"`
}

// String is the service in words.
func (s Service) String() string {
	if s.By == "" {
		return "built in"
	}
	words := s.By
	if s.Version != "" {
		words += " " + s.Version
	}
	if s.TLS {
		words += ", TLS"
	}
	if s.HTTP != 0 {
		words += fmt.Sprintf(", HTTP/%d", s.HTTP)
	}
	return words
}

// ServiceLines says what answered for the services, a line for all that had the same.
func (r Report) ServiceLines() (all []string) {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Services)) {
		by := r.Services[name].String()
		names[by] = append(names[by], name)
	}
	for _, by := range slices.Sorted(maps.Keys(names)) {
		all = append(all, heddle.List(names[by])+": "+by)
	}
	return all
}

// EndedLines says which programs ended while the crowd played, a line each.
func (r Report) EndedLines() (all []string) {
	for _, one := range r.Rounds {
		for _, service := range slices.Sorted(maps.Keys(one.Ended)) {
			all = append(all, fmt.Sprintf("%s, round %d, mode %s: %s", service, one.Number, one.Mode, one.Ended[service]))
		}
	}
	return all
}

// otherUsers says whether the users of two runs were something else, or on more or fewer hosts.
func otherUsers(a, b Report) []string {
	if a.UserWords() == b.UserWords() {
		return nil
	}
	return []string{fmt.Sprintf("users: %s, then %s", a.UserWords(), b.UserWords())}
}

// UserWords says what users were, and on how many hosts or machines, if these were several.
func (r Report) UserWords() string {
	words := "namespaces"
	if r.As != "" {
		words = "containers of " + r.As
	}
	if r.Hosts > 1 {
		words += fmt.Sprintf(" on %d hosts", r.Hosts)
	}
	if p := r.Part; p != nil {
		words += fmt.Sprintf(" on %d machines", p.Of)
		switch {
		case r.Merged == nil:
			words += ", of part " + p.String() + " alone"
		case len(r.Merged) < p.Of:
			words += fmt.Sprintf(", of %d parts alone", len(r.Merged))
		}
	}
	return words
}

// otherServices says in what the services of two runs differ. Reports of versions that knew no programs have none.
func otherServices(a, b Report) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(both(a.Services, b.Services))) {
		if x, y := a.Services[name], b.Services[name]; x != y {
			all = append(all, fmt.Sprintf("service %s: %s, then %s", name, x, y))
		}
	}
	return all
}
