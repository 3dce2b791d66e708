package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

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

// on connects to libvirtd, finds the domain, and calls do. When the context ends, it ends the connection, and so every call of do. What
// libvirtd was asked for then may still happen: it works on one change of a domain after the other, and so on this one
// before a later one.
func (d *Domain) on(ctx context.Context, op, object string, do func(*running) error) error {
	const connect = "connect to libvirtd"
	socket, err := (&net.Dialer{}).DialContext(ctx, "unix", d.socket)
	if err != nil {
		return failed(ctx, connect, d.socket, err)
	}
	defer socket.Close()
	conn := &checked{Conn: socket}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	l := golibvirt.NewWithDialer(dialers.NewAlreadyConnected(conn))
	if err := l.ConnectToURI(golibvirt.QEMUSystem); err != nil {
		return failed(ctx, connect, d.socket, cmp.Or(conn.err, err))
	}
	defer l.Disconnect() // without this farewell libvirtd logs an error
	domain, err := l.DomainLookupByName(d.name)
	if golibvirt.IsNotFound(err) {
		return heddle.Errorf(heddle.MachineAway, op, object, "libvirt has no domain "+d.name, "look with 'virsh list --all', and correct its name, or define it")
	}
	if err == nil {
		err = do(&running{l, domain})
	}
	if err != nil {
		return failed(ctx, op, object, err)
	}
	return nil
}

// failed makes an error of a call. libvirt's own words become the cause. Without any, libvirtd is away, and nothing is known of the
// domain: that is another code than that of a domain which does not run.
func failed(ctx context.Context, op, object string, err error) error {
	var known *heddle.Error
	var said golibvirt.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &said):
		return heddle.Wrap(heddle.MachineRefused, op, object, err, "look with 'virsh dumpxml' at the domain's devices, and try again")
	case ctx.Err() != nil:
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

// isLeaving reports whether QEMU says that the guest was asked already.
func isLeaving(err error) bool { return says(err, "in the process of unplug") }

func says(err error, words string) bool {
	var said golibvirt.Error
	return errors.As(err, &said) && strings.Contains(said.Message, words)
}
