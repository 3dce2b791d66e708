package main

import (
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// openDiary makes the diary's file, with the run in its first line.
func (f runFlags) openDiary(read scenario.Scenario, sha256 string) (*os.File, error) {
	if f.diary == "" {
		return nil, nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND
	goesOn := f.resume && diaryOf(f.diary, sha256)
	if goesOn {
		flags = os.O_WRONLY | os.O_APPEND
	}
	file, err := os.OpenFile(f.diary, flags, 0o600)
	if err == nil && goesOn {
		return file, nil
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.BadArgument, "make diary", f.diary, err, "name a file that is not there, in a folder that is")
	}
	d := &diary.Recorder{To: file}
	d.Write(diary.Line{Run: &diary.Run{Crowd: read.Name, Seed: read.Seed, Users: read.Users, SHA256: sha256, Scenario: string(read.Text), Part: f.part}})
	if err := d.Err(); err != nil {
		file.Close()
		return nil, heddle.Wrap(heddle.BadArgument, "write diary", f.diary, err, "make room there")
	}
	return file, nil
}

// diaryOf reports whether a file is the diary of a run of that plan.
func diaryOf(file, sha256 string) bool {
	for l, err := range diary.Read(file) {
		return err == nil && l.Run != nil && l.Run.SHA256 == sha256
	}
	return false
}

// dropEmpty removes a diary in which nothing has happened.
func (f runFlags) dropEmpty(file *os.File) {
	lines := 0
	for range diary.Read(f.diary) {
		if lines++; lines > 1 {
			return
		}
	}
	removeOwn(f.diary, file)
}

// removeOwn removes a file that is still the one that was opened.
func removeOwn(name string, file *os.File) {
	if opened, err := file.Stat(); err == nil {
		if there, err := os.Stat(name); err == nil && os.SameFile(opened, there) {
			os.Remove(name)
		}
	}
}
