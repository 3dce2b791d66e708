package kernel

import (
	"context"
	"errors"
	"sync"

	"github.com/florianl/go-nflog/v2"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// LoggedPacket is a packet that a rule "log group" of the bridge family has told of.
type LoggedPacket struct {
	// Prefix is that of the rule.
	Prefix string
	// From and To are the ports of a bridge that it came by and goes to, as far as the rule's hook knows them; "" for one that has gone.
	From, To string
	// Ether is its EtherType, Data its beginning, without the header of Ethernet.
	Ether uint16
	Data  []byte
}

const (
	// logTime is how long the kernel may collect packets before it tells them, in hundredths of a second; logBatch how many.
	logTime, logBatch = 5, 32
	// logBuffer holds the packets of some hundred milliseconds. What does not fit is lost.
	logBuffer = 1 << 20
)

// LogPackets has the packets of a group of NFNETLINK_LOG told, size bytes of each, one after the other, until the log is closed. A group
// has one listener. Packets that come faster than they are read are lost.
func (k *Kernel) LogPackets(group uint16, size int, tell func(LoggedPacket)) (*PacketLog, error) {
	refused := func(err error) error {
		return heddle.Wrap(heddle.KernelRefused, "listen to", "the log of packets (NFNETLINK_LOG)", err,
			"load nfnetlink_log, and see who listens to its group ('cat /proc/net/netfilter/nfnetlink_log'): it has one listener")
	}
	n, err := nflog.Open(&nflog.Config{NetNS: k.home.fd, Group: group, Copymode: nflog.CopyPacket, Bufsize: uint32(size), Timeout: logTime, QThresh: logBatch})
	if err != nil {
		return nil, refused(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &PacketLog{cancel: cancel, log: n}
	err = n.Con.SetReadBuffer(logBuffer)
	if err == nil {
		err = n.RegisterWithErrorFunc(ctx, func(a nflog.Attribute) int { return l.tell(k, a, tell) }, l.failed)
	}
	if err != nil {
		cancel()
		return nil, refused(errors.Join(err, n.Con.Close()))
	}
	return l, nil
}

// PacketLog is a log of packets that somebody listens to. The zero value hears nothing.
type PacketLog struct {
	cancel context.CancelFunc
	log    *nflog.Nflog

	mu     sync.Mutex
	closed bool
	err    error
}

// tell is called for each packet. A result other than 0 ends the log.
func (l *PacketLog) tell(k *Kernel, a nflog.Attribute, tell func(LoggedPacket)) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return 1
	case a.Prefix != nil && a.Payload != nil && a.HwProtocol != nil:
		tell(LoggedPacket{*a.Prefix, k.portAt(a.PhysInDev), k.portAt(a.PhysOutDev), *a.HwProtocol, *a.Payload})
	}
	return 0
}

// failed is called when the log cannot be read. A result other than 0 ends the log.
func (l *PacketLog) failed(err error) int {
	if errors.Is(err, unix.ENOBUFS) {
		return 0 // some packets are lost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	return 1
}

// Err is why the log has ended.
func (l *PacketLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends it. Nothing is told any more when it returns.
func (l *PacketLog) Close() error {
	if l.log == nil {
		return nil
	}
	l.cancel()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	return l.log.Close()
}

// portAt is the name of an interface; "" if there is none.
func (k *Kernel) portAt(index *uint32) string {
	if index == nil {
		return ""
	}
	l, err := k.hostSession().linkAt(int(*index))
	if err != nil || l == nil {
		return ""
	}
	return l.name
}
