/* SPDX-License-Identifier: GPL-2.0 */
/* Who asks for the MAC address of a neighbour, and who answers (RFC 826, RFC 4861), on
 * one bridge: a frame whose addresses are the sender's own goes straight to the one whom
 * it is about. The rest of it is as free as on the stack's way. */
#ifndef HEDDLE_NEIGHBOUR_H
#define HEDDLE_NEIGHBOUR_H

#include "packet.h"

/* linux/if_arp.h needs a C library. */
#define ARP_ETHERNET 1
#define ARP_REQUEST 1
#define ARP_REPLY 2

#define ND_SOLICITATION 135
#define ND_ADVERTISEMENT 136
#define ND_SOURCE_MAC 1 /* options: the sender's MAC address, and the target's */
#define ND_TARGET_MAC 2

struct arp {
	__u16 hardware, protocol;
	__u8 hardware_len, protocol_len;
	__u16 operation;
	__u8 sender_mac[ETH_LEN];
	__u32 sender;
	__u8 target_mac[ETH_LEN];
	__u32 target;
} __attribute__((packed));

struct nd {
	struct ipv6hdr ip;
	__u8 type, code;
	__u16 sum;
	__u32 flags;
	__u32 target[4];
};

struct nd_mac {
	__u8 type, units; /* of eight bytes */
	__u8 mac[ETH_LEN];
};

/* asker is the place that a frame comes from, if that is what it says. */
static __always_inline struct place *asker(struct __sk_buff *skb, const struct ethhdr *eth, int v6, const __u32 *addr)
{
	struct place *from = find(v6, addr, v6 ? 128 : 32);
	if (!from || from->ifindex != skb->ifindex || !(from->flags & PLACE_BRIDGED) || !same_mac(eth->h_source, from->mac))
		return 0;
	return from;
}

/* hand hands a frame over to another container of the bridge; one to all, which asks
 * for it, is addressed to it. */
static __always_inline int hand(struct __sk_buff *skb, const struct place *from, int v6, const __u32 *addr, int to_all)
{
	struct place *to = find(v6, addr, v6 ? 128 : 32);
	struct ethhdr *eth = start(skb);
	if (!to || !to->ifindex || to->ifindex == from->ifindex || to->group != from->group || !(to->flags & PLACE_BRIDGED) ||
	    skb->len - sizeof *eth > to->mtu || (void *)(eth + 1) > end_of(skb))
		return NEXT;
	if (to_all)
		copy_mac(eth->h_dest, to->mac);
	else if (!same_mac(eth->h_dest, to->mac))
		return NEXT;
	bpf_skb_change_type(skb, PACKET_HOST);
	carried(from->slot, PATH_LOCAL, skb->len - sizeof *eth);
	return bpf_redirect_peer(to->ifindex, 0);
}

static __always_inline int hand_arp(struct __sk_buff *skb, struct ethhdr *eth)
{
	struct arp *a = (void *)(eth + 1);
	if ((void *)(a + 1) > end_of(skb) || a->hardware != bpf_htons(ARP_ETHERNET) || a->protocol != bpf_htons(ETH_P_IP) ||
	    a->hardware_len != ETH_LEN || a->protocol_len != sizeof a->sender)
		return NEXT;
	int asks = a->operation == bpf_htons(ARP_REQUEST);
	if (!asks && a->operation != bpf_htons(ARP_REPLY))
		return NEXT;
	__u32 sender = a->sender, target = a->target;
	struct place *from = asker(skb, eth, 0, &sender);
	if (!from || !same_mac(a->sender_mac, from->mac))
		return NEXT;
	int to_all = *(__u32 *)eth->h_dest == 0xffffffff && *(__u16 *)(eth->h_dest + 4) == 0xffff;
	return hand(skb, from, 0, &target, to_all && asks);
}

static __always_inline int hand_nd(struct __sk_buff *skb, struct ethhdr *eth)
{
	struct nd *n = (void *)(eth + 1);
	void *end = end_of(skb);
	if ((void *)(n + 1) > end || n->ip.version != 6 || n->ip.nexthdr != IPPROTO_ICMPV6 || n->ip.hop_limit != 255 || n->code ||
	    skb->len != sizeof *eth + sizeof n->ip + bpf_ntohs(n->ip.payload_len))
		return NEXT;
	int asks = n->type == ND_SOLICITATION;
	if (!asks && n->type != ND_ADVERTISEMENT)
		return NEXT;
	__u32 src[4], about[4], target[4];
	__builtin_memcpy(src, &n->ip.saddr, sizeof src);
	__builtin_memcpy(target, n->target, sizeof target);
	__builtin_memcpy(about, asks ? (void *)n->target : (void *)&n->ip.daddr, sizeof about);
	struct place *from = asker(skb, eth, 1, src);
	if (!from)
		return NEXT;
	/* who answers does so for the address that it answers from */
	if (!asks && (src[0] != target[0] || src[1] != target[1] || src[2] != target[2] || src[3] != target[3]))
		return NEXT;
	if (skb->len != sizeof *eth + sizeof *n) {
		struct nd_mac *o = (void *)(n + 1);
		if ((void *)(o + 1) > end || skb->len != sizeof *eth + sizeof *n + sizeof *o || o->units != 1 ||
		    o->type != (asks ? ND_SOURCE_MAC : ND_TARGET_MAC) || !same_mac(o->mac, from->mac))
			return NEXT;
	}
	int to_all = *(__u16 *)eth->h_dest == bpf_htons(0x3333) && eth->h_dest[2] == 0xff;
	return hand(skb, from, 1, about, to_all && asks);
}

/* neighbour hands over what asks for a neighbour's MAC address, or answers. */
static __always_inline int neighbour(struct __sk_buff *skb, struct ethhdr *eth)
{
	if (skb->gso_size)
		return NEXT;
	if (eth->h_proto == bpf_htons(ETH_P_ARP))
		return hand_arp(skb, eth);
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return hand_nd(skb, eth);
	return NEXT;
}

#endif
