package kernel

import (
	"context"
	"encoding/binary"
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
	// Ether is its EtherType, or that of its first VLAN tag. Data is the beginning of what is behind the header of Ethernet, or behind that tag.
	Ether uint16
	Data  []byte
	// Lost is how many packets before this one were not told, because the log was not read fast enough.
	Lost uint32
}

const (
	// logTime is how long the kernel may collect packets before it tells them, in hundredths of a second; logBatch how many.
	logTime, logBatch = 5, 32
	// logBuffer holds the packets of some hundred milliseconds. What does not fit is lost.
	logBuffer = 1 << 20
)

// LogPackets has the packets of a group of NFNETLINK_LOG told, size bytes of each, one after the other, until the log is closed or cannot be
// read any more: then ended is called, once. A group has one listener. Packets that come faster than they are read are lost, and counted.
func (k *Kernel) LogPackets(group uint16, size int, tell func(LoggedPacket), ended func(error)) (*PacketLog, error) {
	refused := func(err error) error {
		return heddle.Wrap(heddle.KernelRefused, "listen to", "the log of packets (NFNETLINK_LOG)", err,
			"load nfnetlink_log, and see who listens to its group ('cat /proc/net/netfilter/nfnetlink_log'): it has one listener")
	}
	n, err := nflog.Open(&nflog.Config{NetNS: k.home.fd, Group: group, Copymode: nflog.CopyPacket, Bufsize: uint32(size), Timeout: logTime, QThresh: logBatch, Flags: nflog.FlagSeq})
	if err != nil {
		return nil, refused(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &PacketLog{cancel: cancel, log: n, ended: ended}
	err = n.Con.SetReadBuffer(logBuffer)
	if err == nil {
		err = n.RegisterWithErrorFunc(ctx, func(a nflog.Attribute) int { return l.tell(a, tell) }, l.failed)
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
	ended  func(error)

	mu sync.Mutex
	// next is the number of the packet that comes next. It is counted by the kernel, with what found no room in the socket.
	next   uint32
	closed bool
	err    error
}

// tell is called for each packet. A result other than 0 ends the log.
func (l *PacketLog) tell(a nflog.Attribute, tell func(LoggedPacket)) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return 1
	case a.Prefix == nil || a.HwProtocol == nil:
		return 0 // it is no packet
	}
	p := LoggedPacket{Prefix: *a.Prefix, From: l.portAt(a.PhysInDev), To: l.portAt(a.PhysOutDev), Ether: *a.HwProtocol}
	if a.Payload != nil { // there may be nothing behind the header
		p.Data = *a.Payload
	}
	if a.VLAN != nil { // the kernel has taken the first tag off, which rules see
		p.Ether = binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, a.VLAN.Proto)) // which the library takes for one in the host's byte order
	}
	if a.Seq != nil { // the first ones may come before the kernel is asked to count
		p.Lost, l.next = *a.Seq-l.next, *a.Seq+1
	}
	tell(p)
	return 0
}

// failed is called when the log cannot be read. A result other than 0 ends the log.
func (l *PacketLog) failed(err error) int {
	if errors.Is(err, unix.ENOBUFS) {
		return 0 // some packets are lost: the next one says how many
	}
	l.mu.Lock()
	l.err = err
	closed := l.closed
	l.mu.Unlock()
	if !closed {
		l.ended(err)
	}
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
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	return l.log.Close()
}

// portAt is the name of an interface; "" if there is none. The request needs no lock of the kernel's that changes of interfaces hold, as one of
// rtnetlink does (netdevice(7)).
func (l *PacketLog) portAt(index *uint32) string {
	if index == nil {
		return ""
	}
	socket, err := l.log.Con.SyscallConn()
	if err != nil {
		return ""
	}
	port, errAsk := unix.NewIfreq("")
	if errAsk != nil {
		return ""
	}
	port.SetUint32(*index)
	err = socket.Control(func(fd uintptr) { errAsk = unix.IoctlIfreq(int(fd), unix.SIOCGIFNAME, port) })
	if err != nil || errAsk != nil {
		return ""
	}
	return port.Name()
}
