package hardship_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/heddle-network/heddle/test/cell"
)

const metricsAddress = "127.0.0.1:19468"

// TestMetrics: after three attaches and one that failed, the series say so.
func TestMetrics(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		d := newDaemon(t, folder(t), "--metrics", metricsAddress).ready(t)
		a := &cell.Agent{Client: d.Client}
		createNetwork(t, a, mode, 0)
		for _, pod := range []string{"one", "two", "three"} {
			attach(t, a, 0, pod)
		}
		if _, err := tryAttach(a, 0, "no-such-pod"); err == nil {
			t.Fatal("attached to a namespace that is not there")
		}
		text := scrape(t)
		for series, want := range map[string]float64{
			`heddle_endpoints_attached_total{mode="` + mode + `"}`:                      3,
			`heddle_operation_seconds_count{operation="attach",result="ok"}`:            3,
			`heddle_operation_seconds_count{operation="attach",result="error"}`:         1,
			`heddle_network_endpoints{mode="` + mode + `",network="net0"}`:              3,
			`heddle_network_addresses_free{network="net0"}`:                             65536 - 3 - 3,
			`heddle_repaired_objects_total`:                                             0,
			`heddle_dropped_packets_total{reason="spoofed-ip"}`:                         0,
			`heddle_part_healthy{part="agent"}`:                                         1,
			`heddle_part_healthy{part="ledger"}`:                                        1,
			`heddle_part_healthy{part="firewall"}`:                                      1,
			`heddle_part_healthy{part="endpoints"}`:                                     1,
			`heddle_operation_seconds_bucket{operation="attach",result="ok",le="+Inf"}`: 3,
		} {
			if have, found := value(text, series); !found || have != want {
				t.Errorf("%s is %v (there: %v), want %v", series, have, found, want)
			}
		}
		lint(t, text)
		d.stop()
	})
}

func scrape(t *testing.T) []byte {
	t.Helper()
	resp, err := http.Get("http://" + metricsAddress + "/metrics")
	cell.Must(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	cell.Must(t, err)
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s, %s", resp.Status, resp.Header.Get("Content-Type"))
	}
	return text
}

// value finds a series in the text format.
func value(text []byte, series string) (float64, bool) {
	for line := range strings.Lines(string(text)) {
		if number, found := strings.CutPrefix(line, series+" "); found {
			v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
			return v, err == nil
		}
	}
	return 0, false
}

// lint applies Prometheus' own rules, and ours: every name starts with heddle_,
// every series has a help text, no label names a container.
func lint(t *testing.T, text []byte) {
	t.Helper()
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	cell.Must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for line := range strings.Lines(string(text)) {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if !strings.HasPrefix(name, "heddle_") {
			t.Errorf("not ours: %s", line)
		}
		if regexp.MustCompile(`"(one|two|three)`).MatchString(line) {
			t.Errorf("a container's id is a label: %s", line)
		}
	}
}
