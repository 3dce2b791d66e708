package impair

import (
	"fmt"
	"math"
	"strconv"

	"github.com/heddle-network/heddle"
)

// Rate is in bits a second. Its text is a number and a unit of tc(8), such as 10gbit.
// The text of 0, which means the default, is empty; Unlimited has a text of its own.
type Rate uint64

// Unlimited is the rate of a wire without a limit.
const Unlimited Rate = math.MaxUint64

const unlimited = "unlimited"

// ParseRate reads a rate.
func ParseRate(s string) (Rate, error) {
	if s == unlimited {
		return Unlimited, nil
	}
	if r, err := heddle.ParseRate(s); err == nil && r <= 1e15 {
		return Rate(r), nil
	}
	return 0, refuse("read rate", strconv.Quote(s), "it is not a number with a unit",
		"give a number and a unit: bit, kbit, mbit, gbit or tbit, such as 10gbit; or "+unlimited)
}

func (r Rate) String() string {
	if r == Unlimited {
		return unlimited
	}
	return heddle.Rate(r).String()
}

// minRate is a thousand bytes a second.
const minRate = 8000

// Check refuses a rate at which a frame would take more than seconds. 0 is the default, which is sound.
func (r Rate) Check() error {
	if r != 0 && r < minRate {
		return refuse("check rate", r.String(), fmt.Sprintf("a wire carries at least %d bit/s", minRate),
			"choose a higher rate, or "+unlimited)
	}
	return nil
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

// Bits returns the number for the kernel, where 0 is unlimited.
func (r Rate) Bits() uint64 {
	if r == Unlimited {
		return 0
	}
	return uint64(r)
}
