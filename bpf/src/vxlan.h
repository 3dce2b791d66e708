/* SPDX-License-Identifier: GPL-2.0 */
/* VXLAN (RFC 7348) over IPv4 and IPv6, bit for bit as the kernel's device writes it. */
#ifndef HEDDLE_VXLAN_H
#define HEDDLE_VXLAN_H

#include "packet.h"

struct vxlan {
	__u32 flags;
	__u32 vni;
};

/* inside is what stands between the outer IP header and the inner IP packet. */
struct inside {
	struct udphdr udp;
	struct vxlan vxlan;
	struct ethhdr eth;
} __attribute__((packed));

/* tunnel4 and tunnel6 are what is in front of the inner IP packet. */
struct tunnel4 {
	struct ethhdr eth;
	struct iphdr ip;
	struct inside in;
} __attribute__((packed));

struct tunnel6 {
	struct ethhdr eth;
	struct ipv6hdr ip;
	struct inside in;
} __attribute__((packed));

#define INSIDE(six) (sizeof(struct ethhdr) + ((six) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)))
#define FRONT(six) ((six) ? sizeof(struct tunnel6) : sizeof(struct tunnel4))
#define OVERHEAD(six) (FRONT(six) - sizeof(struct ethhdr))
#define VXLAN_FLAGS bpf_htonl(0x08000000)
#define INNER_HEADERS (sizeof(struct ipv6hdr) + sizeof(struct tcphdr))
#define OUTER_TTL 64
/* Source ports that tunnels send from: heddle.TunnelSourceLow. */
#define SOURCE_LOW 512
#define SOURCES 512
#define ASK_AFTER 1000000000ULL /* ns; sooner if the answer was that there is no way */
#define ASK_AGAIN_AFTER 50000000ULL

/* FORWARDED marks an aggregate that came by a tunnel (skb->tc_index), with the slot of
 * the endpoint that it came to: the kernel cannot be told that it is in a tunnel no
 * more, and would cut it up wrongly. */
#define FORWARDED 0x6000
#define FORWARDED_MASK 0xe000
_Static_assert(SLOTS <= (FORWARDED_MASK ^ 0xffff) + 1, "a slot fits beside the mark");

#ifndef BPF_F_ADJ_ROOM_DECAP_L3_IPV6 /* since Linux 6.4 */
#define BPF_F_ADJ_ROOM_DECAP_L3_IPV4 (1ULL << 7)
#define BPF_F_ADJ_ROOM_DECAP_L3_IPV6 (1ULL << 8)
#endif

/* What is known of the way to a peer. */
enum way_known {
	WAY_NONE,
	WAY_KNOWN,
	WAY_ASKED, /* just now: the packet has the kernel look after the neighbour */
};

/* next_hop asks the kernel for the MAC addresses on the way to a peer, once a
 * second. */
static __always_inline enum way_known next_hop(struct __sk_buff *skb, struct peer *peer)
{
	__u64 now = bpf_ktime_get_coarse_ns();
	if (now - peer->asked <= (peer->next_mac ? ASK_AFTER : ASK_AGAIN_AFTER))
		return peer->next_mac ? WAY_KNOWN : WAY_NONE;
	peer->asked = now;
	struct bpf_fib_lookup way = {
		.l4_protocol = IPPROTO_UDP,
		.ifindex = peer->ifindex,
	};
	if (peer->six) {
		way.family = 10; /* AF_INET6 */
		__builtin_memcpy(way.ipv6_src, peer->local, sizeof peer->local);
		__builtin_memcpy(way.ipv6_dst, peer->addr, sizeof peer->addr);
	} else {
		way.family = 2; /* AF_INET */
		way.ipv4_src = peer->local[0];
		way.ipv4_dst = peer->addr[0];
	}
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
	return next ? WAY_ASKED : WAY_NONE;
}

/* outer4 and outer6 write an outer IP header for len bytes of inner IP packet. */
static __always_inline void outer4(struct iphdr *ip, const struct peer *peer, __u32 len, __u8 ecn, __u32 hash)
{
	__u16 id = hash ^ bpf_ktime_get_coarse_ns();
	__u32 sum = peer->sum;
	*ip = (struct iphdr){.version = 4, .ihl = 5, .tos = ecn, .id = id, .ttl = OUTER_TTL, .protocol = IPPROTO_UDP,
			     .saddr = peer->local[0], .daddr = peer->addr[0]};
	ip->tot_len = bpf_htons(len + OVERHEAD(0));
	sum += (__u32)ip->tot_len + id + bpf_htons(ecn);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = ~sum;
}

