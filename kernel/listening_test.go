package kernel

import (
	"errors"
	"net"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// TestFactsListening: the kernel's answer about listening sockets and its table say the same, of both
// families, and leave out sockets that are connected.
func TestFactsListening(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link set lo up")
	ask := func(read func() ([]uint16, error)) (ports []uint16, err error) {
		err = r.k.home.Do(func() (err error) {
			ports, err = read()
			slices.Sort(ports)
			return err
		})
		return ports, err
	}
	listen := func(network, at string) (l net.Listener) {
		t.Helper()
		cell.Must(t, r.k.home.Do(func() (err error) {
			l, err = net.Listen(network, at)
			return err
		}))
		t.Cleanup(func() { l.Close() })
		return l
	}
	listen("tcp4", "0.0.0.0:62001")
	listen("tcp6", "[::]:62002")
	at := listen("tcp4", "127.0.0.1:62003")
	var c net.Conn
	cell.Must(t, r.k.home.Do(func() (err error) {
		c, err = net.Dial("tcp4", at.Addr().String())
		return err
	}))
	defer c.Close()
	want := []uint16{62001, 62002, 62003}
	for name, read := range map[string]func() ([]uint16, error){
		"the kernel's answer": askListening,
		"the kernel's table":  func() ([]uint16, error) { return openPorts("tcp") },
		"listeningTCP":        listeningTCP,
	} {
		got, err := ask(read)
		if name == "the kernel's answer" && errors.Is(err, unix.ENOENT) && vm.InGuest() {
			continue // the guest has no module tcp_diag
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %v, %v, want %v", name, got, err, want)
		}
	}
}
