package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/digitalocean/go-libvirt/socket/dialers"

	"github.com/heddle-network/heddle"
)

const daemonRemedy = "look whether libvirtd runs on this host, and whether that is its socket"

// running is a connection to libvirtd, and a domain that it has.
type running struct {
	*golibvirt.Libvirt
	domain golibvirt.Domain
}

// endTime is how long what was begun has to end after its context.
const endTime = time.Second

// on connects to libvirtd, finds the domain, and calls do. When the context ends, it ends the connection, and so every call of do; it does not wait
// for who speaks the protocol wrongly. What libvirtd was asked for then may still happen.
func on[T any](ctx context.Context, d *Domain, op, object string, do func(*running) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := connected(ctx, d, op, object, do)
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(endTime):
		var none T
		return none, away(ctx, op, object, context.Cause(ctx))
	}
}

// connected is on for as long as it takes.
func connected[T any](ctx context.Context, d *Domain, op, object string, do func(*running) (T, error)) (value T, err error) {
	const connect = "connect to libvirtd"
	socket, err := (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	if err != nil {
		return value, away(ctx, connect, d.socket, err)
	}
	defer socket.Close()
	conn := &checked{Conn: socket}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	l := golibvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	if err := l.ConnectToURI(golibvirt.QEMUSystem); err != nil {
		return value, away(ctx, connect, d.socket, cmp.Or(conn.why(), err))
	}
	defer l.Disconnect() // without this farewell libvirtd logs an error
	domain, err := l.DomainLookupByName(d.name)
	if err == nil {
		value, err = do(&running{l, domain})
	}
	if err != nil {
		return value, d.failed(ctx, op, object, err)
	}
	return value, nil
}

// failed makes an error of a call. libvirt's own words become the cause.
func (d *Domain) failed(ctx context.Context, op, object string, err error) error {
	var known *heddle.Error
	var said golibvirt.Error
	switch {
	case errors.As(err, &known):
		return err
	case golibvirt.IsNotFound(err): // also one that has ended meanwhile
		return heddle.Errorf(heddle.MachineAway, op, object, "libvirt has no domain "+d.name, "look with 'virsh list --all', and correct its name, or define it")
	case errors.As(err, &said):
		return heddle.Wrap(heddle.MachineRefused, op, object, err, "look with 'virsh dumpxml' at the domain's devices, and try again")
	}
	return away(ctx, op, object, err)
}

// away is the error of a libvirtd that does not answer, or not as it should. Nothing is known of the domain then: that is another code than that of a
// domain which does not run.
func away(ctx context.Context, op, object string, err error) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("libvirtd has not answered: %w", context.Cause(ctx))
	}
	return heddle.Wrap(heddle.NotPlugged, op, object, err, daemonRemedy)
}

// describe returns the domain as it is now. It returns an error of code heddle.MachineAway if the domain does not run.
func (r *running) describe() (description, error) {
	text, err := r.DomainGetXMLDesc(r.domain, 0)
	if err != nil {
		return description{}, err
	}
	now, err := parse(text)
	if err == nil && now.ID == "" {
		err = heddle.Errorf(heddle.MachineAway, "look at domain", r.domain.Name, "it does not run", "start it with 'virsh start "+r.domain.Name+"'")
	}
	return now, err
}

// noFreeSlot reports whether libvirt says that no PCI slot is free. It has no code for that.
func noFreeSlot(err error) bool { return says(err, "No more available PCI slots") }

// noTAP reports whether libvirt says that its network namespace has no such TAP.
func noTAP(err error) bool { return says(err, "specified dev doesn't exist") }

// isGone reports whether libvirt says that the domain has no such NIC. It has two errors for that, one without a code of its own.
func isGone(err error) bool {
	var said golibvirt.Error
	return errors.As(err, &said) && said.Code == uint32(golibvirt.ErrDeviceMissing) || says(err, "no device found with alias")
}

// isLeaving reports whether QEMU says that the guest was asked already.
func isLeaving(err error) bool { return says(err, "in the process of unplug") }

func says(err error, words string) bool {
	var said golibvirt.Error
	return errors.As(err, &said) && strings.Contains(said.Message, words)
}
