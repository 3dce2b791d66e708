package bench

// pathGoals are the goals of the preset paths. Their limits are what a bare prototype reached.
func pathGoals() (all []Goal) {
	for _, x := range []struct {
		name  string
		probe Probe
	}{{"TCP", tcpRR}, {"UDP", udpRR}} {
		c := Cell{Mode: Overlay, Span: Across, Probe: x.probe.Name(), Pairs: 1}
		all = append(all, ratioGoal("two hosts, "+x.name+" request/response ÷ native", Speed, c, "mean", Native, 0.75, 0.95))
	}
	packets := Cell{Mode: Overlay, Span: Across, Probe: Throughput{}.Name(), Size: 28, Pairs: 1}
	all = append(all,
		ratioGoal("two hosts, 28-byte UDP packets/s ÷ bridge + VXLAN", Rate, packets, "received", DockerLayout, 1.7, 2.2),
		ratioGoal("the same, bridge-nf-call-iptables=1", Rate, packets, "received", DockerLayoutNF, 1.7, 2.2),
		ratioGoal("two hosts, 28-byte UDP packets/s ÷ native", Rate, packets, "received", Native, 0.75, 0.90),
		extraWork(DockerLayout, "two hosts, extra CPU per packet over native ÷ bridge + VXLAN's extra, equal rate"),
		extraWork(DockerLayoutNF, "the same, bridge-nf-call-iptables=1"))
	all = append(all, bulkGoals()...)
	for _, mode := range []string{Overlay, "routed", Reference} {
		all = append(all, sameHostGoals(mode)...)
	}
	return append(all, flowGoals()...)
}

func ratioGoal(name string, of Formula, c Cell, figure, peer string, atLeast, aim float64) Goal {
	return Goal{Name: name, Of: of, Ours: Reading{c, figure}, Peer: Reading{withMode(c, peer), figure}, AtLeast: atLeast, Aim: aim}
}

func extraWork(peer, name string) Goal {
	c := pacedCell(Overlay, 1)
	g := ratioGoal(name, Extra, c, workName, peer, 0.35, 0.20)
	g.Base = Reading{withMode(c, Native), workName}
	return g
}

func pacedCell(mode string, flows int) Cell {
	return Cell{Mode: mode, Span: Across, Probe: Paced{Flows: flows}.Name(), Size: pacedSize, Pairs: 1, Wire: shapedWire}
}

func bulkGoals() []Goal {
	whole := Cell{Mode: Overlay, Span: Across, Probe: Iperf3{}.Name(), Pairs: 1}
	cut := whole
	cut.Wire = mergedWire
	return []Goal{
		ratioGoal("two hosts, bulk TCP ÷ native, segments intact", Rate, whole, "received", Native, 0.85, 0.97),
		ratioGoal("two hosts, bulk TCP ÷ native, no segmentation offload", Rate, cut, "received", Native, 0.75, 0.90),
		ratioGoal("two hosts, bulk TCP ÷ bridge + VXLAN, no segmentation offload", Rate, cut, "received", DockerLayout, 1, 1.2),
	}
}

// sameHostGoals compare with a bridge as Docker makes it (Docker's layout on one host), which here
// has no firewall and so no guard, and with our mode bridge, which has the same guards.
func sameHostGoals(mode string) (all []Goal) {
	rr := Cell{Mode: mode, Span: SameHost, Probe: tcpRR.Name(), Pairs: 1}
	packets := Cell{Mode: mode, Span: SameHost, Probe: Throughput{}.Name(), Size: 28, Pairs: 1}
	bulk := Cell{Mode: mode, Span: SameHost, Probe: Iperf3{}.Name(), Pairs: 1}
	peers := [][2]string{{DockerLayout, "a bare bridge"}}
	if mode == Reference {
		peers = append(peers, [2]string{Reference + Stack, "bridge with our guards"})
	}
	for _, peer := range peers {
		head, tail := "same host, "+mode+", ", " ÷ "+peer[1]
		all = append(all,
			ratioGoal(head+"TCP request/response"+tail, Speed, rr, "mean", peer[0], 1.1, 1.3),
			ratioGoal(head+"28-byte UDP packets/s"+tail, Rate, packets, "received", peer[0], 1.2, 1.5),
			ratioGoal(head+"bulk TCP"+tail, Rate, bulk, "received", peer[0], 1.1, 1.3))
	}
	return all
}

// flowGoals compare a mode with itself.
func flowGoals() (all []Goal) {
	all = append(all, Goal{Name: "two hosts, CPU per packet, 10,000 flows ÷ 1 flow", Of: Expense,
		Ours: Reading{pacedCell(Overlay, manyFlows), workName}, Peer: Reading{pacedCell(Overlay, 1), workName}, AtLeast: 1.03, Aim: 1})
	for _, mode := range []string{Reference, Overlay} {
		c := Cell{Mode: mode, Span: SameHost, Probe: Attach{}.Name(), Pairs: 1}
		all = append(all, ratioGoal("attach, "+mode+", with the programs ÷ without", Expense, c, "took", mode+Stack, 1.25, 1.1))
	}
	return all
}
