package kernel

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

// TestOnlyIPv6 tells sockets for IPv6 alone from those that take IPv4 as well.
func TestOnlyIPv6(t *testing.T) {
	cell.Need(t)
	c, err := dial(unix.NETLINK_SOCK_DIAG)
	cell.Must(t, err)
	defer c.close()
	for _, protocol := range []uint8{unix.IPPROTO_TCP, unix.IPPROTO_UDP} {
		if _, err := c.exchange(func(uint16, []byte) {}, socketsIn(unix.AF_INET6, protocol, tcpClose)); err != nil {
			t.Skip("this kernel cannot be asked: ", err)
		}
	}
	open := func(network string) uint32 {
		t.Helper()
		var socket any
		var err error
		if strings.HasPrefix(network, "tcp") {
			socket, err = net.Listen(network, ":0")
		} else {
			socket, err = net.ListenPacket(network, ":0")
		}
		cell.Must(t, err)
		t.Cleanup(func() { socket.(io.Closer).Close() })
		f, err := socket.(interface{ File() (*os.File, error) }).File()
		cell.Must(t, err)
		defer f.Close()
		var st unix.Stat_t
		cell.Must(t, unix.Fstat(int(f.Fd()), &st))
		return uint32(st.Ino)
	}
	for network, want := range map[string]bool{"tcp6": true, "udp6": true, "tcp": false, "udp": false} {
		inode := open(network)
		if got := OnlyIPv6()[inode]; got != want {
			t.Errorf("%s: %t, want %t", network, got, want)
		}
	}
}
