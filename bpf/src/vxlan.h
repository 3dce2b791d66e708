/* SPDX-License-Identifier: GPL-2.0 */
/* VXLAN (RFC 7348) over IPv4, bit for bit as the kernel's device writes it. */
#ifndef HEDDLE_VXLAN_H
#define HEDDLE_VXLAN_H

#include "packet.h"

struct vxlan {
	__u32 flags;
	__u32 vni;
};

/* tunnel is what is in front of the inner IP packet. */
struct tunnel {
	struct ethhdr eth;
	struct iphdr ip;
	struct udphdr udp;
	struct vxlan vxlan;
	struct ethhdr inner;
} __attribute__((packed));

#define OVERHEAD (sizeof(struct tunnel) - sizeof(struct ethhdr))
#define VXLAN_FLAGS bpf_htonl(0x08000000)
#define INNER_HEADERS (sizeof(struct ipv6hdr) + sizeof(struct tcphdr))
#define OUTER_TTL 64
#define ASK_AFTER 1000000000ULL /* ns */

/* FORWARDED marks an aggregate that came by a tunnel (skb->tc_index): the kernel
 * cannot be told that it is in a tunnel no more, and would cut it up wrongly. */
#define FORWARDED 0x6864

#ifndef BPF_F_ADJ_ROOM_DECAP_L3_IPV6
#define BPF_F_ADJ_ROOM_DECAP_L3_IPV6 (1ULL << 8) /* since Linux 6.4 */
#endif

/* next_hop asks the kernel for the MAC addresses on the way to a peer, at most once
 * a second; the packet that asks is left to the slow path, which probes neighbours
 * that have not been heard of. */
static __always_inline int next_hop(struct __sk_buff *skb, struct peer *peer)
{
	__u64 now = bpf_ktime_get_coarse_ns();
	if (now - peer->asked <= ASK_AFTER)
		return peer->next_mac != 0;
	peer->asked = now;
	struct bpf_fib_lookup way = {
		.family = 2, /* AF_INET */
		.l4_protocol = IPPROTO_UDP,
		.ifindex = peer->ifindex,
		.ipv4_src = peer->local,
		.ipv4_dst = peer->addr,
	};
	long found = bpf_fib_lookup(skb, &way, sizeof way, BPF_FIB_LOOKUP_OUTPUT);
	__u64 next = 0, own = 0;
	if (found == BPF_FIB_LKUP_RET_SUCCESS && way.ifindex == peer->ifindex) {
		__builtin_memcpy(&next, way.dmac, ETH_LEN);
		__builtin_memcpy(&own, way.smac, ETH_LEN);
	}
	if (peer->own_mac != own)
		peer->own_mac = own;
	if (peer->next_mac != next)
		peer->next_mac = next;
	return 0;
}

/* send puts the headers in front, and the packet on the wire. */
static __always_inline int send(struct __sk_buff *skb, const struct packet *p, const struct peer *peer, __u32 slot)
{
	__u32 len = skb->len - sizeof(struct ethhdr);
	__u32 hash = bpf_get_hash_recalc(skb);
	__u8 ecn = p->tos & ECN_MASK;
	if (ecn == ECN_CE)
		ecn = ECN_ECT_0; /* RFC 3168, section 9.1.1, as ip_tunnel_ecn_encap */
	if (bpf_skb_adjust_room(skb, OVERHEAD, BPF_ADJ_ROOM_MAC,
				BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET |
				BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |
				BPF_F_ADJ_ROOM_ENCAP_L2(sizeof(struct ethhdr)) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH))
		return missed(slot, REASON_KERNEL);
	void *data = start(skb), *end = end_of(skb);
	struct tunnel *t = data;
	if ((void *)(t + 1) + sizeof(struct ipv6hdr) > end && (p->v6 || (void *)(t + 1) + sizeof(struct iphdr) > end))
		return TC_ACT_SHOT; /* cannot be: they were read before */
	__u64 next = peer->next_mac, own = peer->own_mac;
	__builtin_memcpy(t->eth.h_dest, &next, ETH_LEN);
	__builtin_memcpy(t->eth.h_source, &own, ETH_LEN);
	t->eth.h_proto = bpf_htons(ETH_P_IP);
	__u16 id = hash ^ bpf_ktime_get_coarse_ns();
	__u32 sum = peer->sum;
	t->ip = (struct iphdr){.version = 4, .ihl = 5, .tos = ecn, .id = id, .ttl = OUTER_TTL, .protocol = IPPROTO_UDP,
			       .saddr = peer->local, .daddr = peer->addr};
	t->ip.tot_len = bpf_htons(len + OVERHEAD);
	sum += (__u32)t->ip.tot_len + id + bpf_htons(ecn);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	t->ip.check = ~sum;
	t->udp.source = bpf_htons(32768 + ((hash ^ hash >> 16) & 0x3fff));
	t->udp.dest = peer->port;
	t->udp.len = bpf_htons(len + OVERHEAD - sizeof(struct iphdr));
	t->udp.check = 0;
	t->vxlan.flags = VXLAN_FLAGS;
	t->vxlan.vni = peer->vni;
	copy_mac(t->inner.h_dest, peer->inner_dst);
	copy_mac(t->inner.h_source, peer->inner_src);
	t->inner.h_proto = p->v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	age(t + 1, p->v6);
	carried(slot, PATH_SENT, len);
	return bpf_redirect(peer->ifindex, 0);
}

/* strip takes the headers away; it returns a reason or -1. */
static __always_inline int strip(struct __sk_buff *skb, int v6)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET;
	if (v6)
		flags |= BPF_F_ADJ_ROOM_DECAP_L3_IPV6;
	if (bpf_skb_adjust_room(skb, -(__s32)OVERHEAD, BPF_ADJ_ROOM_MAC, flags))
		return REASON_KERNEL;
	bpf_csum_level(skb, BPF_CSUM_LEVEL_DEC);
	skb->queue_mapping = 0;
	if (skb->gso_size)
		skb->tc_index = FORWARDED;
	return -1;
}

#endif
