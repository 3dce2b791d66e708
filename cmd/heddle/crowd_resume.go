package main

import (
	"errors"
	"os"
	"slices"

	"github.com/heddle-network/heddle/crowd/report"
)

// goOn takes the valid rounds of an earlier report, with --resume, if there is one.
func (f runFlags) goOn(out *report.Report) error {
	if !f.resume {
		return nil
	}
	if _, err := os.Stat(f.out); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	earlier, err := report.Read(f.out)
	if err == nil {
		err = report.Resumable(earlier, *out)
	}
	if err != nil {
		return err
	}
	for _, r := range earlier.Rounds {
		if r.Invalid != "" {
			continue
		}
		out.Rounds = append(out.Rounds, r)
		if !slices.Contains(out.Modes, r.Mode) {
			out.Modes = append(out.Modes, r.Mode)
		}
	}
	out.Diary = out.Diary || earlier.Diary
	return nil
}
