package kernel

// Drops returns how many packets our firewall dropped in both tables, by reason.
func (k *Kernel) Drops() (map[string]uint64, error) {
	sum := map[string]uint64{}
	for _, family := range []string{"inet", "bridge"} {
		counters, err := k.listNft.counters(family)
		if err != nil {
			return nil, refused("read", "counters", err)
		}
		for reason, packets := range counters {
			sum[reason] += packets
		}
	}
	return sum, nil
}

// counters reads only the named counters of a table.
func (c *conn) counters(family string) (map[string]uint64, error) {
	t := newLiveTable()
	err := c.tableParts(family, t, counterParts)
	return t.counters, err
}
