package kernel

import (
	"errors"
	"math"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const tbfQdisc = "tbf"

// bucketKind are the token bucket filters that limit what our links send.
type bucketKind struct{}

func (bucketKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Buckets, func(x heddle.Bucket) error { return a.bucket(s, x) })
}

// bucket makes a filter, or changes ours that is there, which keeps what waits in it. Somebody else's root qdisc is left alone: the
// kernel refuses ours. But a noqueue, which does nothing, gives way: libvirtd puts one on a TAP device when it plugs that in (virNetDevSetRootQDisc).
func (a *attempt) bucket(s *session, x heddle.Bucket) error {
	return a.step("make", x.Key(), func() error {
		index, err := s.ifindex(x.Link)
		if err != nil {
			return err
		}
		var old *bucketAt
		if !a.fresh[s.side()+x.Link] {
			if old, err = s.bucketOn(index); err != nil || old != nil && old.same(x) {
				return err
			}
		}
		err = s.rt.execute(bucketRequest(index, x))
		if exists(err) && s.queuesNothing(index) {
			err = s.rt.execute(replacing(bucketRequest(index, x)))
		}
		if err != nil {
			return explainBucket(x, err)
		}
		if old == nil {
			a.recordCreated(s, x.Key(), func() error { return s.deleteBucket(x) })
		} else {
			a.recordUndo(x.Key(), func() error { return s.rt.execute(bucketRequest(index, old.bucket(x.Link))) })
		}
		return nil
	})
}

// queuesNothing reports whether a link's root qdisc is a noqueue.
func (s *session) queuesNothing(index int) bool {
	all, err := list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETQDISC, 0, &nl.TcMsg{Family: unix.AF_UNSPEC})
	}, func(b []byte) (int, bool) {
		if len(b) < nl.SizeofTcMsg {
			return 0, false
		}
		head := nl.DeserializeTcMsg(b)
		return int(head.Ifindex), head.Parent == netlink.HANDLE_ROOT && text(after(nl.SizeofTcMsg, b).get(nl.TCA_KIND)) == "noqueue"
	})
	return err == nil && slices.Contains(all, index)
}

// replacing is a request that puts a qdisc in place of another one.
func replacing(r *nl.NetlinkRequest) *nl.NetlinkRequest {
	r.Flags |= unix.NLM_F_REPLACE
	return r
}

func explainBucket(x heddle.Bucket, err error) error {
	switch {
	case exists(err):
		return heddle.Wrap(heddle.KernelRefused, "limit", x.Link, err, "see whose qdisc is there ('tc qdisc show dev "+x.Link+"'), and remove it, or leave the limit out")
	case absent(err):
		return heddle.Wrap(heddle.NotOnKernel, "make a token bucket filter on", x.Link, err, "load the kernel's module, if it has one ('modprobe sch_tbf')")
	}
	return err
}

func (bucketKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.buckets()
	if err != nil {
		return err
	}
	return each(want.Buckets, func(x heddle.Bucket) error {
		have, there := live[d.index(x.Link)]
		switch {
		case !there:
			return d.missing(x)
		case !have.same(x):
			return d.differs(x, "want rate %s burst %d queue %d, have rate %s burst about %d queue %d", x.Rate, x.Burst, x.Queue, heddle.Rate(have.rate*8), have.burst(), have.queue)
		}
		return nil
	})
}

func (bucketKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Buckets) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteBucket(x) })
	}
}

// own lists those on our links. A filter is known as ours by its handle.
func (bucketKind) own(v *inventory) error {
	live, err := v.s.buckets()
	if err != nil || len(live) == 0 {
		return err
	}
	links, err := v.s.listedLinks()
	for _, l := range links {
		if b, there := live[l.index]; there && l.ours() {
			v.found.Buckets = append(v.found.Buckets, b.bucket(l.name))
		}
	}
	return err
}

// deleteBucket removes our filter, and nobody else's: the request names its handle.
func (s *session) deleteBucket(x heddle.Bucket) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	old, err := s.bucketOn(index)
	if err != nil || old == nil {
		return err
	}
	return s.rt.execute(tbfRequest(unix.RTM_DELQDISC, 0, index))
}

