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

SEC("tc")
int to_host(struct __sk_buff *skb)
{
	__u32 destination[4] = {};
	__u8 own[ETH_ALEN];
	int err;

	// a tag that is kept beside the frame makes it one of another network
	if (skb->protocol != protocol || skb->vlan_present)
		return TC_ACT_UNSPEC;
	if (protocol == bpf_htons(ETH_P_IP))
		err = bpf_skb_load_bytes(skb, ETH_HLEN + DESTINATION4, destination, 4);
	else
		err = bpf_skb_load_bytes(skb, ETH_HLEN + DESTINATION6, destination, 16);
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
