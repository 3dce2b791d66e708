/* SPDX-License-Identifier: GPL-2.0 */
/* Reading and changing headers. */
#ifndef HEDDLE_PACKET_H
#define HEDDLE_PACKET_H

#include <stddef.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "maps.h"

#define NEXT TC_ACT_UNSPEC /* leave the packet to whoever comes next */

/* Echo requests and replies (RFC 792, RFC 4443); linux/icmp.h needs a C library. */
#define ICMP_ECHO 8
#define ICMP_ECHOREPLY 0
#define ICMPV6_ECHO_REQUEST 128
#define ICMPV6_ECHO_REPLY 129

#define ECN_MASK 3
#define ECN_ECT_1 1
#define ECN_ECT_0 2
#define ECN_CE 3

/* start and end_of read the packet's bounds; the compiler would cut a pointer that it
 * takes for 32 bits, which the verifier refuses. */
static __always_inline void *start(struct __sk_buff *skb)
{
	void *p;
	asm volatile("%0 = *(u32 *)(%1 + %2)" : "=r"(p) : "r"(skb), "i"(offsetof(struct __sk_buff, data)));
	return p;
}

static __always_inline void *end_of(struct __sk_buff *skb)
{
	void *p;
	asm volatile("%0 = *(u32 *)(%1 + %2)" : "=r"(p) : "r"(skb), "i"(offsetof(struct __sk_buff, data_end)));
	return p;
}

/* packet is what the programs look at. */
struct packet {
	__u32 src[4], dst[4]; /* IPv4: the first word */
	__u32 len;            /* of the IP packet, by its header */
	__u32 headers;        /* bytes of IP and transport headers */
	__u8 v6;
	__u8 ttl;
	__u8 tos;
};

static __always_inline int same_mac(const __u8 *a, const __u8 *b)
{
	return *(__u32 *)a == *(__u32 *)b && *(__u16 *)(a + 4) == *(__u16 *)(b + 4);
}

static __always_inline void copy_mac(__u8 *to, const __u8 *from)
{
	*(__u32 *)to = *(__u32 *)from;
	*(__u16 *)(to + 4) = *(__u16 *)(from + 4);
}

/* address writes the MAC addresses of a place. */
static __always_inline void address(struct ethhdr *eth, const struct place *to)
{
	copy_mac(eth->h_dest, to->mac);
	copy_mac(eth->h_source, to->port_mac);
}

/* transport accepts TCP, UDP but DHCP, and echoes; it returns a reason or -1. */
static __always_inline int transport(void *l4, void *end, __u8 protocol, struct packet *p)
{
	if (protocol == IPPROTO_TCP) {
		struct tcphdr *t = l4;
		if ((void *)(t + 1) > end)
			return REASON_LENGTH;
		p->headers += t->doff * 4;
		return -1;
	}
	if (l4 + 8 > end)
		return REASON_LENGTH;
	p->headers += 8;
	if (protocol == IPPROTO_UDP) {
		struct udphdr *u = l4;
		__u16 port = bpf_ntohs(u->dest);
		if (port == 67 || port == 68 || port == 546 || port == 547)
			return REASON_PROTOCOL;
		return -1;
	}
	__u8 type = *(__u8 *)l4;
	if (protocol == IPPROTO_ICMP && (type == ICMP_ECHO || type == ICMP_ECHOREPLY))
		return -1;
	if (protocol == IPPROTO_ICMPV6 && (type == ICMPV6_ECHO_REQUEST || type == ICMPV6_ECHO_REPLY))
		return -1;
	return REASON_PROTOCOL;
}

/* read4 and read6 read an IP packet at l3; they return a reason or -1. */
static __always_inline int read4(void *l3, void *end, struct packet *p)
{
	struct iphdr *ip = l3;
	if ((void *)(ip + 1) > end)
		return REASON_LENGTH;
	if (ip->version != 4 || ip->ihl != 5)
		return REASON_OPTIONS;
	if (ip->frag_off & bpf_htons(0x3fff | 0x8000))
		return REASON_FRAGMENT;
	if (ip->protocol == IPPROTO_ICMPV6)
		return REASON_PROTOCOL;
	p->v6 = 0;
	p->src[0] = ip->saddr;
	p->dst[0] = ip->daddr;
	p->len = bpf_ntohs(ip->tot_len);
	p->headers = sizeof *ip;
	p->ttl = ip->ttl;
	p->tos = ip->tos;
	return transport(ip + 1, end, ip->protocol, p);
}

