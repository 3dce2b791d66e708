package main

import (
	"os"
	"strconv"
	"time"

	"github.com/heddle-network/heddle"
)

// clock is the time as this agent sees it. HEDDLE_CLOCK shifts it by a duration, such as
// -1h; tests use this for hosts whose clocks differ.
func clock() (func() time.Time, error) {
	text := os.Getenv("HEDDLE_CLOCK")
	if text == "" {
		return time.Now, nil
	}
	shift, err := time.ParseDuration(text)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "read variable HEDDLE_CLOCK", strconv.Quote(text), err,
			"give a duration, such as -1h")
	}
	return func() time.Time { return time.Now().Add(shift) }, nil
}
