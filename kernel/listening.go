package kernel

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Columns of /proc/net/tcp and udp (proc_net_tcp.rst), and the state of a listening socket.
const (
	columnLocal, columnRemote, columnState = 1, 2, 3
	stateListen                            = "0A"
)

// listening lists those ports of the masquerading range on which sockets of this host wait for any
// caller, both of programs and of the kernel. For TCP, the kernel lists listening sockets first,
// and the rest is not read.
func (k *Kernel) listening() ([]heddle.Socket, error) {
	var all []heddle.Socket
	err := k.home.Do(func() error {
		for _, protocol := range []string{"tcp", "udp"} {
			for _, version := range []string{"", "6"} {
				ports, err := waiting("/proc/thread-self/net/"+protocol+version, protocol == "tcp")
				if err != nil && !os.IsNotExist(err) { // a kernel without IPv6
					return err
				}
				for _, p := range ports {
					all = append(all, heddle.Socket{Protocol: protocol, Port: p})
				}
			}
		}
		return nil
	})
	slices.SortFunc(all, heddle.Socket.Compare)
	return slices.Compact(all), err
}

// waiting reads one of these files.
func waiting(path string, listens bool) (ports []uint16, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan() // the header
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) <= columnState {
			return nil, fmt.Errorf("%s: %q", path, lines.Text())
		}
		if listens && columns[columnState] != stateListen {
			break
		}
		local, err := portOf(columns[columnLocal])
		if err != nil {
			return nil, err
		}
		remote, err := portOf(columns[columnRemote])
		if err != nil {
			return nil, err
		}
		if remote == 0 && local >= firewall.FirstMasqueradePort {
			ports = append(ports, local)
		}
	}
	return ports, lines.Err()
}

// portOf reads "0100007F:0035".
func portOf(column string) (uint16, error) {
	_, port, _ := strings.Cut(column, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	return uint16(n), err
}
