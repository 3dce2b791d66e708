package kernel

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

// TestParseSCTPListeners reads a file as Linux 6.1 wrote it.
func TestParseSCTPListeners(t *testing.T) {
	text := ` ENDPT     SOCK   STY SST HBKT LPORT   UID INODE LADDRS
       0        0 2   10  29   9000      0 11812 10.0.2.15 0000:0000:0000:0000:0000:0000:0000:0001 
       0        0 2   10  60   36412     0 11813 0.0.0.0 
`
	want := []SCTPListener{
		{9000, []netip.Addr{netip.MustParseAddr("10.0.2.15"), netip.MustParseAddr("::1")}},
		{36412, []netip.Addr{netip.IPv4Unspecified()}},
	}
	if got := parseSCTPListeners(text); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSCTPListeners finds sockets that listen, at the addresses that they have.
func TestSCTPListeners(t *testing.T) {
	cell.Need(t)
	listen := func(at unix.Sockaddr, family int) {
		t.Helper()
		fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_SCTP)
		if errors.Is(err, unix.EPROTONOSUPPORT) {
			t.Skip("this kernel has no SCTP")
		}
		cell.Must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		cell.Must(t, errors.Join(unix.Bind(fd, at), unix.Listen(fd, 1)))
	}
	listen(&unix.SockaddrInet4{Port: 9000, Addr: [4]byte{127, 0, 0, 1}}, unix.AF_INET)
	listen(&unix.SockaddrInet6{Port: 9001}, unix.AF_INET6)
	got, err := SCTPListeners()
	cell.Must(t, err)
	slices.SortFunc(got, func(a, b SCTPListener) int { return int(a.Port) - int(b.Port) })
	want := []SCTPListener{{9000, []netip.Addr{netip.MustParseAddr("127.0.0.1")}}, {9001, []netip.Addr{netip.IPv6Unspecified()}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
