package managers_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// The scripts that begin and end a watch. systemd-networkd, cloud-init's hook and ifupdown write into the journal. The configuration of
// NICs are files of these folders, without heddle's.
const (
	beginWatch = `cd /root
ip -o monitor link address >ip.log 2>&1 & echo $! >pids
udevadm monitor --udev --property --subsystem-match=net >udev.log 2>&1 & echo $! >>pids
nmcli monitor >nm.log 2>&1 & echo $! >>pids
sleep 2
journalctl -n 1 --show-cursor | sed -n 's/^-- cursor: //p' >cursor`
	endWatch    = `sleep 2; udevadm settle; kill $(cat /root/pids)`
	readJournal = `journalctl -o cat --after-cursor "$(cat /root/cursor)" -u systemd-networkd -u cloud-init-hotplugd -u 'ifup@*'`
	readFiles   = `find /etc/network /etc/netplan /etc/systemd/network /run/systemd/network /etc/NetworkManager /run/NetworkManager/conf.d \
/run/NetworkManager/system-connections /etc/udev /run/udev/rules.d /etc/resolv.conf /run/network -type f ! -name '00-heddle-*' -printf '%p %T@\n' 2>/dev/null | sort`
)

var (
	linkLine = regexp.MustCompile(`^(?:Deleted )?(\d+): ([^:@ ]+)[^<]*<([^>]*)> (.*link/ether (\S+).*)$`)
	addrLine = regexp.MustCompile(`^(\d+): \S+ +inet6? `)
	// passing are what managers say of a NIC that they see and leave alone.
	passing = regexp.MustCompile(`^$|^NetworkManager is running$|^(eth\d+|h[cn]\w+): device (created|removed)$|^(eth\d+|hn\w+): (Link (UP|DOWN)|(Gained|Lost) carrier)$|^-- No entries --$`)
	// ours are the names of such a NIC on the host: the kernel's, and the agent's for one whose name was taken.
	ours = regexp.MustCompile(`^(eth\d+|hn[0-9a-f]{12})$`)
)

// own is the beginning of the names of links of the agent's own. One of the NIC's MAC address is on it for a moment when it comes back.
const own = "hc"

// sight is what a watch saw of NICs.
type sight struct {
	// links and events are how many messages the kernel and udev sent about them.
	links, events int
	// touched is what was done to them that heddle did not do.
	touched []string
}

// look reads what was seen of all NICs but the machine's own, and what managers said.
func look(ip, udev, said string) (s sight) {
	index := map[string]bool{}
	touched := func(format string, args ...any) { s.touched = append(s.touched, fmt.Sprintf(format, args...)) }
	for line := range strings.Lines(ip) {
		m := linkLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || m[5] == ownMAC || strings.HasPrefix(m[2], own) {
			continue
		}
		s.links++
		index[m[1]] = true
		flags := "," + m[3] + ","
		if !ours.MatchString(m[2]) || strings.Contains(flags, ",UP,") || strings.Contains(m[4], " master ") || strings.Contains(m[4], "altname ") ||
			!strings.HasPrefix(m[4], "mtu 1500 ") {
			touched("link: %s", strings.TrimSpace(line))
		}
	}
	for line := range strings.Lines(ip) {
		if m := addrLine.FindStringSubmatch(line); m != nil && index[m[1]] {
			touched("address: %s", strings.TrimSpace(line))
		}
	}
	for event := range strings.SplitSeq(udev, "\n\n") {
		_, number, found := strings.Cut(event, "\nIFINDEX=")
		number, _, _ = strings.Cut(number, "\n")
		if !found || !index[number] {
			continue
		}
		s.events++
		if !strings.Contains(event, "\nHEDDLE_NIC=") || !strings.Contains(event, "\nNM_UNMANAGED=1") {
			touched("udev event: %s", event)
		}
	}
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); !passing.MatchString(line) {
			touched("said: %s", line)
		}
	}
	return s
}

// watch does something in the machine, and returns what was seen meanwhile.
func (m *machine) watch(t *testing.T, do func()) sight {
	t.Helper()
	before := m.run(t, readFiles)
	m.run(t, beginWatch)
	do()
	m.run(t, endWatch)
	s := look(m.run(t, "cat /root/ip.log"), m.run(t, "cat /root/udev.log"), m.run(t, "cat /root/nm.log; "+readJournal))
	if after := m.run(t, readFiles); after != before {
		s.touched = append(s.touched, fmt.Sprintf("files:\n%s\nand before:\n%s", after, before))
	}
	return s
}
