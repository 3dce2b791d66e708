package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
)

// openCapture makes the capture's file. A capture does not go on: its last block may be there in part.
func (f runFlags) openCapture() (*os.File, error) {
	if f.capture == "" {
		return nil, nil
	}
	file, err := os.OpenFile(f.capture, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "make capture", f.capture, err, "name a file that is not there, in a folder that is")
	}
	return file, nil
}

// minSnap has room for the headers of a packet of TCP over IPv6, with a tag and options.
const minSnap = 96

// captured is how many of so many users have their packets captured.
func (f runFlags) captured(users int) int {
	if f.capture == "" {
		return 0
	}
	return users
}

// dropCapture removes a capture that has no packet: no round was played.
func (f runFlags) dropCapture(file *os.File, r report.Report) {
	if slices.ContainsFunc(r.Rounds, func(one report.Round) bool { return one.Captured != nil && one.Captured.Packets > 0 }) {
		return
	}
	removeOwn(f.capture, file)
}

// noteCapture says where the capture is, and what it has of all rounds.
func (f runFlags) noteCapture(s *session, r report.Report) {
	if f.capture == "" {
		return
	}
	var packets, bytes, dropped, unwritten uint64
	for _, one := range r.Rounds {
		if c := one.Captured; c != nil {
			packets, bytes, dropped, unwritten = packets+c.Packets, bytes+c.Bytes, dropped+c.Dropped, unwritten+c.Unwritten
		}
	}
	lost := "the kernel dropped none"
	if dropped > 0 {
		lost = fmt.Sprintf("the kernel dropped %d more, as they were not read in time", dropped)
	}
	if unwritten > 0 {
		lost += fmt.Sprintf("; %d more could not be written", unwritten)
	}
	s.note("the capture is in %s: %d packets of %s; %s", f.capture, packets, plan.FormatBytes(int64(bytes)), lost)
}
