package events

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// SinceAll has a watcher begin with the oldest event that the log has.
const SinceAll = "all"

// cursor is a watcher's position before it reads the event of that number: the ID of the
// agent's run and the number, as in "5f0c1d2e3a4b5c6d-17".
func (l *Log) cursor(number uint64) string {
	return l.runID + "-" + strconv.FormatUint(number, 10)
}

// firstForLocked is the number of the first event to read. since is a cursor, a duration before
// now, SinceAll or "0", or "" for new events only.
func (l *Log) firstForLocked(since string) (uint64, error) {
	switch since {
	case "":
		return l.next, nil
	case SinceAll, "0":
		return l.first, nil
	}
	if ago, err := time.ParseDuration(since); err == nil && ago >= 0 {
		return l.firstSinceLocked(time.Now().Add(-ago)), nil
	}
	life, text, found := strings.Cut(since, "-")
	number, err := strconv.ParseUint(text, 10, 64)
	switch {
	case !found || err != nil || len(life) != runIDDigits || strings.Trim(life, "0123456789abcdef") != "":
		return 0, heddle.Errorf(heddle.BadArgument, "read cursor", fmt.Sprintf("%q", heddle.Clip(since)),
			"it is no cursor", "give the cursor of an event, a duration such as 10m, or all")
	case life != l.runID:
		return 0, eventsLost(since, "the cursor is from before the agent's last start")
	case number > l.next:
		return 0, eventsLost(since, "there was no such event")
	case number < l.first:
		return 0, eventsLost(since, "later events are not kept any more")
	}
	return number, nil
}

// firstSinceLocked is the number of the first event since a time.
func (l *Log) firstSinceLocked(t time.Time) uint64 {
	number := l.next
	for number > l.first && !l.atLocked(number-1).Time.Before(t) {
		number--
	}
	return number
}

// eventsLost is the error of a watcher that has missed events.
func eventsLost(cursor, why string) error {
	return heddle.Errorf(heddle.EventsLost, "watch events since", heddle.Clip(cursor), why,
		"watch from now on, and list networks, endpoints and peers again")
}
