package commands

import (
	"fmt"

	"github.com/heddle-network/heddle"
)

// bucket writes the qdisc. Sizes are in bytes.
func (w writer) bucket(b heddle.Bucket) []string {
	return []string{w.command("tc", "qdisc replace dev %s root handle %x: tbf rate %s burst %d limit %d mpu %d",
		b.Link, heddle.BucketHandle, b.Rate, b.Burst, b.Queue, heddle.LeastCounted)}
}

// divert writes a filter for all frames: any four bytes of the Ethernet header, which also the shortest has. The device is up before it.
func (w writer) divert(d heddle.Divert) []string {
	return []string{
		w.ip("link set %s up", d.To),
		// one that is there stays
		fmt.Sprintf("%s 2>/dev/null || true", w.command("tc", "qdisc add dev %s ingress", d.Link)),
		w.command("tc", "filter add dev %s parent ffff: protocol all prio %d u32 match u32 0 0 at -12 action mirred egress redirect dev %s", d.Link, heddle.DivertPriority, d.To),
	}
}

func (r remover) bucket(b heddle.Bucket) string {
	return r.command("tc", "qdisc del dev %s root", b.Link)
}

func (r remover) divert(d heddle.Divert) string {
	return r.command("tc", "filter del dev %s parent ffff: protocol all prio %d", d.Link, heddle.DivertPriority)
}
