package lab_test

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
)

// still makes a lab whose wires carry only what the test sends.
func still(t *testing.T, hosts int) *lab.Lab {
	l := up(t, lab.Options{Name: "fault", Hosts: hosts, NoAgent: true})
	for i := range hosts {
		host := fmt.Sprintf("host%d", i+1)
		in(t, l, host, "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6")
		for j := range hosts {
			in(t, l, host, "ip", "neigh", "replace", fmt.Sprintf("172.31.240.%d", 11+j), "lladdr", fmt.Sprintf("02:68:6c:00:00:%02x", 11+j), "dev", "eth0", "nud", "permanent")
		}
	}
	return l
}

// answered pings host2 from host1, and returns which of the packets were
// answered, in the order of the answers, and what ping said. It may leave out the
// last ones, where a busy machine answers late.
func answered(t *testing.T, l *lab.Lab, count int) (seen []int, out string) {
	t.Helper()
	out, _ = try(t, l, "host1", "ping", "-c", strconv.Itoa(count), "-i", "0.004", "-W", "1", "172.31.240.12")
	for _, m := range sequence.FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(m[1])
		seen = append(seen, n)
	}
	return seen, out
}

var sequence = regexp.MustCompile(`bytes from .* icmp_seq=(\d+)`)

// allAnswered pings, and fails the test if a packet is not answered.
func allAnswered(t *testing.T, l *lab.Lab, count int) (seen []int) {
	t.Helper()
	var out string
	if !thrice(func() bool { seen, out = answered(t, l, count); return len(seen) == count }) {
		t.Error(out)
	}
	return seen
}

// thrice repeats a measurement that may fail on a busy machine.
func thrice(measure func() bool) (right bool) {
	for try := 0; try < 3 && !right; try++ {
		right = measure()
	}
	return right
}

func setImpairment(t *testing.T, l *lab.Lab, wire string, d lab.Direction, i impair.Impairment) {
	t.Helper()
	if err := l.Impair(t.Context(), wire, d, i); err != nil {
		t.Fatal(err)
	}
}

func TestImpairments(t *testing.T) {
	soak.Turn(t, 1)
	l := still(t, 2)
	const count = 100
	t.Run("loss by seed", func(t *testing.T) {
		var runs [3][]int
		bySeed := func() bool {
			for i, seed := range []uint64{7, 7, 8} {
				setImpairment(t, l, "host1", lab.Out, impair.Impairment{Loss: 0.3, Seed: seed})
				runs[i], _ = answered(t, l, count)
				out, in, err := l.Counts("host1")
				if err != nil || in.Lost != 0 || int(out.Lost) < 1 {
					t.Errorf("counted %+v, %+v, %v", out, in, err)
				}
			}
			n := len(runs[0])
			return n >= 50 && n <= 90 && slices.Equal(runs[0], runs[1]) && !slices.Equal(runs[0], runs[2])
		}
		if !thrice(bySeed) {
			t.Errorf("30 %% of %d lost:\n%v\nagain\n%v\nother seed\n%v", count, runs[0], runs[1], runs[2])
		}
	})
	t.Run("delay", func(t *testing.T) {
		setImpairment(t, l, "host1", lab.Both, impair.Impairment{Delay: 30 * time.Millisecond, Jitter: 5 * time.Millisecond})
		_, out := answered(t, l, 20)
		least := regexp.MustCompile(`rtt min/avg/max/mdev = ([\d.]+)/`).FindStringSubmatch(out)
		if least == nil {
			t.Fatal(out)
		}
		if ms, _ := strconv.ParseFloat(least[1], 64); ms < 50 {
			t.Errorf("30±5 ms each way, and back in %v ms", ms)
		}
	})
	t.Run("duplicate", func(t *testing.T) {
		setImpairment(t, l, "host1", lab.Both, impair.Impairment{})
		setImpairment(t, l, "host1", lab.Out, impair.Impairment{Duplicate: 1})
		var out string
		if !thrice(func() bool { _, out = answered(t, l, 20); return strings.Count(out, "DUP!") >= 19 }) {
			t.Error(out)
		}
	})
	t.Run("reorder", func(t *testing.T) {
		setImpairment(t, l, "host1", lab.Out, impair.Impairment{Reorder: 0.2, Seed: 1})
		if seen := allAnswered(t, l, 100); slices.IsSorted(seen) {
			t.Errorf("in order: %v", seen)
		}
	})
	t.Run("corrupt", func(t *testing.T) {
		setImpairment(t, l, "host1", lab.Out, impair.Impairment{Corrupt: 1, Seed: 1})
		if seen, out := answered(t, l, 50); len(seen) > 2 { // a bit of the padding or of the TOS may go unnoticed
			t.Error(out)
		}
	})
	t.Run("sound again", func(t *testing.T) {
		setImpairment(t, l, "host1", lab.Both, impair.Impairment{})
		allAnswered(t, l, 50)
		if on, err := l.Hosts[0].Offloads(); err != nil || !on["tso"] {
			t.Error("segmentation is still off", on, err)
		}
		if f := l.Faults(); len(f.Wires) != 0 {
			t.Errorf("%+v", f.Wires)
		}
	})
}

