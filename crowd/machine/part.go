// Package machine has several machines play one crowd: each plays a part of it, and asks the others for what it does not know. They
// are the users of other parts, when a call is to one of them, and what the other machine's clock says.
package machine

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// MaxParts is in how many parts a crowd may be. No source: a guess.
const MaxParts = 64

// Part is one of several parts of a crowd. Its zero value is all of a crowd.
type Part struct {
	Number int `json:"number"` // from 1
	Of     int `json:"of"`
}

var partForm = regexp.MustCompile(`^([1-9][0-9]{0,3})/([1-9][0-9]{0,3})$`)

// ParsePart reads a part, such as 2/3.
func ParsePart(text string) (Part, error) {
	refuse := func(why string) (Part, error) {
		return Part{}, heddle.Errorf(heddle.BadArgument, "read flag", "--part", why, "write which one it is, and of how many: 1/3, 2/3 and 3/3")
	}
	found := partForm.FindStringSubmatch(text)
	if found == nil {
		return refuse(fmt.Sprintf("%q is not a number and how many there are", heddle.Clip(text)))
	}
	p := Part{}
	p.Number, _ = strconv.Atoi(found[1]) // they are numbers
	p.Of, _ = strconv.Atoi(found[2])
	switch {
	case p.Of < 2 || p.Of > MaxParts:
		return refuse(fmt.Sprintf("a crowd is in 2 to %d parts, and not in %d", MaxParts, p.Of))
	case p.Number > p.Of:
		return refuse(fmt.Sprintf("there is no part %d of %d", p.Number, p.Of))
	}
	return p, nil
}

func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Number, p.Of) }

// IsAll reports whether it is all of a crowd.
func (p Part) IsAll() bool { return p.Of == 0 }

// Has reports whether a user is of the part, or a service in the order of their names. Both are counted from 1.
func (p Part) Has(number int) bool { return p.IsAll() || (number-1)%p.Of == p.Number-1 }

// Home is the number of the part that has a user, or a service.
func (p Part) Home(number int) int { return (number-1)%max(1, p.Of) + 1 }

// Count is how many of so many users, or services, are of the part.
func (p Part) Count(all int) int {
	if p.IsAll() {
		return all
	}
	return (all + p.Of - p.Number) / p.Of
}

// Meeting is what all parts of a crowd have in common.
type Meeting struct {
	// SHA256 is the plan's.
	SHA256 string `json:"sha256"`
	// Begin is when the crowd begins to play, to a second, by each machine's own clock.
	Begin time.Time `json:"begin"`
}

// Same reports whether two are one.
func (m Meeting) Same(o Meeting) bool { return m.SHA256 == o.SHA256 && m.Begin.Equal(o.Begin) }

// prefix begins the names of parts.
const prefix = "crowd-part-"

// beginForm is a begin in the name of a part.
const beginForm = "20060102t150405z"

// Name is the name by which others find a part of a crowd on the network. It says what the parts must have in common.
func (m Meeting) Name(p Part) string {
	return fmt.Sprintf("%s%d-of-%d-%s-%s", prefix, p.Number, p.Of, m.Begin.UTC().Format(beginForm), m.digest())
}

// digest is the beginning of the plan's SHA-256.
func (m Meeting) digest() string { return m.SHA256[:min(12, len(m.SHA256))] }

// Conflict says why the container of an endpoint is one that keeps this part from the network: another crowd's, or this part; "" if it is not.
func (m Meeting) Conflict(p Part, name string) string {
	rest, is := strings.CutPrefix(name, prefix)
	fields := strings.Split(rest, "-")
	switch {
	case strings.HasPrefix(name, "crowd-service-"):
		return "a crowd that is not in parts is on it"
	case !is || len(fields) != 5:
		return ""
	case fields[4] != m.digest():
		return "a part of a crowd with another plan is on it"
	case fields[2] != strconv.Itoa(p.Of):
		return fmt.Sprintf("a crowd in %s parts is on it", heddle.Clip(fields[2]))
	case fields[3] != m.Begin.UTC().Format(beginForm):
		return "the part that is on it begins at another time, " + heddle.Clip(fields[3])
	case fields[0] == strconv.Itoa(p.Number):
		return "part " + p.String() + " of that crowd is on it"
	}
	return ""
}
