package main

import (
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
)

// noRate is the word that takes a limit off.
const noRate = "none"

// limitFlags are the flags about an endpoint's limits, before they are parsed.
type limitFlags struct{ rate, in, out, burst string }

func (x *limitFlags) define(f *pflag.FlagSet) {
	f.StringVar(&x.rate, "rate", "", "limit what the container receives, and what it sends, to a `rate` such as 100Mbit; none is no limit")
	f.StringVar(&x.in, "rate-in", "", "limit what the container receives to a `rate`, or to none")
	f.StringVar(&x.out, "rate-out", "", "limit what the container sends to a `rate`, or to none")
	f.StringVar(&x.burst, "burst", "", "how many `bytes` may pass at once after a pause, such as 256kB; by default as many as suit the rate")
}

// change parses the flags. Without a burst, one that suits each new rate will be chosen.
func (x *limitFlags) change() (c heddle.RateLimitChange, err error) {
	var burst uint64
	if x.burst != "" {
		if burst, err = heddle.ParseSize(x.burst); err != nil {
			return c, err
		}
	}
	limited := false
	read := func(text string, to **heddle.RateLimit) {
		if text == "" || err != nil {
			return
		}
		l := heddle.RateLimit{}
		if text != noRate {
			l.Burst, limited = burst, true
			l.Rate, err = heddle.ParseRate(text)
		}
		*to = &l
	}
	read(x.rate, &c.In)
	read(x.rate, &c.Out)
	read(x.in, &c.In)
	read(x.out, &c.Out)
	if err == nil && burst != 0 && !limited {
		err = heddle.Errorf(heddle.BadArgument, "read limits", "--burst "+heddle.Clip(x.burst), "it belongs to a rate, and none is given", "give --rate, --rate-in or --rate-out, too")
	}
	return c, err
}
