/* SPDX-License-Identifier: GPL-2.0 */
/* VXLAN that arrives: what is taken in, and from whom. */
#ifndef HEDDLE_ARRIVE_H
#define HEDDLE_ARRIVE_H

#include "vxlan.h"

/* same reports whether an address is the one of a peer, or the host's own. */
static __always_inline int same(const __u32 *a, const __u32 *b, const int six)
{
	return a[0] == b[0] && (!six || (a[1] == b[1] && a[2] == b[2] && a[3] == b[3]));
}

/* sent_by reports whether the inner source lies where the outer one is, and the packet
 * came by the interface that leads there. */
static __always_inline int sent_by(const struct packet *p, const struct place *to, const __u32 *outer, __u32 wire, const int six)
{
	struct place *from = find(p->v6, p->src, p->v6 ? 128 : 32);
	if (!from)
		from = find(p->v6, p->src, to->bits);
	if (!from || from->ifindex || from->flags & PLACE_HOST || from->group != to->group)
		return 0;
	__u32 index = from->peer;
	struct peer *peer = bpf_map_lookup_elem(&peers, &index);
	return peer && peer->ifindex && peer->ifindex == wire && peer->six == six && same(peer->addr, outer, six);
}

/* for_host reports whether an outer header is one of UDP to this host, whole and
 * without options. */
static __always_inline int for_host(const void *l3, const struct wire *w, const int six)
{
	if (six) {
		const struct ipv6hdr *ip = l3;
		return ip->version == 6 && ip->nexthdr == IPPROTO_UDP && same((const __u32 *)&ip->daddr, w->local6, 1);
	}
	const struct iphdr *ip = l3;
	return ip->version == 4 && ip->ihl == 5 && ip->protocol == IPPROTO_UDP && ip->daddr == w->local &&
	       !(ip->frag_off & bpf_htons(0xbfff));
}

/* whole reports whether the inner headers can be read where they are: those of IPv4
 * are shorter, and TCP's payload, which would have to be pulled, is often not in the
 * head. What is shorter still is pulled in vain. */
static __always_inline int whole(void *data, void *end, const int six)
{
	struct inside *in = data + INSIDE(six);
	if (data + FRONT(six) + sizeof(struct iphdr) + sizeof(struct tcphdr) > end)
		return 0;
	return in->eth.h_proto == bpf_htons(ETH_P_IP) || data + FRONT(six) + INNER_HEADERS <= end;
}

/* ours tells VXLAN for this host from all else that arrives, of which it reads no
 * more than the kernel would. */
static __always_inline struct ethhdr *ours(struct __sk_buff *skb, const struct wire *w, const int six)
{
	const __u32 outer = INSIDE(six) + sizeof(struct udphdr);
	void *data = start(skb);
	if (data + outer > end_of(skb)) {
		if (skb->len < FRONT(six) || bpf_skb_pull_data(skb, outer))
			return 0;
		data = start(skb);
		if (data + outer > end_of(skb))
			return 0;
	}
	struct inside *in = data + INSIDE(six);
	if (in->udp.dest != w->port || !for_host(data + sizeof(struct ethhdr), w, six))
		return 0;
	if (!whole(data, end_of(skb), six)) {
		__u32 all = FRONT(six) + INNER_HEADERS;
		if (skb->len < FRONT(six) || bpf_skb_pull_data(skb, skb->len < all ? skb->len : all))
			return 0;
		data = start(skb);
		if (data + FRONT(six) > end_of(skb))
			return 0;
	}
	in = data + INSIDE(six);
	if (in->vxlan.flags != VXLAN_FLAGS || in->vxlan.vni != w->vni)
		return 0;
	return data;
}

/* outer is what counts of an outer header. */
struct outer {
	__u32 src[4];
	__u32 len; /* of the inner IP packet, by the header */
	__u16 port; /* that it came from */
	__u8 ecn;
};

static __always_inline void read_outer(const void *l3, struct outer *o, const int six)
{
	if (six) {
		const struct ipv6hdr *ip = l3;
		__builtin_memcpy(o->src, &ip->saddr, sizeof o->src);
		o->len = bpf_ntohs(ip->payload_len) + sizeof *ip - OVERHEAD(1);
		o->ecn = ip->flow_lbl[0] >> 4 & ECN_MASK;
		return;
	}
	const struct iphdr *ip = l3;
	o->src[0] = ip->saddr;
	o->len = bpf_ntohs(ip->tot_len) - OVERHEAD(0);
	o->ecn = ip->tos & ECN_MASK;
}

static __always_inline int arrive(struct __sk_buff *skb, const struct wire *w, const int six)
{
	struct ethhdr *eth = ours(skb, w, six);
	if (!eth)
		return NEXT;
	void *l3 = (void *)eth + FRONT(six);
	struct inside *in = (void *)eth + INSIDE(six);
	struct packet p;
	struct outer o;
	int why = read_ip(l3, end_of(skb), in->eth.h_proto, &p);
	if (why >= 0)
		return missed(0, why);
	/* an ipvlan container of this host sends from the interface's own address */
	if (same_mac(eth->h_source, eth->h_dest) || !same_mac(in->eth.h_dest, w->mac) || in->udp.check)
		return missed(0, REASON_LINK);
	read_outer(eth + 1, &o, six);
	o.port = bpf_ntohs(in->udp.source);
	if (!skb->gso_size && (p.len != skb->len - FRONT(six) || o.len != p.len || bpf_ntohs(in->udp.len) != p.len + sizeof *in))
		return missed(0, REASON_LENGTH);
	struct place *to = find(p.v6, p.dst, p.v6 ? 128 : 32);
	if (!to || !to->ifindex || to->flags & (PLACE_HOST | PLACE_BRIDGED))
		return missed(0, REASON_DESTINATION);
	/* the stack knows which peers use other ports */
	if ((__u16)(o.port - SOURCE_LOW) >= SOURCES || !sent_by(&p, to, o.src, skb->ifindex, six))
		return missed(to->slot, REASON_PEER);
	if (!fits(skb, &p, to->mtu))
		return missed(to->slot, REASON_MTU);
	if (p.ttl <= 1)
		return missed(to->slot, REASON_TTL);
	__u8 inner = p.tos & ECN_MASK;
	if ((o.ecn == ECN_CE && !inner) || (o.ecn == ECN_ECT_1 && inner == ECN_ECT_0))
		return missed(to->slot, REASON_ECN);
	if (skb->gso_size) {
		__u8 *known = bpf_map_lookup_elem(&forwards, &to->slot);
		if (known && *known)
			return missed(to->slot, REASON_FORWARDED);
	}
	why = strip(skb, to->slot, p.v6, six);
	if (why >= 0)
		return missed(to->slot, why);
	eth = start(skb);
	if ((void *)(eth + 1) + sizeof(struct iphdr) > end_of(skb))
		return TC_ACT_SHOT;
	address(eth, to);
	eth->h_proto = p.v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (o.ecn == ECN_CE)
		ce(eth + 1, p.v6);
	age(eth + 1, p.v6);
	if (p.v6)
		resum6(skb, o.ecn == ECN_CE ? ECN_CE - inner : 0);
	carried(to->slot, PATH_RECEIVED, skb->len - sizeof *eth);
	return bpf_redirect_peer(to->ifindex, 0);
}

#endif
