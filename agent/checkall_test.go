package agent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// What differs is told of each that wants it, and of nobody else.
func TestAmong(t *testing.T) {
	one, two, three := heddle.Link{Name: "one"}, heddle.Link{Name: "two"}, heddle.Link{Name: "three"}
	differs := byKey([]kernel.Difference{{Key: three.Key(), Kind: "missing"}, {Key: one.Key(), Kind: "differs", Detail: "a"}, {Key: one.Key(), Kind: "differs", Detail: "b"}})
	got := differs.among(heddle.State{Links: []heddle.Link{one, two}})
	want := []kernel.Difference{{Key: one.Key(), Kind: "differs", Detail: "a"}, {Key: one.Key(), Kind: "differs", Detail: "b"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := byKey(nil).among(heddle.State{Links: []heddle.Link{one}}); len(got) > 0 {
		t.Errorf("nothing differs, and %v do", got)
	}
}

func TestCheckEach(t *testing.T) {
	var records []record
	for _, name := range []string{"a", "b", "c", "d"} {
		records = append(records, record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: name}}})
	}
	found, err := checkEach(records, func(r record) ([]heddle.Finding, error) {
		if r.Endpoint.ID.Container == "c" {
			return nil, nil
		}
		return []heddle.Finding{{Owner: r.Endpoint.ID.Container}}, nil
	})
	if d := cmp.Diff([]heddle.Finding{{Owner: "a"}, {Owner: "b"}, {Owner: "d"}}, found); d != "" || err != nil {
		t.Error(d, err)
	}
	refused := errors.New("refused")
	if found, err := checkEach(records, func(record) ([]heddle.Finding, error) { return nil, refused }); err != refused || len(found) > 0 {
		t.Errorf("%v, %v; want %v", found, err, refused)
	}
}
