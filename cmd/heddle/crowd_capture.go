package main

import (
	"fmt"
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/rig"
)

// openCapture makes the capture's file. A rig's player is given the file. A capture does not go on: its last block may be there in
// part.
func (f runFlags) openCapture() (*os.File, error) {
	switch {
	case f.capture == "":
		return nil, nil
	case f.player > 0:
		return os.NewFile(rig.CaptureFD, f.capture), nil
	}
	file, err := os.OpenFile(f.capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "make capture", f.capture, err, "name a file that is not there, in a folder that is")
	}
	return file, nil
}

// noteCapture says where the capture is, and what it has of all rounds.
func (f runFlags) noteCapture(s *session, r report.Report) {
	var packets, bytes, dropped uint64
	for _, one := range r.Rounds {
		if c := one.Captured; c != nil {
			packets, bytes, dropped = packets+c.Packets, bytes+c.Bytes, dropped+c.Dropped
		}
	}
	if f.capture == "" {
		return
	}
	lost := "the kernel dropped none"
	if dropped > 0 {
		lost = fmt.Sprintf("the kernel dropped %d more, as they were not read in time", dropped)
	}
	s.note("the capture is in %s: %d packets of %s; %s", f.capture, packets, plan.FormatBytes(int64(bytes)), lost)
}
