package firewall

import "github.com/heddle-network/heddle"

const (
	// icmpErrors are destination unreachable, source quench, redirect, time exceeded
	// and parameter problem (RFC 792); icmp6Errors all that are not informational (RFC
	// 4443, 2.1): the kernel hands on those that it does not know.
	icmpErrors  = "{ 3, 4, 5, 11, 12 }"
	icmp6Errors = "0-127"
	// hiddenWay is a quoted packet whose extension headers may name another
	// destination, which the kernel looks for (seg6_icmp_srh); hiddenPiece one behind
	// a fragment header.
	hiddenWay   = "@th,112,8 { 0, 43, 51, 60 }"
	hiddenPiece = "@th,112,8 44 @th,384,8 { 0, 43, 44, 51, 60 }"
)

// guardError judges the ICMP errors that containers send. Such an error is about a
// packet that was sent to its sender. Whatever else it quotes, the host and the
// neighbours would believe it (RFC 5927): that a path is narrow, or a connection at its
// end. Of an error that is cut short no comparison is true. The families' conditions
// are the table's own.
func guardError(table, ip4, ip6 string) heddle.Firewall {
	forged := Drop("spoofed-error")
	return chain(table, "guard-error", "",
		ip4+"iifname . @th,192,32 @quoted4 return",
		ip6+hiddenWay+" "+forged,
		ip6+hiddenPiece+" "+forged,
		ip6+"iifname . @th,256,128 @quoted6 return",
		forged)
}
