package heddle

import "strings"

// CheckVPCName reports whether s can name a VPC: a virtual private cloud, whose networks have addresses of their own.
func CheckVPCName(s string) error {
	if !networkName.MatchString(s) {
		return Errorf(BadName, "check name of VPC", Visible(Clip(s), false), "the name is malformed",
			"give a name of at most 64 bytes that has only letters, digits, '_', '.', '-' and starts with a letter or digit")
	}
	return nil
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