func tbfRequest(kind, flags, index int) *nl.NetlinkRequest {
	r := request(kind, flags, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: netlink.MakeHandle(heddle.BucketHandle, 0), Parent: netlink.HANDLE_ROOT})
	r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(tbfQdisc)))
	return r
}

// bucketRequest makes the filter, or changes the one of that handle (tc_modify_qdisc in net/sched/sch_api.c). The rate is in bytes a
// second, with a field of its own from 2^32 on.
func bucketRequest(index int, x heddle.Bucket) *nl.NetlinkRequest {
	rate := uint64(x.Rate) / 8
	r := tbfRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE, index)
	parms := nl.TcTbfQopt{Limit: uint32(x.Queue), Buffer: uint32(min(tokens(x.Burst, rate), math.MaxUint32))}
	parms.Rate.Rate = uint32(min(rate, math.MaxUint32))
	parms.Rate.Linklayer, parms.Rate.Mpu = nl.LINKLAYER_ETHERNET, heddle.LeastCounted
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_TBF_PARMS, parms.Serialize())
	options.AddRtAttr(nl.TCA_TBF_BURST, nl.Uint32Attr(uint32(x.Burst)))
	if rate > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_TBF_RATE64, nl.Uint64Attr(rate))
	}
	r.AddData(options)
	return r
}

// tick in ns is the kernel's unit of a bucket's size (PSCHED_SHIFT in include/net/pkt_sched.h).
const tick = 64

// tokens is how long the rate takes for so many bytes, in ticks.
func tokens(bytes, rate uint64) uint64 { return uint64(float64(bytes) * 1e9 / float64(rate) / tick) }

// bucketAt is a filter of ours as the kernel tells it. It tells the burst as the time that it takes, in ticks.
type bucketAt struct {
	index               int
	rate, buffer, queue uint64
}

func (b bucketAt) burst() uint64 { return uint64(float64(b.buffer) * tick * float64(b.rate) / 1e9) }

func (b bucketAt) bucket(link string) heddle.Bucket {
	return heddle.Bucket{Link: link, Rate: heddle.Rate(b.rate * 8), Burst: b.burst(), Queue: b.queue}
}

// same leaves room for the kernel's rounding of the burst.
func (b bucketAt) same(x heddle.Bucket) bool {
	rate := uint64(x.Rate) / 8
	want := float64(tokens(x.Burst, rate))
	return b.rate == rate && b.queue == x.Queue && math.Abs(float64(b.buffer)-want) <= want/100+2
}

func (s *session) bucketOn(index int) (*bucketAt, error) {
	all, err := s.buckets()
	if b, there := all[index]; there {
		return &b, err
	}
	return nil, err
}

// buckets are all filters with our handle, by the index of their link.
func (s *session) buckets() (map[int]bucketAt, error) {
	all, err := list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETQDISC, 0, &nl.TcMsg{Family: unix.AF_UNSPEC})
	}, decodeBucket)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil, nil // a kernel without qdiscs
	}
	found := make(map[int]bucketAt, len(all))
	for _, b := range all {
		found[b.index] = b
	}
	return found, err
}

func decodeBucket(b []byte) (bucketAt, bool) {
	if len(b) < nl.SizeofTcMsg {
		return bucketAt{}, false
	}
	head := nl.DeserializeTcMsg(b)
	at := after(nl.SizeofTcMsg, b)
	if head.Handle != netlink.MakeHandle(heddle.BucketHandle, 0) || head.Parent != netlink.HANDLE_ROOT || text(at.get(nl.TCA_KIND)) != tbfQdisc {
		return bucketAt{}, false
	}
	options := attributes(at.get(nl.TCA_OPTIONS))
	raw := options.get(nl.TCA_TBF_PARMS)
	if len(raw) < nl.SizeofTcTbfQopt {
		return bucketAt{}, false
	}
	parms := nl.DeserializeTcTbfQopt(raw)
	have := bucketAt{index: int(head.Ifindex), rate: uint64(parms.Rate.Rate), buffer: uint64(parms.Buffer), queue: uint64(parms.Limit)}
	if wide := options.get(nl.TCA_TBF_RATE64); len(wide) >= 8 {
		have.rate = nl.NativeEndian().Uint64(wide)
	}
	return have, true
}
