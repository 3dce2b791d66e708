// SPDX-License-Identifier: GPL-2.0
/* The fast path: it carries what it knows for certain, and leaves all else to the
 * slow path by returning NEXT, with the packet as it was.
 *
 *	from_port  ingress of an endpoint's host end: what the container sends
 *	from_wire  ingress of the underlay's interface: VXLAN from peers
 */
#include "vxlan.h"

static __always_inline void address(struct ethhdr *eth, const struct place *to)
{
	copy_mac(eth->h_dest, to->mac);
	copy_mac(eth->h_source, to->port_mac);
}

/* deliver hands a packet over into a container of this host. */
static __always_inline int deliver(struct __sk_buff *skb, const struct packet *p, const struct place *from, const struct place *to)
{
	struct ethhdr *eth = start(skb);
	if ((void *)(eth + 1) + sizeof(struct iphdr) > end_of(skb))
		return NEXT;
	if (!fits(skb, p, to->mtu))
		return missed(from->slot, REASON_MTU);
	if (from->flags & PLACE_BRIDGED) {
		if (!same_mac(eth->h_dest, to->mac))
			return missed(from->slot, REASON_LINK);
		bpf_skb_change_type(skb, PACKET_HOST);
	} else {
		if (!same_mac(eth->h_dest, from->port_mac))
			return missed(from->slot, REASON_LINK);
		if (p->ttl <= 1)
			return missed(from->slot, REASON_TTL);
		age(eth + 1, p->v6);
		address(eth, to);
	}
	carried(from->slot, PATH_LOCAL, skb->len - sizeof *eth);
	return bpf_redirect_peer(to->ifindex, 0);
}

/* dispatch sends a packet to the peer that has its destination. */
static __always_inline int dispatch(struct __sk_buff *skb, const struct packet *p, const struct place *from, const struct place *to)
{
	struct ethhdr *eth = start(skb);
	if ((void *)(eth + 1) > end_of(skb))
		return NEXT;
	if (!same_mac(eth->h_dest, from->port_mac))
		return missed(from->slot, REASON_LINK);
	if (p->ttl <= 1)
		return missed(from->slot, REASON_TTL);
	__u32 index = to->peer;
	struct peer *peer = bpf_map_lookup_elem(&peers, &index);
	if (!peer || !peer->addr)
		return missed(from->slot, REASON_DESTINATION);
	if (!fits(skb, p, peer->mtu) || skb->len > 65535 - OVERHEAD)
		return missed(from->slot, REASON_MTU);
	if (!next_hop(skb, peer))
		return missed(from->slot, REASON_NEIGHBOUR);
	return send(skb, p, peer, from->slot);
}

SEC("tc")
int from_port(struct __sk_buff *skb)
{
	struct packet p;
	struct ethhdr *eth = start(skb);
	void *end = end_of(skb);
	if ((void *)(eth + 1) > end || skb->vlan_present)
		return missed(0, REASON_LINK);
	int why = read_ip(eth + 1, end, eth->h_proto, &p);
	if (why == REASON_LENGTH && !bpf_skb_pull_data(skb, skb->len < sizeof *eth + INNER_HEADERS ? skb->len : sizeof *eth + INNER_HEADERS)) {
		eth = start(skb);
		end = end_of(skb);
		if ((void *)(eth + 1) > end)
			return NEXT;
		why = read_ip(eth + 1, end, eth->h_proto, &p);
	}
	if (why >= 0)
		return missed(0, why);
	struct place *from = find(p.v6, p.src, p.v6 ? 128 : 32);
	if (!from || from->ifindex != skb->ifindex || !same_mac(eth->h_source, from->mac))
		return missed(0, REASON_SOURCE);
	if (skb->gso_size) {
		if (skb->tc_index == FORWARDED) {
			/* this one is lost, and those that follow come by the stack */
			__u8 *known = bpf_map_lookup_elem(&forwards, &from->slot);
			if (known)
				*known = 1;
			missed(from->slot, REASON_FORWARDED);
			return TC_ACT_SHOT;
		}
	} else if (p.len != skb->len - sizeof *eth) {
		return missed(from->slot, REASON_LENGTH);
	}
	struct place *to = find(p.v6, p.dst, p.v6 ? 128 : 32);
	if (!to)
		to = find(p.v6, p.dst, from->bits);
	if (!to || to->flags & PLACE_HOST)
		return missed(from->slot, REASON_DESTINATION);
	if (to->group != from->group)
		return missed(from->slot, REASON_NETWORK);
	if (to->ifindex)
		return deliver(skb, &p, from, to);
	return dispatch(skb, &p, from, to);
}

