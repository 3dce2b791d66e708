// Package ghosts reads timelines of GHOSTS (cmu-sei/GHOSTS), which say what a simulated person does at a computer, and makes
// scenarios of them.
package ghosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// timeline is what one client does (Ghosts.Domain, Messages/Timeline.cs).
type timeline struct {
	Handlers []handler `json:"TimeLineHandlers"`
}

// handler is one application, and what is done with it.
type handler struct {
	Type       string         `json:"HandlerType"`
	On         timeOfDay      `json:"UtcTimeOn"`
	Off        timeOfDay      `json:"UtcTimeOff"`
	TimeBlocks []any          `json:"UtcTimeBlocks"`
	Args       map[string]any `json:"HandlerArgs"`
	Loop       boolean        `json:"Loop"`
	Events     []event        `json:"TimeLineEvents"`
	Schedule   string         `json:"Schedule"` // cron, "" is none
}

// event is one thing that is done.
type event struct {
	Command string
	Args    []any `json:"CommandArgs"`
	After   delay `json:"DelayAfter"`
	Before  delay `json:"DelayBefore"`
}

// parse reads a timeline. GHOSTS takes comments, and editors on Windows begin files with a byte order mark.
func parse(text []byte) (t timeline, err error) {
	plain, err := hujson.Standardize(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err == nil {
		err = json.Unmarshal(plain, &t)
	}
	if err == nil && len(t.Handlers) == 0 {
		err = errors.New("it has no TimeLineHandlers")
	}
	events := 0
	for _, h := range t.Handlers {
		events += len(h.Events)
	}
	if err == nil && events > scenario.MaxSteps {
		err = fmt.Errorf("it has %d events, and %d are the most", events, scenario.MaxSteps)
	}
	return t, err
}

// number is an argument that is a number, also one in quotes; 0 if there is none.
func (h handler) number(name string) float64 {
	v, err := strconv.ParseFloat(fmt.Sprint(h.Args[name]), 64)
	if err != nil || !(v >= 0 && v <= 1e9) { // NaN is neither
		return 0
	}
	return v
}

// delay is how long somebody waits: any time from min to max, all equally likely.
type delay struct{ min, max time.Duration }

// longestDelay is longer than any that has a use here, in milliseconds.
const longestDelay = 30 * 24 * 3600 * 1000

// UnmarshalJSON reads milliseconds, or {"random": true, "min": …, "max": …} (Ghosts.Domain, Code/DelayExtensions.cs). As in GHOSTS,
// an object that is not random is no delay.
func (d *delay) UnmarshalJSON(text []byte) error {
	var random struct {
		Random   boolean
		Min, Max float64
	}
	err := json.Unmarshal(text, &random.Min)
	if err == nil {
		random.Max, random.Random = random.Min, true
	} else if err = json.Unmarshal(text, &random); err != nil {
		return fmt.Errorf("%s is no delay", text)
	}
	if random.Min < 0 || random.Max < random.Min || random.Max > longestDelay {
		return fmt.Errorf("%s is no delay of 0 to %d ms", text, longestDelay)
	}
	if random.Random {
		d.min, d.max = time.Duration(random.Min)*time.Millisecond, time.Duration(random.Max)*time.Millisecond
	}
	return nil
}

// jittered is the delay, up to so many percent shorter or longer (delay-jitter).
func (d delay) jittered(percent float64) delay {
	by := min(percent, 100) / 100
	return delay{time.Duration(float64(d.min) * (1 - by)), time.Duration(float64(d.max) * (1 + by))}
}

func (d delay) mean() time.Duration { return (d.min + d.max) / 2 }

// boolean is true, false, or one of them as a text.
type boolean bool

// UnmarshalJSON reads it.
func (b *boolean) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseBool(strings.ToLower(strings.Trim(string(text), `"`)))
	if err != nil {
		return fmt.Errorf("%s is neither true nor false", text)
	}
	*b = boolean(v)
	return nil
}

// timeOfDay is a .NET TimeSpan: 09:30:00. 24:00:00 is midnight, and so are days, such as 24.00:00:00.
type timeOfDay struct{ hour, minute int }

// UnmarshalJSON reads it.
func (t *timeOfDay) UnmarshalJSON(text []byte) error {
	words := strings.Split(strings.Trim(string(text), `"`), ":")
	bad := fmt.Errorf("%s is no time such as 09:30:00", text)
	if len(words) < 2 || len(words) > 3 {
		return bad
	}
	if strings.Contains(words[0], ".") {
		return nil
	}
	hour, err1 := strconv.Atoi(words[0])
	minute, err2 := strconv.Atoi(words[1])
	if err1 != nil || err2 != nil || hour < 0 || hour > 24 || minute < 0 || minute > 59 {
		return bad
	}
	*t = timeOfDay{hour % 24, minute}
	return nil
}

func (t timeOfDay) String() string { return fmt.Sprintf("%02d:%02d", t.hour, t.minute) }
