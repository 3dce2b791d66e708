package firewall

import "github.com/heddle-network/heddle"

const (
	// icmpErrors are destination unreachable, source quench, redirect, time exceeded and parameter
	// problem (RFC 792). icmp6Errors are all types that are not informational (RFC 4443, 2.1),
	// since the kernel also forwards types that it does not know.
	icmpErrors  = "{ 3, 4, 5, 11, 12 }"
	icmp6Errors = "0-127"
	// hiddenWay matches a quoted packet whose extension headers may name another destination, which
	// the kernel looks for (seg6_icmp_srh). hiddenPiece matches one behind a fragment header.
	hiddenWay   = "@th,112,8 { 0, 43, 51, 60 }"
	hiddenPiece = "@th,112,8 44 @th,384,8 { 0, 43, 44, 51, 60 }"
)

// guardError checks the ICMP errors that containers send. An error must be about a packet that was
// sent to its sender. If it could quote any packet, the host and the neighbours would believe it
// (RFC 5927), for example that the MTU of a path is small, or that a connection is broken. No
// comparison matches an error that is cut short. The conditions for the two families are those of
// the table; exceptions are rules for what they do not match.
func guardError(table, ip4, ip6 string, exceptions ...string) heddle.Firewall {
	forged := Drop("spoofed-error")
	rules := []string{
		ip4 + "iifname . @th,192,32 @quoted4 return",
		ip6 + hiddenWay + " " + forged,
		ip6 + hiddenPiece + " " + forged,
		ip6 + "iifname . @th,256,128 @quoted6 return",
	}
	return chain(table, "guard-error", "", append(append(rules, exceptions...), forged)...)
}
