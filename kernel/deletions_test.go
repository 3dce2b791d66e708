package kernel

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestDeleteTogether: many interfaces are deleted at once, each of them and no other, and each caller is told of
// its own.
func TestDeleteTogether(t *testing.T) {
	r := newRoom(t)
	const many = 300
	var script strings.Builder
	fmt.Fprintf(&script, "ip link add other type veth peer name other1; ip link set other group %#x\n", heddle.Network{ID: "x"}.Group())
	for i := range many {
		fmt.Fprintf(&script, "ip link add v%d type veth peer name w%d\n", i, i)
	}
	r.sh(script.String())
	s := r.k.hostSession()
	var all sync.WaitGroup
	for i := range many + 10 {
		all.Go(func() {
			index, err := r.k.hostSession().ifindex(fmt.Sprint("v", i))
			if i >= many {
				index, err = 1_000_000+i, nil // nobody has it
			}
			if err == nil {
				err = s.delete(index)
			}
			if i < many && err != nil || i >= many && !errors.Is(err, unix.ENODEV) {
				t.Errorf("interface %d: %v", i, err)
			}
		})
	}
	all.Wait()
	live, err := s.links()
	cell.Must(t, err)
	var names []string
	for _, l := range live {
		if l.name != "lo" {
			names = append(names, l.name)
		}
	}
	if len(names) != 2 {
		t.Errorf("left: %v", names)
	}
}
