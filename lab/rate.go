package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a rate in bits a second. Its text is a number and a unit, as tc(8)
// has them: 10gbit. 0 is not said; Unlimited is its own text.
type Rate uint64

// Unlimited is the rate of a wire as fast as the machine.
const Unlimited Rate = math.MaxUint64

const unlimited = "unlimited"

// units of rates; the longest names first.
var units = []struct {
	name string
	bits Rate
}{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// ParseRate reads a rate.
func ParseRate(s string) (Rate, error) {
	if s == unlimited {
		return Unlimited, nil
	}
	for _, u := range units {
		number, found := strings.CutSuffix(strings.ToLower(s), u.name)
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if bits := v * float64(u.bits); err == nil && v > 0 && bits <= 1e15 {
			return Rate(bits), nil
		}
		break
	}
	return 0, refuse("read rate", s, "it is not a number with a unit", "give a number and a unit: bit, kbit, mbit, gbit or tbit, such as 10gbit; or "+unlimited)
}

func (r Rate) String() string {
	if r == Unlimited {
		return unlimited
	}
	for _, u := range units {
		if r >= u.bits && r%u.bits == 0 {
			return fmt.Sprint(uint64(r/u.bits), u.name)
		}
	}
	return ""
}

// MarshalText writes the rate as String does.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r = 0
	if len(b) > 0 {
		*r, err = ParseRate(string(b))
	}
	return err
}

// bits is the number for the kernel: 0 is unlimited.
func (r Rate) bits() uint64 {
	if r == Unlimited {
		return 0
	}
	return uint64(r)
}
