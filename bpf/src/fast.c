// SPDX-License-Identifier: GPL-2.0
/* The fast path: it carries what it knows for certain, and leaves all else to the
 * slow path by returning NEXT, with the packet as it was.
 *
 *	from_port  ingress of an endpoint's host end: what the container sends
 *	from_wire  ingress of the underlay's interface: VXLAN from peers
 */
#include "arrive.h"
#include "neighbour.h"

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
	if (!peer || !peer->ifindex)
		return missed(from->slot, REASON_DESTINATION);
	if (!fits(skb, p, peer->mtu) || skb->len > 65535 - OVERHEAD(1))
		return missed(from->slot, REASON_MTU);
	enum way_known way = next_hop(skb, peer);
	if (way == WAY_NONE)
		return missed(from->slot, REASON_NEIGHBOUR);
	if (peer->six)
		return send(skb, p, peer, from->slot, way, 1);
	return send(skb, p, peer, from->slot, way, 0);
}

SEC("tc")
int from_port(struct __sk_buff *skb)
{
	struct packet p;
	struct ethhdr *eth = start(skb);
	void *end = end_of(skb);
	if ((void *)(eth + 1) > end || skb->vlan_present)
		return missed(0, REASON_LINK);
	int handed = neighbour(skb, eth);
	if (handed != NEXT)
		return handed;
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
		if ((skb->tc_index & FORWARDED_MASK) == FORWARDED) {
			/* this one is lost, and those that follow come by the stack, to the
			 * endpoint that it came to: the container may have others */
			__u32 by = skb->tc_index & ~FORWARDED_MASK;
			__u8 *known = bpf_map_lookup_elem(&forwards, &by);
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
	if (to->ifindex == from->ifindex)
		return missed(from->slot, REASON_DESTINATION);
	if (to->ifindex)
		return deliver(skb, &p, from, to);
	return dispatch(skb, &p, from, to);
}

SEC("tc")
int from_wire(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct wire *w = bpf_map_lookup_elem(&wires, &zero);
	if (!w || skb->pkt_type != PACKET_HOST || skb->vlan_present)
		return NEXT;
	if (skb->protocol == bpf_htons(ETH_P_IP) && w->local)
		return arrive(skb, w, 0);
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && w->local6[0])
		return arrive(skb, w, 1);
	return NEXT;
}

char _license[] SEC("license") = "GPL";
