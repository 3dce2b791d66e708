// SPDX-License-Identifier: GPL-2.0
// Takes what leaves an interface for a prefix into the host's own stack. One program
// is loaded for each prefix: what it compares is constant.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

volatile const __u32 protocol; // ETH_P_…, as it is on the wire
volatile const __u32 address[4];
volatile const __u32 mask[4];
volatile const __u32 to; // the device on which packets arrive
volatile const __u8 mac[ETH_ALEN]; // its address

// The destination of an IP header (RFC 791, RFC 8200).
#define DESTINATION4 16
#define DESTINATION6 24

// A tag whose ID of a VLAN is 0 says nothing but the priority (IEEE 802.1Q, 9.6).
#define VLAN_ID 0x0fff
#define MAX_TAGS 8

SEC("tc")
int to_host(struct __sk_buff *skb)
{
	__u32 destination[4] = {};
	struct { __be16 kind, tag; } at_kind;
	__u32 at = ETH_HLEN;
	__u8 own[ETH_ALEN];
	int err;

	// a tag that is kept beside the frame makes it one of another network
	if (skb->vlan_present && skb->vlan_tci & VLAN_ID)
		return TC_ACT_UNSPEC;
	// the frame says what it is: skb->protocol is what the sender of a packet socket says (packet(7))
	for (int i = 0;; i++) {
		if (bpf_skb_load_bytes(skb, at - 2, &at_kind, sizeof(at_kind)))
			return TC_ACT_UNSPEC;
		if (at_kind.kind != bpf_htons(ETH_P_8021Q) && at_kind.kind != bpf_htons(ETH_P_8021AD))
			break;
		if (at_kind.tag & bpf_htons(VLAN_ID))
			return TC_ACT_UNSPEC;
		if (i == MAX_TAGS)
			return TC_ACT_SHOT;
		at += 4;
	}
	if (at_kind.kind != protocol)
		return TC_ACT_UNSPEC;
	if (protocol == bpf_htons(ETH_P_IP))
		err = bpf_skb_load_bytes(skb, at + DESTINATION4, destination, 4);
	else
		err = bpf_skb_load_bytes(skb, at + DESTINATION6, destination, 16);
	if (err)
		return TC_ACT_UNSPEC;
	for (int i = 0; i < 4; i++)
		if ((destination[i] & mask[i]) != address[i])
			return TC_ACT_UNSPEC;
	// a frame for another MAC address would be dropped as somebody else's
	for (int i = 0; i < ETH_ALEN; i++)
		own[i] = mac[i];
	if (bpf_skb_store_bytes(skb, 0, own, ETH_ALEN, 0))
		return TC_ACT_UNSPEC;
	return bpf_redirect(to, BPF_F_INGRESS);
}

char __license[] SEC("license") = "GPL";