static __always_inline void outer6(struct ipv6hdr *ip, const struct peer *peer, __u32 len, __u8 ecn)
{
	*(__u32 *)ip = bpf_htonl(6 << 28 | (__u32)ecn << 20);
	ip->payload_len = bpf_htons(len + OVERHEAD(1) - sizeof *ip);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = OUTER_TTL;
	__builtin_memcpy(&ip->saddr, peer->local, sizeof peer->local);
	__builtin_memcpy(&ip->daddr, peer->addr, sizeof peer->addr);
}

/* send puts the headers in front, and the packet on the wire. */
static __always_inline int send(struct __sk_buff *skb, const struct packet *p, const struct peer *peer, __u32 slot, enum way_known way, const int six)
{
	__u32 len = skb->len - sizeof(struct ethhdr);
	__u32 hash = bpf_get_hash_recalc(skb);
	__u8 ecn = p->tos & ECN_MASK;
	if (ecn == ECN_CE)
		ecn = ECN_ECT_0; /* RFC 3168, section 9.1.1, as ip_tunnel_ecn_encap */
	if (bpf_skb_adjust_room(skb, OVERHEAD(six), BPF_ADJ_ROOM_MAC,
				BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET |
				(six ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4) | BPF_F_ADJ_ROOM_ENCAP_L4_UDP |
				BPF_F_ADJ_ROOM_ENCAP_L2(sizeof(struct ethhdr)) | BPF_F_ADJ_ROOM_ENCAP_L2_ETH))
		return missed(slot, REASON_KERNEL);
	void *data = start(skb), *end = end_of(skb), *l3 = data + FRONT(six);
	if (l3 + sizeof(struct ipv6hdr) > end && (p->v6 || l3 + sizeof(struct iphdr) > end))
		return TC_ACT_SHOT; /* cannot be: they were read before */
	struct ethhdr *eth = data;
	__u64 next = peer->next_mac, own = peer->own_mac;
	__builtin_memcpy(eth->h_dest, &next, ETH_LEN);
	__builtin_memcpy(eth->h_source, &own, ETH_LEN);
	eth->h_proto = six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	if (six)
		outer6((void *)(eth + 1), peer, len, ecn);
	else
		outer4((void *)(eth + 1), peer, len, ecn, hash);
	struct inside *in = data + INSIDE(six);
	in->udp.source = bpf_htons(SOURCE_LOW + ((hash ^ hash >> 16) & (SOURCES - 1)));
	in->udp.dest = peer->port;
	in->udp.len = bpf_htons(len + sizeof *in);
	in->udp.check = 0; /* over IPv6, too: RFC 6935 */
	in->vxlan.flags = VXLAN_FLAGS;
	in->vxlan.vni = peer->vni;
	copy_mac(in->eth.h_dest, peer->inner_dst);
	copy_mac(in->eth.h_source, peer->inner_src);
	in->eth.h_proto = p->v6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	age(l3, p->v6);
	carried(slot, PATH_SENT, len);
	/* once a second the kernel's neighbour code puts the packet on the wire, which
	 * keeps it probing as for packets of its own */
	if (way == WAY_ASKED)
		return bpf_redirect_neigh(peer->ifindex, 0, 0, 0);
	return bpf_redirect(peer->ifindex, 0);
}

/* strip takes the headers of a packet for an endpoint away; it returns a reason or -1. */
static __always_inline int strip(struct __sk_buff *skb, __u32 slot, int v6, const int six)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET;
	if (!six && v6)
		flags |= BPF_F_ADJ_ROOM_DECAP_L3_IPV6;
	if (six && !v6)
		flags |= BPF_F_ADJ_ROOM_DECAP_L3_IPV4;
	if (bpf_skb_adjust_room(skb, -(__s32)OVERHEAD(six), BPF_ADJ_ROOM_MAC, flags))
		return REASON_KERNEL;
	bpf_csum_level(skb, BPF_CSUM_LEVEL_DEC);
	skb->queue_mapping = 0;
	if (skb->gso_size)
		skb->tc_index = FORWARDED | slot;
	return -1;
}

#endif