// A relay completes the checksums of frames, except if it simulates a NIC that does not.
func TestSpoiltChecksums(t *testing.T) {
	l := still(t, 2)
	for _, spoil := range []bool{false, true} {
		setImpairment(t, l, "host1", lab.Out, impair.Impairment{Delay: time.Millisecond, SpoilChecksums: spoil})
		before := udp(t, l, "host2", "InCsumErrors")
		got := datagrams(t, l, "host1", "host2", 20)
		wrong := udp(t, l, "host2", "InCsumErrors") - before
		if spoil && (got != 0 || wrong != 20) || !spoil && (got != 20 || wrong != 0) {
			t.Errorf("spoilt %v: %d of 20 arrived, %d wrong checksums", spoil, got, wrong)
		}
	}
	if got := datagrams(t, l, "host2", "host1", 20); got != 20 {
		t.Errorf("the other way, %d of 20 arrived", got)
	}
}

// datagrams sends UDP from one host to another, and counts what arrives.
func datagrams(t *testing.T, l *lab.Lab, from, to string, count int) (arrived int) {
	t.Helper()
	self := testAgent(t)[0]
	counter := command(t, t.Context(), l, to, self, "test-count", "9999", strconv.Itoa(count))
	word, err := counter.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	counter.Stdout = &out
	if err := counter.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "somebody listens", func() bool {
		return in(t, l, to, "sh", "-c", "cat /proc/net/udp /proc/net/udp6 | grep -c :270F || true") != "0"
	})
	in(t, l, from, self, "test-send", "172.31.240.1"+to[4:]+":9999", strconv.Itoa(count))
	word.Close()
	ended := counter.Wait()
	if arrived, err = strconv.Atoi(strings.TrimSpace(out.String())); err != nil {
		t.Fatal(ended, err)
	}
	return arrived
}

// udp reads one of a host's UDP counters.
func udp(t *testing.T, l *lab.Lab, host, name string) int {
	t.Helper()
	var lines [][]string
	for line := range strings.Lines(in(t, l, host, "cat", "/proc/net/snmp")) {
		if strings.HasPrefix(line, "Udp:") {
			lines = append(lines, strings.Fields(line))
		}
	}
	n, err := strconv.Atoi(lines[1][slices.Index(lines[0], name)])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A relay passes what a wire passes: IPv6, VLAN tags, frames of any MTU, TCP.
func TestRelayPasses(t *testing.T) {
	l := up(t, lab.Options{Name: "pass", Hosts: 2, NoAgent: true, MTU: 9000})
	for _, host := range []string{"host1", "host2"} {
		setImpairment(t, l, host, lab.Both, impair.Impairment{Delay: 100 * time.Microsecond})
	}
	far := []string{"172.31.240.12", "fd99:172:31:240::12", "172.31.240.1"}
	for _, host := range []string{"host1", "host2"} {
		if out, err := try(t, l, host, "ip", "link", "add", "link", "eth0", "name", "tag", "type", "vlan", "id", "7"); err != nil {
			t.Log("this kernel has no VLANs: ", out)
			break
		}
		in(t, l, host, "ip", "address", "add", "10.7.0."+host[4:]+"/24", "dev", "tag")
		in(t, l, host, "ip", "link", "set", "tag", "up")
		far = append(far, "10.7.0.2")
	}
	for _, to := range far {
		reaches(t, l, "host1", to, true)
	}
	in(t, l, "host1", "ping", "-c1", "-W20", "-M", "do", "-s", "8972", "172.31.240.12")
	t.Logf("TCP through two relays: %.0f Mbit/s", throughput(t, l, "host1", "host2", false)/1e6)
	if out, in, err := l.Counts("host1"); err != nil || out.Frames < 100 || in.Frames < 10 || out.Lost+in.Lost+out.Corrupted+in.Corrupted != 0 {
		t.Errorf("%+v %+v %v", out, in, err)
	}
}

// A TCP stream survives a cut, whatever the other faults of the wire are.
func TestStreamOutlivesCut(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("iperf3 is not installed")
	}
	l := up(t, lab.Options{Name: "stream", Hosts: 2, NoAgent: true, Rate: 100_000_000})
	setImpairment(t, l, "host2", lab.Both, impair.Impairment{Loss: 0.005, Delay: 2 * time.Millisecond, Jitter: time.Millisecond, Duplicate: 0.01, Seed: 5})
	in(t, l, "host2", "iperf3", "-s", "-1", "-D")
	eventually(t, "the server listens", func() bool {
		return in(t, l, "host2", "sh", "-c", "cat /proc/net/tcp /proc/net/tcp6 | grep -c ':1451 .* 0A ' || true") != "0"
	})
	type ending struct {
		out string
		err error
	}
	done := make(chan ending, 1)
	go func() {
		out, err := try(t, l, "host1", "iperf3", "-c", "172.31.240.12", "-t", "4", "-b", "20M")
		done <- ending{out, err}
	}()
	eventually(t, "it flows", func() bool { out, _, _ := l.Counts("host2"); return out.Frames > 200 })
	if err := l.Cut(t.Context(), "host1", "host2", false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := l.Heal(t.Context(), "host1", "host2"); err != nil {
		t.Fatal(err)
	}
	if e := <-done; e.err != nil || !strings.Contains(e.out, "receiver") {
		t.Errorf("%v\n%s", e.err, e.out)
	}
}
