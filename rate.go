package heddle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is in bits a second, of Ethernet frames without their checksums, as tc(8) counts them. Its text is a number and a unit of
// tc(8), such as 100mbit.
type Rate uint64

// unit is the name of a unit, and how many of the smallest it is.
type unit struct {
	name string
	size float64
}

// rateUnits and sizeUnits are read without regard to case; the longest names come first.
var (
	rateUnits = []unit{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}
	sizeUnits = []unit{{"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3}, {"b", 1}}
)

// ParseRate reads a rate, which is more than 0. Whether it can be kept, RateLimits.Fit says.
func ParseRate(s string) (Rate, error) {
	v, ok := measure(s, rateUnits)
	if !ok || v < 1 || v > 1e18 {
		return 0, Errorf(BadArgument, "read rate", Clip(strconv.Quote(s)), "it is not a number above 0 with a unit",
			"give a number and a unit: bit, kbit, mbit, gbit or tbit, such as 100mbit")
	}
	return Rate(v), nil
}

// ParseSize reads a number of bytes, such as 256kB or 256KiB. It is more than 0.
func ParseSize(s string) (uint64, error) {
	v, ok := measure(s, sizeUnits)
	if !ok || v < 1 || v > 1e18 {
		return 0, Errorf(BadArgument, "read size", Clip(strconv.Quote(s)), "it is not a number of bytes above 0 with a unit",
			"give a number and a unit: B, kB, MB and GB, or KiB, MiB and GiB, such as 256kB")
	}
	return uint64(v), nil
}

// measure reads a number with one of the units.
func measure(s string, units []unit) (float64, bool) {
	for _, u := range units {
		number, found := strings.CutSuffix(strings.ToLower(s), u.name)
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		v *= u.size
		return v, err == nil && !math.IsNaN(v) && !strings.ContainsAny(number, "xp_")
	}
	return 0, false
}

func (r Rate) String() string {
	for _, u := range rateUnits {
		if size := Rate(u.size); r >= size && r%size == 0 {
			return fmt.Sprint(uint64(r/size), u.name)
		}
	}
	return ""
}

// FormatSize writes a number of bytes so that ParseSize reads it.
func FormatSize(n uint64) string {
	for _, u := range []unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}} {
		if size := uint64(u.size); n >= size && n%size == 0 {
			return fmt.Sprint(n/size, u.name)
		}
	}
	return fmt.Sprint(n, "B")
}
