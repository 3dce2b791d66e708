package bench

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// WriteAll stores the report in a folder in every form.
func (r *Report) WriteAll(folder string) error {
	if err := r.Write(filepath.Join(folder, "report.json")); err != nil {
		return err
	}
	return r.WriteForms(folder)
}

// WriteForms writes the other forms of the report: report.html, samples.csv and report.bench.
func (r *Report) WriteForms(folder string) error {
	for name, write := range map[string]func(io.Writer) error{"report.html": r.HTML, "samples.csv": r.CSV, "report.bench": r.Benchstat} {
		if err := WriteFile(filepath.Join(folder, name), write); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile writes a whole file or none. It escapes unprintable characters in texts of others,
// such as messages of tools and names of devices.
func WriteFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	err := os.WriteFile(path+".new", heddle.Escaped(b.Bytes()), 0o644)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fail("write", path, err)
	}
	return nil
}

// CSV writes every sample, a line for each figure (RFC 4180).
func (r *Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"mode", "span", "probe", "size_bytes", "pairs", "wire", "round", "warmup", "start", "seconds", "figure", "unit", "value",
		"cpu_user_s", "cpu_system_s", "cpu_softirq_s", "cpu_steal_s", "error"})
	for _, s := range r.Samples {
		row := []string{s.Mode, s.Span, s.Probe, strconv.Itoa(s.Size), strconv.Itoa(s.Pairs), s.Wire, strconv.Itoa(s.Round + 1), strconv.FormatBool(s.Warmup),
			s.Start.Format(time.RFC3339Nano), plainNumber(s.Seconds)}
		tail := []string{plainNumber(s.CPU.User), plainNumber(s.CPU.System), plainNumber(s.CPU.SoftIRQ), plainNumber(s.CPU.Steal), s.Error}
		if len(s.Figures) == 0 {
			_ = out.Write(slices.Concat(row, []string{"", "", ""}, tail))
		}
		for _, name := range sortedKeys(s.Figures) {
			_ = out.Write(slices.Concat(row, []string{name, unitOf(r.figure(s.Cell, name)), plainNumber(s.Figures[name])}, tail))
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Report) figure(c Cell, name string) Figure {
	for _, f := range r.figures(c) {
		if f.Name == name {
			return f
		}
	}
	return Figure{Name: name}
}

func plainNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Benchstat writes the counted samples in the Go benchmark format
// (golang.org/design/14313-benchmark-format), for benchstat and its like.
func (r *Report) Benchstat(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel: %s\ncpu: %s\nplacement: %s\n", oneWord(r.Environment.Kernel), strings.TrimSpace(r.Environment.CPU), r.Method.Placement)
	seen := map[string]bool{}
	for _, p := range r.Probes {
		for _, f := range p.Figures {
			if unit := benchUnit(f); f.Better != Informative && !seen[unit] {
				seen[unit] = true
				fmt.Fprintf(&b, "Unit %s better=%s\n", unit, strings.Fields(f.Better)[0])
			}
		}
	}
	for _, s := range r.Samples {
		if s.Warmup || len(s.Figures) == 0 {
			continue
		}
		fmt.Fprintf(&b, "Benchmark%s/mode=%s/span=%s/size=%d/pairs=%d", benchName(s.Probe), oneWord(s.Mode), oneWord(s.Span), s.Size, s.Pairs)
		if s.Wire != "" {
			fmt.Fprintf(&b, "/wire=%s", oneWord(s.Wire))
		}
		b.WriteString(" 1")
		for _, name := range sortedKeys(s.Figures) {
			fmt.Fprintf(&b, " %s %s", plainNumber(s.Figures[name]), benchUnit(r.figure(s.Cell, name)))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchUnit is a figure's name with its unit, as a word.
func benchUnit(f Figure) string {
	unit := oneWord(strings.Replace(unitOf(f), "% of ", "%", 1))
	if unit == "" || unit == f.Name {
		return f.Name
	}
	return f.Name + "-" + unit
}

// benchName makes a name that starts with a capital letter, as the format requires after
// "Benchmark".
func benchName(probe string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(oneWord(probe), func(r rune) bool { return r == '-' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// oneWord joins the words of a text with dashes.
func oneWord(s string) string { return strings.Join(strings.Fields(s), "-") }
