package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func figures(t *testing.T, got map[string]float64, err error, want map[string]float64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, v := range want {
		near(t, name, got[name], v)
	}
}

func TestReadThroughput(t *testing.T) {
	server := "sockperf: Total 277248 messages received and handled\n"
	got, err := readThroughput(fixture(t, "sockperf-throughput.txt"), server)
	figures(t, got, err, map[string]float64{"sent": 277789, "received": 277248, handled: 277248})
	all := combineReadings([]map[string]float64{got, got}, "sent", "received")
	addLoss(all)
	near(t, "lost", all["lost"], 100*541.0/277789)
	near(t, "sum", all["received"], 2*277248)
	count, err := numbers(handledLine, fixture(t, "sockperf-server.txt"))
	if err != nil || count[0] != 302173 {
		t.Errorf("server: %v, %v", count, err)
	}
	if _, err := readThroughput(fixture(t, "sockperf-throughput.txt"), "No messages were received by the server."); err == nil || !strings.Contains(err.Error(), "No messages") {
		t.Errorf("without a count: %v", err)
	}
}

func TestReadLatency(t *testing.T) {
	got, err := readLatency(fixture(t, "sockperf-pingpong.txt"))
	figures(t, got, err, map[string]float64{"p50": 25.392, "p99": 31.867, "p99.9": 38.857, "dropped": 0, "observations": 10958, handled: 19921})
	got, err = readLatency(fixture(t, "sockperf-underload.txt"))
	figures(t, got, err, map[string]float64{"p50": 20.265, "p99": 85.202, "dropped": 0, "observations": 273, handled: 500})
	if _, err := readLatency(fixture(t, "sockperf-refused.txt")); err == nil || !strings.Contains(err.Error(), "it said") {
		t.Errorf("refused: %v", err)
	}
}

func TestReadIperf3(t *testing.T) {
	got, err := readIperf3(fixture(t, "iperf3.json"), "reno")
	figures(t, got, err, map[string]float64{"received": 52.217121717203026, "retransmits": 0, "window": 8589.536})
	if _, err := readIperf3(fixture(t, "iperf3-omit.json"), "bbr"); err != nil {
		t.Error(err)
	}
	for want, f := range map[string]func() error{
		"congestion control was \"bbr\"": func() error { _, err := readIperf3(fixture(t, "iperf3-omit.json"), "reno"); return err },
		"Connection refused":             func() error { _, err := readIperf3(fixture(t, "iperf3-refused.json"), "reno"); return err },
		"it said: oh no":                 func() error { _, err := readIperf3("oh no", "reno"); return err },
		"nothing was received":           func() error { _, err := readIperf3(`{"end":{"sender_tcp_congestion":"reno"}}`, "reno"); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReadPing(t *testing.T) {
	text := "20 packets transmitted, 19 received, 5% packet loss, time 301ms\nrtt min/avg/max/mdev = 0.007/0.010/0.138/0.018 ms\n"
	got, err := readPing(text)
	figures(t, got, err, map[string]float64{"rtt-min": 7, "rtt-avg": 10, "rtt-max": 138, "rtt-mdev": 18, "lost": 5})
	if _, err := readPing(fixture(t, "ping.txt")); err != nil {
		t.Error(err)
	}
	if _, err := readPing(fixture(t, "ping-lost.txt")); err == nil || !strings.Contains(err.Error(), "no reply") {
		t.Errorf("lost: %v", err)
	}
}

// The CPUs of the two ends, from the lines of /proc/stat.
func TestEnds(t *testing.T) {
	w := Window{Seconds: 2, before: "cpu  1 0 1 1 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 10 0 10 0 0 0 0 0\n",
		after: "cpu  2 0 2 2 0 0 0 0\ncpu0 20 0 100 40 0 10 30 0\ncpu1 20 0 30 170 0 0 0 0\n"}
	got := map[string]float64{}
	w.addEnds(got, cores{0, 0})
	if len(got) != 0 {
		t.Error("one core has two ends: ", got)
	}
	w.addEnds(got, cores{0, 1})
	figures(t, got, nil, map[string]float64{"sender-system": 50, "sender-softirq": 20, "sender-idle": 20,
		"receiver-system": 10, "receiver-softirq": 0, "receiver-idle": 85})
}

func TestBound(t *testing.T) {
	table := `  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:1389 00000000:0000 07 00000000:00000000
   1: 0100007F:0016 00000000:0000 0A 00000000:00000000
   2: 0100007F:0017 0100007F:0016 01 00000000:00000000
   3: 00000000000000000000000000000000:0018 00000000000000000000000000000000:0000 0A 0`
	for _, x := range []struct {
		port   int
		listen bool
		want   bool
	}{{5001, false, true}, {5001, true, false}, {22, true, true}, {23, true, false}, {24, true, true}, {25, false, false}} {
		if got := isBound(table, x.port, x.listen); got != x.want {
			t.Errorf("port %d: %v", x.port, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	a := parseStat("cpu  100 0 200 1000 50 10 20 30 0 0\ncpu0 1\n", "cpu")
	b := parseStat("cpu  150 10 300 1500 50 20 60 30 0 0\n", "cpu")
	c := cpuBetween(a, b)
	near(t, "user", c.User, 0.6)
	near(t, "system", c.System, 1)
	near(t, "softirq", c.SoftIRQ, 0.5)
	near(t, "percent", c.Percent, 100*2.1/7.1)
	if parseStat("cpu x", "cpu") != nil || (cpuBetween(nil, b) != CPU{}) {
		t.Error("bad text was read")
	}
}

func FuzzReaders(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, ".golden") {
			f.Add(fixture(f, filepath.Base(name)))
		}
	}
	f.Add("Total of 99999999999999999999 messages sent in 1.2.3 sec percentile 50.000 = . dropped messages = 9")
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range map[string]func() (map[string]float64, error){
			"throughput": func() (map[string]float64, error) { return readThroughput(text, text) },
			"latency":    func() (map[string]float64, error) { return readLatency(text) },
			"underload":  func() (map[string]float64, error) { return readUnderLoad(text, text, 33333, 7) },
			"iperf3":     func() (map[string]float64, error) { return readIperf3(text, "reno") },
			"udp":        func() (map[string]float64, error) { return readUDP(text) },
			"ping":       func() (map[string]float64, error) { return readPing(text) },
			"flood":      func() (map[string]float64, error) { return readFlood(text) },
			"tcp_rr":     func() (map[string]float64, error) { return readNetperf(text, "TCP_RR", "reno") },
			"udp_stream": func() (map[string]float64, error) { return readNetperf(text, "UDP_STREAM", "reno") },
			"tcp_bw":     func() (map[string]float64, error) { return readQperf(text, "tcp_bw", 1) },
			"tcp_lat":    func() (map[string]float64, error) { return readQperf(text, "tcp_lat", 1) },
			"wrk":        func() (map[string]float64, error) { return readWrk(text) },
			"redis":      func() (map[string]float64, error) { return readRedis(text, "set") },
		} {
			got, err := read()
			for k, v := range got {
				if err == nil && !(v >= 0) {
					t.Errorf("%s: %s is %v", name, k, v)
				}
			}
		}
		isBound(text, 80, true)
		parseStat(text, "cpu")
	})
}
