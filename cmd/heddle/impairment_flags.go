package main

import (
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle/impair"
)

// share is a flag's share of frames: 5% or 0.05.
type share struct{ *float64 }

func (s share) Type() string { return "share" }

func (s share) String() string {
	if s.float64 == nil {
		return "0%"
	}
	return impair.FormatShare(*s.float64)
}

func (s share) Set(text string) (err error) {
	*s.float64, err = impair.ParseShare(text)
	return err
}

// impairmentFlags are those that say what happens to frames.
func impairmentFlags(fl *pflag.FlagSet, i *impair.Impairment) {
	fl.Var(share{&i.Loss}, "loss", "`share` of frames that are lost")
	fl.Var(share{&i.Duplicate}, "duplicate", "`share` of frames that come twice")
	fl.Var(share{&i.Reorder}, "reorder", "`share` of frames that come "+impair.ReorderDelay.String()+" later")
	fl.Var(share{&i.Corrupt}, "corrupt", "`share` of frames with a bit flipped")
	fl.DurationVar(&i.Delay, "delay", 0, "delay of every frame")
	fl.DurationVar(&i.Jitter, "jitter", 0, "how much the delay varies, up and down")
}

// rateFlag is a flag's rate of a link.
type rateFlag struct{ *impair.Rate }

func (r rateFlag) Type() string { return "rate" }

func (r rateFlag) String() string {
	if r.Rate == nil || *r.Rate == 0 {
		return ""
	}
	return r.Rate.String()
}

func (r rateFlag) Set(text string) (err error) {
	*r.Rate, err = impair.ParseRate(text)
	return err
}
