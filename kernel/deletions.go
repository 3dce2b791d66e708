package kernel

import (
	"errors"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// deletions deletes interfaces of the host. With its lock held, the kernel waits for the end of what uses an interface
// (synchronize_net), and afterwards, before it answers, until nobody can be using it any more (rcu_barrier in
// netdev_run_todo). That takes 20 ms or more, and hardly longer for many interfaces. So those that come meanwhile
// are deleted together: they are put into an interface group that nothing else is in, and the group is deleted.
//
// By then, the guards of a port are gone: what a container sends is dropped because its name is in no set,
// whatever its group is.
type deletions struct {
	// conn deletes; free has one token, for who uses it.
	conn *conn
	free chan struct{}
	// rt is for the other requests of removals. They wait for what is being deleted, and then come before what
	// is deleted next: each of them would wait for the kernel's lock behind a deletion of its own otherwise.
	rt   *conn
	gate sync.RWMutex

	mu      sync.Mutex
	waiting []*deletion
}

type deletion struct {
	index int
	done  chan error
}

// deleteAtOnce is the most that is deleted together: the kernel's lock is held that long.
const deleteAtOnce = 16

// newDeletions opens the sockets in the calling thread's network namespace.
func newDeletions() (d *deletions, err error) {
	d = &deletions{free: make(chan struct{}, 1)}
	d.free <- struct{}{}
	if d.conn, err = dial(unix.NETLINK_ROUTE); err != nil {
		return nil, err
	}
	if d.rt, err = dial(unix.NETLINK_ROUTE); err != nil {
		return nil, errors.Join(err, d.conn.close())
	}
	d.rt.gate = d.gate.RLocker()
	return d, nil
}

func (d *deletions) conns() []*conn {
	if d == nil {
		return nil
	}
	return []*conn{d.conn, d.rt}
}

// delete deletes an interface, with others if others wait.
func (d *deletions) delete(index int) error {
	mine := &deletion{index, make(chan error, 1)}
	d.mu.Lock()
	d.waiting = append(d.waiting, mine)
	d.mu.Unlock()
	for {
		select {
		case err := <-mine.done:
			return err
		case <-d.free:
			d.gate.Lock()
			d.deleteAll(d.take())
			d.gate.Unlock()
			d.free <- struct{}{}
		}
	}
}

// take returns those that have waited longest. There may be none: somebody else has taken the caller's own.
func (d *deletions) take() []*deletion {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(len(d.waiting), deleteAtOnce)
	some := d.waiting[:n:n]
	d.waiting = d.waiting[n:]
	return some
}

func (d *deletions) deleteAll(some []*deletion) {
	if len(some) > 1 {
		some = d.deleteGroup(some)
	}
	for _, one := range some {
		one.done <- d.conn.execute(deleteLink(one.index))
	}
}

// deleteGroup deletes several interfaces, and returns those that it could not delete.
func (d *deletions) deleteGroup(some []*deletion) (left []*deletion) {
	requests := make([]*nl.NetlinkRequest, len(some))
	for i, one := range some {
		requests[i] = request(unix.RTM_NEWLINK, 0, indexed(one.index))
		requests[i].AddData(numberAttr(unix.IFLA_GROUP, heddle.DeletedGroup))
	}
	if d.conn.execute(requests...) != nil {
		return some // one is gone: which of them, each deletion tells
	}
	r := request(unix.RTM_DELLINK, 0, nl.NewIfInfomsg(unix.AF_UNSPEC))
	r.AddData(numberAttr(unix.IFLA_GROUP, heddle.DeletedGroup))
	if d.conn.execute(r) != nil {
		return some
	}
	for _, one := range some {
		one.done <- nil
	}
	return nil
}
