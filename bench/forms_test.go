package bench

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

func TestWriteAll(t *testing.T) {
	folder := t.TempDir()
	if err := goldenReport().WriteAll(folder); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "report.bench report.html report.json samples.csv" {
		t.Error(got)
	}
	r, err := ReadReport(filepath.Join(folder, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if again := render(t, "golden", r.HTML); again != string(page) {
		t.Error("the page made from report.json is another")
	}
	if err := goldenReport().WriteAll(filepath.Join(folder, "absent")); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func TestCSV(t *testing.T) {
	r := invented()["hostile"]
	var b bytes.Buffer
	if err := r.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	want, failed := 0, 0
	for _, s := range r.Samples {
		want += max(1, len(s.Figures))
		if s.Error != "" {
			failed++
		}
	}
	for _, row := range rows[1:] {
		if row[column["figure"]] != "" {
			if _, err := strconv.ParseFloat(row[column["value"]], 64); err != nil {
				t.Error(row)
			}
		} else if failed--; !strings.Contains(row[column["error"]], hostile) {
			t.Error(row)
		}
	}
	if len(rows)-1 != want || failed != 0 {
		t.Errorf("%d rows of %d, %d failures left", len(rows)-1, want, failed)
	}
}

// TestBenchstat feeds the text to the parser that benchstat uses.
func TestBenchstat(t *testing.T) {
	for _, name := range []string{"golden", "usual", "hostile"} {
		r := invented()[name]
		var b bytes.Buffer
		if err := r.Benchstat(&b); err != nil {
			t.Fatal(err)
		}
		results, config := 0, ""
		in := benchfmt.NewReader(&b, name)
		for in.Scan() {
			switch x := in.Result().(type) {
			case *benchfmt.Result:
				results++
				config = x.GetConfig("placement")
				if len(x.Values) == 0 || !strings.Contains(string(x.Name), "/span=") {
					t.Errorf("%s: %s %v", name, x.Name, x.Values)
				}
				if v, ok := x.Value("received-Gbit/s"); strings.HasPrefix(string(x.Name), "Iperf3") && (!ok || v <= 0) {
					t.Errorf("%s: %s has no received-Gbit/s", name, x.Name)
				}
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", name, x)
			}
		}
		counted := 0
		for _, s := range r.Samples {
			if !s.Warmup && len(s.Figures) > 0 {
				counted++
			}
		}
		if in.Err() != nil || results != counted || config != SeparateCores {
			t.Errorf("%s: %v, %d results of %d, placement %q", name, in.Err(), results, counted, config)
		}
		if better := in.Units().GetBetter("received-packets/s"); name == "usual" && better != 1 {
			t.Errorf("direction of received-packets/s: %d", better)
		}
	}
}
