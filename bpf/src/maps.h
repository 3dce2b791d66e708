/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs know: written by package bpf, read here. All addresses and
 * ports are in network byte order. */
#ifndef HEDDLE_MAPS_H
#define HEDDLE_MAPS_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETH_LEN 6
#define SLOTS 8192 /* places among the counters */

/* Flags of a place. */
#define PLACE_BRIDGED 1 /* frames are addressed to the container, not to a gateway */
#define PLACE_HOST 2    /* the host's own, or without the fast path: the stack knows what to do */

/* place is where an address, or a peer's block, is found. */
struct place {
	__u32 ifindex; /* host end of the endpoint's veth; 0: not on this host */
	__u32 peer;    /* index into peers, if it is not on this host */
	__u32 group;   /* the network, as its interface group */
	__u32 slot;    /* the endpoint's index into counts */
	__u8 mac[ETH_LEN];
	__u8 port_mac[ETH_LEN];
	__u16 mtu;     /* bytes of an IP packet */
	__u8 bits;     /* length of the network's blocks */
	__u8 flags;
};

struct key4 {
	__u32 addr;
	__u32 bits;
};

struct key6 {
	__u32 addr[4];
	__u32 bits;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key4);
	__type(value, struct place);
	__uint(max_entries, 262144);
} places4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key6);
	__type(value, struct place);
	__uint(max_entries, 262144);
} places6 SEC(".maps");

/* peer is a host that VXLAN goes to. The next hop's addresses are asked from the
 * kernel by the program itself. */
struct peer {
	__u64 next_mac; /* six bytes; 0: not known */
	__u64 own_mac;
	__u64 asked;    /* when, in ns of the coarse monotonic clock */
	__u32 addr[4];  /* outer destination; IPv4: the first word */
	__u32 local[4]; /* outer source */
	__u32 ifindex;  /* the wire; 0: no such peer */
	__u32 sum;      /* of the outer IPv4 header, without length, id and TOS */
	__u32 vni;      /* as the VXLAN header has it: shifted by 8 */
	__u16 port;
	__u16 mtu;      /* bytes of an inner IP packet */
	__u8 inner_dst[ETH_LEN];
	__u8 inner_src[ETH_LEN];
	__u32 six;      /* 1: over IPv6 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct peer);
	__uint(max_entries, 4096);
} peers SEC(".maps");

/* wire is what arrives for us. It is written anew when the host's addresses change;
 * a packet that meets half of them takes the stack. */
struct wire {
	__u32 local;     /* 0: none over IPv4 */
	__u32 local6[4]; /* first word 0: none over IPv6 */
	__u32 vni;
	__u16 port;
	__u8 mac[ETH_LEN]; /* of the tunnel device */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct wire);
	__uint(max_entries, 1);
} wires SEC(".maps");

/* Paths of a packet that the programs carried; see Paths in counts.go. */
enum way { PATH_LOCAL, PATH_SENT, PATH_RECEIVED, PATHS };

/* Reasons why a packet was left to the slow path; see Reasons in counts.go. */
enum reason {
	REASON_PROTOCOL,    /* not TCP, UDP or an echo: DHCP, ARP for others than containers here, ... */
	REASON_OPTIONS,     /* IP options or extension headers */
	REASON_FRAGMENT,
	REASON_LENGTH,      /* headers and frame disagree */
	REASON_TTL,
	REASON_SOURCE,      /* not the port's own address */
	REASON_DESTINATION, /* nothing it knows: outside, gateway, host, the sender itself */
	REASON_NETWORK,     /* another network */
	REASON_LINK,        /* addressed to another MAC, or tagged */
	REASON_MTU,
	REASON_NEIGHBOUR,   /* the way to the peer is not known */
	REASON_KERNEL,      /* the kernel refused to make or remove the tunnel's headers */
	REASON_PEER,        /* not from the peer that has the inner source */
	REASON_ECN,
	REASON_FORWARDED,   /* an aggregate for, or from, a container that sends such on */
	REASONS
};

struct count {
	__u64 packets[PATHS];
	__u64 bytes[PATHS];
	__u64 missed[REASONS];
};

/* Slot 0 counts what belongs to no endpoint. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct count);
	__uint(max_entries, SLOTS);
} counts SEC(".maps");

/* forwards are the endpoints, by slot, that were seen to send on an aggregate which
 * came by a tunnel: they get theirs from the stack, which can take the tunnel off. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u8);
	__uint(max_entries, SLOTS);
} forwards SEC(".maps");

#endif
