package heddle

import (
	"strings"

	"github.com/heddle-network/heddle/lazyregexp"
)

// ModePeering is the mode of a VPC's networks that are those of another VPC.
const ModePeering = "peering"

// ModeGateway is the mode of the two networks that are a VPC's way out by its host: one of the host's agent, and one of the VPC's own.
const ModeGateway = "gateway"

var vpcName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$`)

// CheckVPCName reports whether s can name a VPC: a virtual private cloud, whose networks have addresses of their own.
func CheckVPCName(s string) error {
	if !vpcName.MatchString(s) {
		return Errorf(BadName, "check name of VPC", Visible(Clip(s), false), "the name is malformed",
			"give a name of at most 32 bytes that has only letters, digits, '_', '.', '-' and starts with a letter or digit")
	}
	return nil
}

// VPCNetns is the file of a VPC's network namespace, as ip-netns(8) has them. Its beginning is our mark.
func VPCNetns(vpc string) string { return "/run/netns/" + PrefixVPCNetns + vpc }

// VPCSocket is where the agent of a VPC listens.
func VPCSocket(vpc string) string { return "/run/heddle/vpc/" + vpc + "/heddle.sock" }

// PrefixVPCNetns starts the names of VPCs' network namespaces.
const PrefixVPCNetns = "heddle-vpc-"

// PeeringLink is the end, in VPC own, of the link to VPC peer: a name and a MAC address that both VPCs know.
func PeeringLink(own, peer string) (name string, mac MAC) {
	return PrefixPeering + short("peering", own, peer), macFrom(0x0e, digest("peering", own, peer))
}

// GatewayLink is the link between a VPC and its host: the name of both ends, and the MAC address of each.
func GatewayLink(vpc string) (name string, host, inside MAC) {
	return PrefixGateway + short("gateway", vpc), macFrom(0x0e, digest("gateway", vpc, "host")), macFrom(0x0e, digest("gateway", vpc, "vpc"))
}

// InVPC names a network of a VPC: VPC/NETWORK. A network that is in none (vpc "") has its own name.
func InVPC(vpc, network string) string {
	if vpc == "" {
		return network
	}
	return vpc + "/" + network
}

// SplitVPC returns the VPC of a network and its name there; the VPC is "" for a network that is in none.
func SplitVPC(s string) (vpc, network string) {
	if vpc, network, in := strings.Cut(s, "/"); in {
		return vpc, network
	}
	return "", s
}

// CheckNICNetwork reports whether s can name a network on which NICs are plugged in: a network's name, or VPC/NETWORK.
func CheckNICNetwork(s string) error {
	vpc, network := SplitVPC(s)
	if vpc != "" || network != s {
		if err := CheckVPCName(vpc); err != nil {
			return err
		}
	}
	return CheckNetworkName(network)
}
