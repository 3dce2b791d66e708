package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/heddle-network/heddle"
)

// Sample is one raw reading.
type Sample struct {
	Cell
	// Round counts from 0. The rounds of the warm-up come first and are not counted. Round -1 found
	// the capacities.
	Round  int       `json:"round"`
	Warmup bool      `json:"warmup,omitempty"`
	Start  time.Time `json:"start"`
	// Seconds is the length of the measured window, to which the CPU time belongs.
	Seconds float64            `json:"seconds"`
	Figures map[string]float64 `json:"figures,omitempty"`
	CPU     CPU                `json:"cpu"`
	// Error says why there are no figures.
	Error string `json:"error,omitempty"`
}

// journal is OUT/samples.jsonl: a line that identifies the matrix, then a line for each sample,
// written as soon as it is taken. It is not synced: samples that a power cut loses are measured
// again.
type journal struct {
	file *os.File
	done map[runKey]bool
	old  []Sample
	// capacities are nil until they are known.
	capacities []Capacity
}

// journalCapacities is the line that ends the capacity round.
type journalCapacities struct {
	Kind       string     `json:"kind"`
	Capacities []Capacity `json:"capacities"`
}

const capacitiesKind = "BenchCapacities"

func (j *journal) writeCapacities(all []Capacity) error {
	return j.write(journalCapacities{capacitiesKind, all})
}

// runKey identifies one run: a cell in a round.
type runKey struct {
	cell  Cell
	round int
}

type journalHead struct {
	APIVersion  string `json:"apiVersion"`
	Kind        string `json:"kind"`
	Fingerprint string `json:"fingerprint"`
}

// openJournal starts a new file, or continues the old one. A file that is not continued is kept
// as samples.old.jsonl.
func openJournal(out string, m Matrix, resume bool) (*journal, error) {
	path := filepath.Join(out, "samples.jsonl")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fail("make folder", out, err)
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0:
		return newJournal(path, m)
	case err != nil:
		return nil, fail("read", path, err)
	case !resume:
		if err := os.Rename(path, filepath.Join(out, "samples.old.jsonl")); err != nil {
			return nil, fail("keep old", path, err)
		}
		return newJournal(path, m)
	}
	return resumeJournal(path, text, m)
}

func newJournal(path string, m Matrix) (*journal, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fail("make", path, err)
	}
	j := &journal{file: f, done: map[runKey]bool{}}
	return j, j.write(journalHead{apiVersion, "BenchSamples", m.fingerprint()})
}

// resumeJournal counts the cells with figures as done; failed ones are tried again. A truncated
// last line is dropped.
func resumeJournal(path string, text []byte, m Matrix) (*journal, error) {
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(whole))
	lines.Buffer(nil, 1<<20)
	var head journalHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Fingerprint != m.fingerprint() {
		return nil, heddle.Errorf(heddle.BadArgument, "resume", path,
			"its samples are of another matrix", "repeat that run's options, or choose another folder")
	}
	j := &journal{done: map[runKey]bool{}}
	for lines.Scan() {
		if err := j.take(lines.Bytes()); err != nil {
			return nil, fail("read", path, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fail("read", path, err)
	}
	return j, j.reopen(path, len(whole))
}

// take reads a line after the first one.
func (j *journal) take(line []byte) error {
	var c journalCapacities
	if err := json.Unmarshal(line, &c); err != nil {
		return err
	}
	if c.Kind == capacitiesKind {
		j.capacities = c.Capacities
		return nil
	}
	var s Sample
	if err := json.Unmarshal(line, &s); err != nil {
		return err
	}
	if s.Error == "" {
		j.old = append(j.old, s)
		j.done[runKey{s.Cell, s.Round}] = true
	}
	return nil
}

func (j *journal) reopen(path string, size int) error {
	err := os.Truncate(path, int64(size))
	if err == nil {
		j.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return fail("open", path, err)
	}
	return nil
}

func (j *journal) write(v any) error {
	if _, err := j.file.Write(append(heddle.Escaped(must(json.Marshal(v))), '\n')); err != nil {
		return fail("write", j.file.Name(), err)
	}
	return nil
}

func (j *journal) close() { _ = j.file.Close() }

// left returns the cells that are not done.
func (j *journal) left(cells []Cell, round int) []Cell {
	var all []Cell
	for _, c := range cells {
		if !j.done[runKey{c, round}] {
			all = append(all, c)
		}
	}
	return all
}
