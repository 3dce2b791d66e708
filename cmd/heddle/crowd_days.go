package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// daysText writes days such as mon-fri, or sat,sun.
func daysText(days scenario.Days) string {
	name := func(day int) string {
		text, _, _ := strings.Cut(scenario.Moment(time.Duration(day)*24*time.Hour).String(), " ")
		return strings.ToLower(text)
	}
	if days == (scenario.Days{true, true, true, true, true, true, true}) {
		return name(0) + "-" + name(6)
	}
	var all []string
	for first := range days {
		if !days[first] || days[(first+6)%7] {
			continue // not the first of days that follow each other
		}
		length := 1
		for days[(first+length)%7] {
			length++
		}
		last := (first + length - 1) % 7
		switch length {
		case 1:
			all = append(all, name(first))
		case 2:
			all = append(all, name(first), name(last))
		default:
			all = append(all, name(first)+"-"+name(last))
		}
	}
	return strings.Join(all, ",")
}

func scheduleOf(s scenario.Schedule) *crowdSchedule {
	hours := func(h *scenario.Hours) string {
		if h == nil {
			return ""
		}
		return h.String()
	}
	var curve []string
	for _, point := range s.Curve {
		curve = append(curve, fmt.Sprintf("%02d:%02d %s%%", point.At/time.Hour, point.At/time.Minute%60,
			shortNumber(point.Weight*100)))
	}
	return &crowdSchedule{Days: daysText(s.Days), Hours: hours(s.Hours), Lunch: hours(s.Lunch),
		Curve: strings.Join(curve, ", ")}
}
