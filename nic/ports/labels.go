package ports

import (
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/service"
)

// The labels of the endpoints behind NICs: whose the NIC is, and its token; while it may move, the other machine, that machine's
// token, until when (Unix time in seconds), and how far the move is.
const (
	LabelMachine = "heddle.nic.machine"
	labelToken   = "heddle.nic.token"
	labelTo      = "heddle.nic.to"
	labelAs      = "heddle.nic.as"
	labelUntil   = "heddle.nic.until"
	labelTaken   = "heddle.nic.taken"
	labelLeft    = "heddle.nic.left"
)

// The labels of what the machine asked its NIC to be limited to, such as 10mbit, or 10mbit/64KiB with a burst.
const labelIn, labelOut = "heddle.nic.in", "heddle.nic.out"

// labelsOf is the change that records whose a port is.
func labelsOf(p service.Port) heddle.LabelChange {
	c := heddle.LabelChange{Set: map[string]string{LabelMachine: p.Machine, labelToken: p.Card.Token}}
	note := func(label, value string, is bool) {
		if is {
			c.Set[label] = value
			return
		}
		c.Remove = append(c.Remove, label)
	}
	m := p.Move
	note(labelTo, m.To, m.To != "")
	note(labelAs, m.As, m.As != "")
	note(labelUntil, strconv.FormatInt(m.Until.Unix(), 10), !m.Until.IsZero())
	note(labelTaken, "yes", m.Taken)
	note(labelLeft, "yes", m.Left)
	return c
}

// moveOf reads labels. A time that cannot be read is past.
func moveOf(labels map[string]string) service.Move {
	m := service.Move{To: labels[labelTo], As: labels[labelAs], Taken: labels[labelTaken] != "", Left: labels[labelLeft] != ""}
	if seconds, err := strconv.ParseInt(labels[labelUntil], 10, 64); err == nil {
		m.Until = time.Unix(seconds, 0)
	}
	return m
}

// askedLabels is the change that records what a NIC was asked to be limited to.
func askedLabels(asked heddle.RateLimits) (c heddle.LabelChange) {
	c.Set = map[string]string{}
	for label, l := range map[string]heddle.RateLimit{labelIn: asked.In, labelOut: asked.Out} {
		switch {
		case l.Rate == 0:
			c.Remove = append(c.Remove, label)
		case l.Burst == 0:
			c.Set[label] = l.Rate.String()
		default:
			c.Set[label] = l.Rate.String() + "/" + heddle.FormatSize(l.Burst)
		}
	}
	return c
}

// askedOf reads labels. A limit that cannot be read was not asked for.
func askedOf(labels map[string]string) (asked heddle.RateLimits) {
	for label, l := range map[string]*heddle.RateLimit{labelIn: &asked.In, labelOut: &asked.Out} {
		rate, burst, both := strings.Cut(labels[label], "/")
		var err error
		if l.Rate, err = heddle.ParseRate(rate); err == nil && both {
			l.Burst, err = heddle.ParseSize(burst)
		}
		if err != nil {
			*l = heddle.RateLimit{}
		}
	}
	return asked
}
