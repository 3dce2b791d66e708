// Package label says of each flow of a crowd whose it is and what it is for: ground truth for those who look at
// packets. It reads a diary, and holds captured packets against it.
package label

import (
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
)

// Label is that of one flow.
type Label struct {
	Round int    `json:"round"`
	Mode  string `json:"mode"`
	diary.Flow
	// Ended is when the crowd closed the flow; zero if it was killed before.
	Ended time.Time `json:"ended,omitzero"`
	// Outcome is that of the step that opened the flow; "" if it did not end.
	Outcome string `json:"outcome,omitempty"`
	// CommunityID is the flow's in Zeek, Suricata and others.
	CommunityID string `json:"communityId"`
}

// Of reads the labels of a diary's file, in the order in which the flows were opened: those of a mode, or a round's
// number, or of all.
func Of(file, mode string, number int) (all []Label, err error) {
	found := false
	var now round
	for l, err := range diary.Read(file) {
		switch {
		case err != nil:
			return nil, err
		case l.Round != nil:
			all = append(all, now.ended()...)
			now = round{Round: *l.Round, chosen: l.Round.Is(mode, number), at: map[int64]int{}, outcomes: map[diary.Where]string{}}
			found = found || now.chosen
		case now.chosen:
			now.add(l)
		}
	}
	if !found {
		return nil, heddle.Errorf(heddle.BadArgument, "read diary", file, "it has no such round", "give another --mode or --round, or none")
	}
	return append(all, now.ended()...), nil
}

// round is a round whose lines are being read.
type round struct {
	diary.Round
	chosen   bool
	labels   []Label
	at       map[int64]int // labels, by the number of the flow
	outcomes map[diary.Where]string
}

func (r *round) add(l diary.Line) {
	switch {
	case l.Flow != nil:
		r.at[l.Flow.ID] = len(r.labels)
		r.labels = append(r.labels, Label{Round: r.Number, Mode: r.Mode, Flow: *l.Flow, CommunityID: communityID(*l.Flow)})
	case l.End != nil:
		if i, is := r.at[l.End.Flow]; is {
			r.labels[i].Ended = l.End.At
		}
	case l.Step != nil:
		r.outcomes[l.Step.Where] = l.Step.Outcome
	}
}

// ended returns the labels of the round, whose steps have all been read.
func (r round) ended() []Label {
	for i := range r.labels {
		r.labels[i].Outcome = r.outcomes[r.labels[i].Where]
	}
	return r.labels
}
