package kernel

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// Columns of /proc/net/tcp and udp (proc_net_tcp.rst), and the state of a listening socket.
const (
	columnLocal, columnRemote, columnState = 1, 2, 3
	stateListen                            = "0A"
)

// listening lists those ports of the masquerading range on which sockets of this host wait for any
// caller, both of programs and of the kernel.
func (k *Kernel) listening() ([]heddle.Socket, error) {
	var all []heddle.Socket
	err := k.home.Do(func() error {
		tcp, err := listeningTCP()
		if err != nil {
			return err
		}
		udp, err := openPorts("udp")
		var sctp []uint16
		listeners, failed := SCTPListeners()
		for _, l := range listeners {
			sctp = append(sctp, l.Port)
		}
		err = errors.Join(err, failed)
		for protocol, ports := range map[string][]uint16{"tcp": tcp, "udp": udp, "sctp": sctp} {
			for _, p := range ports {
				if p >= firewall.FirstMasqueradePort {
					all = append(all, heddle.Socket{Protocol: protocol, Port: p})
				}
			}
		}
		return err
	})
	slices.SortFunc(all, heddle.Socket.Compare)
	return slices.Compact(all), err
}

// listeningTCP asks for the ports of sockets that listen, and for them only: to read /proc/net/tcp,
// the kernel walks through its table of connections, which takes milliseconds also if it is empty.
// A kernel that cannot be asked (Debian has it in the module tcp_diag) is read.
func listeningTCP() ([]uint16, error) {
	if ports, err := askListening(); err == nil {
		return ports, nil
	}
	return openPorts("tcp")
}

// askListening asks over sock_diag(7).
func askListening() (ports []uint16, err error) {
	c, err := dial(unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		_, err := c.exchange(func(_ uint16, socket []byte) {
			if len(socket) >= 6 { // struct inet_diag_msg: four bytes, then the socket's own port
				ports = append(ports, binary.BigEndian.Uint16(socket[4:]))
			}
		}, socketsIn(family, unix.IPPROTO_TCP, tcpListen))
		if err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// States of sockets (net/tcp_states.h); a socket of UDP that waits for any caller is closed.
const tcpClose, tcpListen = 7, 10

// socketsIn asks for the sockets of a family and protocol that are in a state (linux/inet_diag.h).
func socketsIn(family, protocol uint8, state uint32) *nl.NetlinkRequest {
	const size = 56 // struct inet_diag_req_v2; what is not set below matches any socket
	b := make([]byte, size)
	b[0], b[1] = family, protocol
	binary.NativeEndian.PutUint32(b[4:], 1<<state)
	r := nl.NewNetlinkRequest(unix.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
	r.AddRawData(b)
	return r
}

// openPorts reads the ports of sockets that wait for whoever calls from /proc/net.
func openPorts(protocol string) (ports []uint16, err error) {
	for _, version := range []string{"", "6"} {
		more, err := waiting("/proc/thread-self/net/"+protocol+version, protocol == "tcp")
		if err != nil && !os.IsNotExist(err) { // a kernel without IPv6
			return nil, err
		}
		ports = append(ports, more...)
	}
	return ports, nil
}

// waiting reads one of these files. Of TCP's, it reads what comes first: the sockets that listen.
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
		if remote == 0 {
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
