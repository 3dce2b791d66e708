package vm

import "strings"

// DefaultModules returns the kernel modules that Heddle's tests need: the links, nf_tables with its expressions, connection
// tracking, what iptables asks for in both its forms, and traffic control. A guest has no modprobe, so the kernel loads nothing
// on demand: what is not named here (or in Guest.Modules) and is not built in does not exist for a test.
func DefaultModules() []string {
	return strings.Fields(`
		bridge br_netfilter veth macvlan ipvlan vxlan dummy tun af_packet overlay
		nf_tables nft_ct nft_nat nft_masq nft_chain_nat nft_redir nft_fib nft_fib_inet nft_fib_ipv4 nft_fib_ipv6
		nft_reject_inet nft_limit nft_log nfnetlink_log nft_hash nft_objref nft_compat nft_meta_bridge
		nf_conntrack nf_conntrack_bridge nf_conntrack_netlink
		x_tables xt_conntrack xt_addrtype xt_comment xt_MASQUERADE xt_nat xt_mark xt_tcpudp
		ip_tables iptable_filter iptable_nat ip6_tables ip6table_filter ip6table_nat
		sch_tbf sch_ingress ifb sch_netem cls_bpf cls_u32 act_mirred act_gact act_skbedit`)
}
