package agent

// The order of the locks, the first one first; who holds one takes no earlier one, and of
// one kind only one. Links are taken by name where several are. Who has an endpoint's lock
// takes another's in two cases: to move the default route, which only who has their
// container's lock does; and to remove one that is over, for another that wants its
// addresses and is not recorded, so that nobody waits for its lock. A try waits for nobody,
// and may be made against the order. While the kernel or the store works, only locks of the
// one network, container, endpoint or link are held that it works for, so that nobody waits
// for what is another's; from atView on, none is held then, but for records on the disk.
// What makes networks that are different keep clear of each other is underway.go. Some
// work is the whole host's, and one at a time for all: atHostPathsUpdate, atTrial (for all who
// want such a network first), atFlowListing (behind those who asked; who attaches waits if
// one of its addresses is in the list), and in package kernel the search of the host's
// namespaces (when a container's is not where it was, or it had a device or NIC), changes
// of another firewall's chains (Coexist), and the transaction of the firewall's chains,
// sets and members, of which networks have some in common: it asks meanwhile who wants
// them, by tables that nobody holds for long. A lock's place in the order is the length of
// its type below, which takes no room; built with the tag lockorder, the locks check it.
type (
	atUsage           [1]struct{}  // a network: nobody attaches to it while it is deleted or goes into the store
	atPods            [2]struct{}  // a container, by the inode of its namespace: attached to one network at a time
	atIDs             [3]struct{}  // an endpoint
	atNetworkLock     [4]struct{}  // a network, by ID, that the kernel works for: made, changed, repaired, removed
	atHostPathsUpdate [5]struct{}  // the ways to other hosts are made, repaired or removed
	atLinks           [6]struct{}  // a link, by name, that several endpoints or networks want
	atTrial           [7]struct{}  // a kind of network that is tried out on this kernel
	atFlowListing     [8]struct{}  // the host's connections are listed
	atView            [9]struct{}  // the cluster's newest view is taken up
	atReservations    [10]struct{} // leases and pools, with their records on the disk
	atBlocks          [11]struct{} // the blocks of shared networks, and addresses taken of them
	atNetworks        [12]struct{} // the networks in memory, and what follows: other tables there
	atHost            [13]struct{}
	atHostPaths       [14]struct{}
	atRecords         [15]struct{}
	atNICs            [16]struct{}
	atQuarantine      [17]struct{}
	atRemovals        [18]struct{}
	atDefaults        [19]struct{}
	atPorts           [20]struct{}
	atIdentities      [21]struct{}
	atProblems        [22]struct{}
	atTrials          [23]struct{}
	atStatusParts     [24]struct{}
	atWanted          [25]struct{}
	atJobs            [26]struct{}
	atTasks           [27]struct{}
	atOldFlows        [28]struct{}
	atPeerPaths       [29]struct{}
)
