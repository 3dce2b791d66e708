package cloud

import (
	"encoding/xml"
	"slices"
)

// What follows are answers in EC2's form (aws-sdk-go-v2, service/ec2, deserializers.go).

type created struct {
	XMLName xml.Name `xml:"CreateNetworkInterfaceResponse"`
	NIC     saidNIC  `xml:"networkInterface"`
}

type attached struct {
	XMLName    xml.Name `xml:"AttachNetworkInterfaceResponse"`
	Attachment string   `xml:"attachmentId"`
}

type returned struct {
	XMLName xml.Name `xml:"Response"`
	Return  bool     `xml:"return"`
}

type described struct {
	XMLName xml.Name  `xml:"DescribeNetworkInterfacesResponse"`
	NICs    []saidNIC `xml:"networkInterfaceSet>item"`
	Next    string    `xml:"nextToken,omitempty"`
}

type saidNIC struct {
	ID         string          `xml:"networkInterfaceId"`
	Subnet     string          `xml:"subnetId"`
	MAC        string          `xml:"macAddress"`
	Status     string          `xml:"status"`
	V4         string          `xml:"privateIpAddress,omitempty"`
	V4s        []saidFour      `xml:"privateIpAddressesSet>item"`
	V6         []saidSix       `xml:"ipv6AddressesSet>item"`
	Blocks     []saidFourBlock `xml:"ipv4PrefixSet>item"`
	SixBlocks  []saidSixBlock  `xml:"ipv6PrefixSet>item"`
	Tags       []saidTag       `xml:"tagSet>item"`
	Attachment *saidAttachment `xml:"attachment"`
}

type saidFour struct {
	Address string `xml:"privateIpAddress"`
	Primary bool   `xml:"primary"`
}

type assignedFours struct {
	XMLName   xml.Name        `xml:"AssignPrivateIpAddressesResponse"`
	NIC       string          `xml:"networkInterfaceId"`
	Addresses []saidFour      `xml:"assignedPrivateIpAddressesSet>item"`
	Blocks    []saidFourBlock `xml:"assignedIpv4PrefixSet>item"`
}

type assignedSixes struct {
	XMLName   xml.Name `xml:"AssignIpv6AddressesResponse"`
	NIC       string   `xml:"networkInterfaceId"`
	Addresses []string `xml:"assignedIpv6Addresses>item"`
	Blocks    []string `xml:"assignedIpv6PrefixSet>item"`
}

type saidSix struct {
	Address string `xml:"ipv6Address"`
}

type saidFourBlock struct {
	Prefix string `xml:"ipv4Prefix"`
}

type saidSixBlock struct {
	Prefix string `xml:"ipv6Prefix"`
}

type saidTag struct {
	Key   string `xml:"key"`
	Value string `xml:"value"`
}

type saidAttachment struct {
	ID       string `xml:"attachmentId"`
	Instance string `xml:"instanceId"`
	Index    int    `xml:"deviceIndex"`
	Status   string `xml:"status"`
	Tied     bool   `xml:"deleteOnTermination"`
}

type instanceTypes struct {
	XMLName xml.Name       `xml:"DescribeInstanceTypesResponse"`
	Types   []instanceType `xml:"instanceTypeSet>item"`
}

type instanceType struct {
	Name       string        `xml:"instanceType"`
	Hypervisor string        `xml:"hypervisor"`
	NICs       int           `xml:"networkInfo>maximumNetworkInterfaces"`
	IPv4s      int           `xml:"networkInfo>ipv4AddressesPerInterface"`
	IPv6s      int           `xml:"networkInfo>ipv6AddressesPerInterface"`
	Cards      []networkCard `xml:"networkInfo>networkCards>item"`
}

type networkCard struct {
	Index int `xml:"networkCardIndex"`
	NICs  int `xml:"maximumNetworkInterfaces"`
}

type subnets struct {
	XMLName xml.Name     `xml:"DescribeSubnetsResponse"`
	Subnets []saidSubnet `xml:"subnetSet>item"`
}

type saidSubnet struct {
	ID string      `xml:"subnetId"`
	V4 string      `xml:"cidrBlock"`
	V6 []saidBlock `xml:"ipv6CidrBlockAssociationSet>item"`
}

type saidBlock struct {
	Block string `xml:"ipv6CidrBlock"`
	State string `xml:"ipv6CidrBlockState>state"`
}

type saidFailure struct {
	XMLName xml.Name `xml:"Response"`
	Code    string   `xml:"Errors>Error>Code"`
	Message string   `xml:"Errors>Error>Message"`
	ID      string   `xml:"RequestID"`
}

// said is a NIC in EC2's form. It has two words for a state: the NIC's, and the attachment's.
func (c *Cloud) said(s state) saidNIC {
	words := map[string][2]string{"Creating": {"pending"}, "Available": {"available"}, "Attaching": {"in-use", "attaching"}, "InUse": {"in-use", "attached"}, "Detaching": {"in-use", "detaching"}}[s.Status]
	said := saidNIC{ID: s.ID, Subnet: s.VSwitch, MAC: string(s.MAC), Status: words[0]}
	for _, a := range slices.Concat(s.Fours, s.Sixes, s.Addrs) { // nothing says that the first ones are listed first
		switch first := slices.Contains(s.Addrs, a); {
		case a.Is6():
			said.V6 = append(said.V6, saidSix{a.String()})
		case first:
			said.V4 = a.String()
			fallthrough
		default:
			said.V4s = append(said.V4s, saidFour{a.String(), first})
		}
	}
	for _, b := range s.Blocks {
		said.Blocks = append(said.Blocks, saidFourBlock{b.String()})
	}
	for _, b := range s.SixBlocks {
		said.SixBlocks = append(said.SixBlocks, saidSixBlock{b.String()})
	}
	for _, t := range s.Tags {
		said.Tags = append(said.Tags, saidTag{t[0], t[1]})
	}
	if words[1] != "" && !c.current().Unsaid {
		said.Attachment = &saidAttachment{attachment(s), s.Instance, s.Index, words[1], s.Tied}
	}
	return said
}