/* sent_by reports whether the address lies where the outer source is. */
static __always_inline int sent_by(const struct packet *p, const struct place *to, __u32 outer)
{
	struct place *from = find(p->v6, p->src, p->v6 ? 128 : 32);
	if (!from)
		from = find(p->v6, p->src, to->bits);
	if (!from || from->ifindex || from->flags & PLACE_HOST || from->group != to->group)
		return 0;
	__u32 index = from->peer;
	struct peer *peer = bpf_map_lookup_elem(&peers, &index);
	return peer && peer->addr == outer;
}

/* ours tells VXLAN for this host from all else that arrives, of which it reads no
 * more than the kernel would. */
static __always_inline struct tunnel *ours(struct __sk_buff *skb, const struct wire *w)
{
	const __u32 outer = offsetof(struct tunnel, vxlan);
	struct tunnel *t = start(skb);
	if ((void *)t + outer > end_of(skb)) {
		if (skb->len < sizeof *t || bpf_skb_pull_data(skb, outer))
			return 0;
		t = start(skb);
		if ((void *)t + outer > end_of(skb))
			return 0;
	}
	if (t->ip.protocol != IPPROTO_UDP || t->udp.dest != w->port || t->ip.daddr != w->local ||
	    t->ip.version != 4 || t->ip.ihl != 5 || t->ip.frag_off & bpf_htons(0xbfff))
		return 0;
	if ((void *)(t + 1) + INNER_HEADERS > end_of(skb)) {
		__u32 all = sizeof *t + INNER_HEADERS;
		if (skb->len < sizeof *t || bpf_skb_pull_data(skb, skb->len < all ? skb->len : all))
			return 0;
		t = start(skb);
		if ((void *)(t + 1) > end_of(skb))
			return 0;
	}
	if (t->vxlan.flags != VXLAN_FLAGS || t->vxlan.vni != w->vni)
		return 0;
	return t;
}

SEC("tc")
int from_wire(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct wire *w = bpf_map_lookup_elem(&wires, &zero);
	if (!w || skb->protocol != bpf_htons(ETH_P_IP) || skb->pkt_type != PACKET_HOST || skb->vlan_present)
		return NEXT;
	struct tunnel *t = ours(skb, w);
	if (!t)
		return NEXT;
	struct packet p;
	int why = read_ip(t + 1, end_of(skb), t->inner.h_proto, &p);
	if (why >= 0)
		return missed(0, why);
	if (!same_mac(t->inner.h_dest, w->mac) || t->udp.check)
		return missed(0, REASON_LINK);
	if (!skb->gso_size && (p.len != skb->len - sizeof *t || bpf_ntohs(t->ip.tot_len) != p.len + OVERHEAD ||
			       bpf_ntohs(t->udp.len) != p.len + OVERHEAD - sizeof(struct iphdr)))
		return missed(0, REASON_LENGTH);
	struct place *to = find(p.v6, p.dst, p.v6 ? 128 : 32);
	if (!to || !to->ifindex || to->flags & (PLACE_HOST | PLACE_BRIDGED))
		return missed(0, REASON_DESTINATION);
	if (!sent_by(&p, to, t->ip.saddr))
		return missed(to->slot, REASON_PEER);
	if (!fits(skb, &p, to->mtu))
		return missed(to->slot, REASON_MTU);
	if (p.ttl <= 1)
		return missed(to->slot, REASON_TTL);
	__u8 outer = t->ip.tos & ECN_MASK, inner = p.tos & ECN_MASK;
	if ((outer == ECN_CE && !inner) || (outer == ECN_ECT_1 && inner == ECN_ECT_0))
		return missed(to->slot, REASON_ECN);
	if (skb->gso_size) {
		__u8 *known = bpf_map_lookup_elem(&forwards, &to->slot);
		if (known && *known)
			return missed(to->slot, REASON_FORWARDED);
	}
	why = strip(skb, p.v6);
	if (why >= 0)
		return missed(to->slot, why);
	struct ethhdr *eth = start(skb);
	if ((void *)(eth + 1) + sizeof(struct iphdr) > end_of(skb))
		return TC_ACT_SHOT;
	address(eth, to);
	eth->h_proto = p.v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (outer == ECN_CE)
		ce(eth + 1, p.v6);
	age(eth + 1, p.v6);
	if (p.v6)
		resum6(skb, outer == ECN_CE ? ECN_CE - inner : 0);
	carried(to->slot, PATH_RECEIVED, skb->len - sizeof *eth);
	return bpf_redirect_peer(to->ifindex, 0);
}

char _license[] SEC("license") = "GPL";
