package ports

import (
	"strconv"
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
