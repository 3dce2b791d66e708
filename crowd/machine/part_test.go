package machine

import (
	"strings"
	"testing"
	"time"
)

// TestParts: each user is of one part, and parts have as many as they say.
func TestParts(t *testing.T) {
	for of := 2; of <= 5; of++ {
		for users := range 23 {
			all := 0
			for number := 1; number <= of; number++ {
				p, has := Part{number, of}, 0
				for user := 1; user <= users; user++ {
					if p.Has(user) {
						has++
					}
					if p.Has(user) != (p.Home(user) == number) {
						t.Errorf("user %d is at home in part %d of %d", user, p.Home(user), of)
					}
				}
				if has != p.Count(users) {
					t.Errorf("part %s of %d users has %d, and says %d", p, users, has, p.Count(users))
				}
				all += has
			}
			if all != users {
				t.Errorf("%d parts have %d of %d users", of, all, users)
			}
		}
	}
	if (Part{}).Has(7) != true || (Part{}).Count(7) != 7 || (Part{2, 3}).Has(2) != true || (Part{2, 3}).Has(3) {
		t.Error("who is in which part is another matter")
	}
}

func TestParsePart(t *testing.T) {
	for text, want := range map[string]Part{"1/2": {1, 2}, "3/3": {3, 3}, "64/64": {64, 64}} {
		if got, err := ParsePart(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, why := range map[string]string{"": "is not a number", "2": "is not a number", "0/3": "is not a number", "-1/3": "is not a number", "1/0": "is not a number", "2/3 ": "is not a number",
		"01/3": "is not a number", "4/3": "there is no part 4 of 3", "1/1": "in 2 to 64 parts, and not in 1", "1/65": "and not in 65", "1/99999": "is not a number"} {
		if got, err := ParsePart(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestConflict: a part finds out that the network is another crowd's, and why.
func TestConflict(t *testing.T) {
	begin := time.Date(2026, 11, 30, 20, 0, 0, 0, time.FixedZone("", 3600))
	m, p := Meeting{strings.Repeat("ab", 32), begin}, Part{2, 3}
	other := Meeting{strings.Repeat("cd", 32), begin}
	later := Meeting{m.SHA256, begin.Add(time.Second)}
	for name, want := range map[string]string{
		m.Name(Part{1, 3}):       "",
		m.Name(Part{2, 3}):       "part 2/3 of that crowd",
		m.Name(Part{1, 4}):       "a crowd in 4 parts",
		other.Name(Part{1, 3}):   "another plan",
		later.Name(Part{1, 3}):   "begins at another time, 20261130t190001z",
		"crowd-service-web":      "not in parts",
		"crowd-shared-web":       "",
		"crowd-part-":            "",
		"crowd-part-2-of":        "",
		"web":                    "",
		"x" + m.Name(Part{2, 3}): "",
	} {
		got := m.Conflict(p, name)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
	if name := m.Name(p); name != "crowd-part-2-of-3-20261130t190000z-abababababab" || len(name) > 63 {
		t.Error(name)
	}
	if !m.Same(Meeting{m.SHA256, begin.UTC()}) || m.Same(other) || m.Same(later) {
		t.Error("meetings are told apart otherwise")
	}
}