static __always_inline int read6(void *l3, void *end, struct packet *p)
{
	struct ipv6hdr *ip = l3;
	if ((void *)(ip + 1) > end)
		return REASON_LENGTH;
	if (ip->version != 6)
		return REASON_OPTIONS;
	__u8 protocol = ip->nexthdr;
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_ICMPV6)
		return protocol == IPPROTO_FRAGMENT ? REASON_FRAGMENT : REASON_OPTIONS;
	p->v6 = 1;
	__builtin_memcpy(p->src, &ip->saddr, 16);
	__builtin_memcpy(p->dst, &ip->daddr, 16);
	p->len = bpf_ntohs(ip->payload_len) + sizeof *ip;
	p->headers = sizeof *ip;
	p->ttl = ip->hop_limit;
	p->tos = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	return transport(ip + 1, end, protocol, p);
}

static __always_inline int read_ip(void *l3, void *end, __u16 ethertype, struct packet *p)
{
	if (ethertype == bpf_htons(ETH_P_IP))
		return read4(l3, end, p);
	if (ethertype == bpf_htons(ETH_P_IPV6))
		return read6(l3, end, p);
	return REASON_PROTOCOL;
}

/* find looks a place up: the address itself, or the block of that many bits. */
static __always_inline struct place *find(int v6, const __u32 *addr, __u8 bits)
{
	if (!v6) {
		struct key4 k = {addr[0], bits};
		if (bits < 32)
			k.addr &= bpf_htonl(~0U << (32 - bits));
		return bpf_map_lookup_elem(&places4, &k);
	}
	struct key6 k = {{addr[0], addr[1], addr[2], addr[3]}, bits};
	if (bits < 128) {
#pragma unroll
		for (int i = 0; i < 4; i++) {
			int keep = (int)bits - 32 * i;
			if (keep <= 0)
				k.addr[i] = 0;
			else if (keep < 32)
				k.addr[i] &= bpf_htonl(~0U << (32 - keep));
		}
	}
	return bpf_map_lookup_elem(&places6, &k);
}

/* fits reports whether the packet, or each segment of an aggregate, has room. */
static __always_inline int fits(struct __sk_buff *skb, const struct packet *p, __u32 mtu)
{
	return (skb->gso_size ? skb->gso_size + p->headers : p->len) <= mtu;
}

/* age takes one off the TTL, with the checksum (RFC 1141); set_ce marks congestion
 * (RFC 3168). */
static __always_inline void age4(struct iphdr *ip)
{
	__u32 sum = ip->check + bpf_htons(0x0100);
	ip->check = sum + (sum >= 0xffff);
	ip->ttl--;
}

static __always_inline void ce4(struct iphdr *ip)
{
	/* as IP_ECN_set_ce (include/net/inet_ecn.h) */
	__u32 ecn = (ip->tos + 1) & ECN_MASK;
	if (!(ecn & 2))
		return;
	__u32 sum = ip->check + bpf_htons(0xfffb) + bpf_htons(ecn);
	ip->check = sum + (sum >> 16);
	ip->tos |= ECN_CE;
}

static __always_inline void age(void *l3, int v6)
{
	if (v6)
		((struct ipv6hdr *)l3)->hop_limit--;
	else
		age4(l3);
}

static __always_inline void ce(void *l3, int v6)
{
	if (v6)
		((struct ipv6hdr *)l3)->flow_lbl[0] |= ECN_CE << 4;
	else
		ce4(l3);
}

/* resum6 keeps the sum that a NIC has made over a packet right (CHECKSUM_COMPLETE),
 * when an IPv6 header has got a hop limit less and more in its ECN bits. That of an
 * IPv4 header stays, since its own checksum changes along. */
static __always_inline void resum6(struct __sk_buff *skb, __u8 marks)
{
	bpf_csum_update(skb, marks ? bpf_htons((marks << 4) - 1) : ~(__u32)bpf_htons(1));
}

static __always_inline struct count *count_of(__u32 slot)
{
	return bpf_map_lookup_elem(&counts, &slot);
}

static __always_inline int missed(__u32 slot, __u32 reason)
{
	struct count *c = count_of(slot);
	if (c && reason < REASONS)
		c->missed[reason]++;
	return NEXT;
}

static __always_inline void carried(__u32 slot, enum way path, __u32 bytes)
{
	struct count *c = count_of(slot);
	if (c) {
		c->packets[path]++;
		c->bytes[path] += bytes;
	}
}

#endif
