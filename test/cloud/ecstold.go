package cloud

import "slices"

// describe is a NIC in the API's form.
func describe(s state) map[string]any {
	var v6, tags []any
	v4 := ""
	var all4 []any
	for _, a := range slices.Concat(s.Fours, s.Sixes, s.Addrs) { // nothing says that the first ones are listed first
		switch first := slices.Contains(s.Addrs, a); {
		case a.Is6():
			v6 = append(v6, map[string]any{"Ipv6Address": a.String()})
		case first:
			v4 = a.String()
			fallthrough
		default:
			all4 = append(all4, map[string]any{"PrivateIpAddress": a.String(), "Primary": first})
		}
	}
	for _, t := range s.Tags {
		tags = append(tags, map[string]any{"TagKey": t[0], "TagValue": t[1]})
	}
	var blocks, sixBlocks []any
	for _, b := range s.Blocks {
		blocks = append(blocks, map[string]any{"Ipv4Prefix": b.String()})
	}
	for _, b := range s.SixBlocks {
		sixBlocks = append(sixBlocks, map[string]any{"Ipv6Prefix": b.String()})
	}
	return map[string]any{"Ipv4PrefixSets": map[string]any{"Ipv4PrefixSet": blocks}, "Ipv6PrefixSets": map[string]any{"Ipv6PrefixSet": sixBlocks}, "NetworkInterfaceId": s.ID, "Status": s.Status, "InstanceId": s.Instance, "VSwitchId": s.VSwitch, "MacAddress": string(s.MAC), "Type": s.Type,
		"PrivateIpAddress": v4, "PrivateIpSets": map[string]any{"PrivateIpSet": all4}, "CreationTime": s.Created, "Ipv6Sets": map[string]any{"Ipv6Set": v6}, "Tags": map[string]any{"Tag": tags}}
}

// told is a NIC in the API's form, with what it is listed with besides.
func (c *Cloud) told(s state) map[string]any {
	text := describe(s)
	if listed := c.current().Listed; len(listed) > 0 {
		set := text["PrivateIpSets"].(map[string]any)
		all, _ := set["PrivateIpSet"].([]any)
		for _, a := range listed {
			all = append(all, map[string]any{"PrivateIpAddress": a, "Primary": false})
		}
		set["PrivateIpSet"] = all
	}
	return text
}
