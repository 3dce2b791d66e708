package agent

// The order of the locks, the first one first. Who holds a lock takes no earlier one, and only one
// of each kind. If several links are needed, they are locked in the order of their names.
//
// The holder of an endpoint's lock takes another endpoint's lock in two cases. The first is to
// move the default route: only the holder of the container's lock does this. The second is to
// remove an endpoint whose container is gone, for a new one that wants its addresses: the new one
// is not recorded yet, so nobody waits for its lock. TryLock does not wait, and may be called
// against the order.
//
// While the kernel or the store works, only locks of the network, container, endpoint, link or NIC in
// question are held (those of a plugged NIC, and of a network whose endpoints share some, while the provider works, too), so that no other operation waits. From atView on no lock is held then, except
// for records on disk. underway.go keeps networks that conflict apart without a lock.
//
// Some work concerns the whole host, and is done for one caller at a time: atHostPathsUpdate;
// atTrial, for all who want a network of that mode for the first time; atFlowListing, in the background:
// an attach waits only if one of its addresses is in the list. In package kernel these are the
// search of the host's namespaces, for a container that is not where it was or that had a device
// or NIC (those who wait to take devices off a LAN share the next one); changes of other firewalls'
// chains; and the transaction of our firewall's chains, sets and elements, some of which networks
// share: it asks which plans want them, with locks that are held only for a moment.
//
// A lock's position in the order is the length of its type below, which takes no memory. Built
// with the tag lockorder, the locks check the order.
type (
	atUsage           [1]struct{}  // a network: nobody attaches to it while it is deleted or goes into the store
	atPods            [2]struct{}  // a container, by the inode of its namespace: attached to one network at a time
	atIDs             [3]struct{}  // an endpoint
	atParents         [4]struct{}  // a network, while NICs that its endpoints share come and go, or their addresses
	atPlugs           [5]struct{}  // a NIC, by its token, that a provider plugs in or takes out
	atNetworkLock     [6]struct{}  // a network, by ID, while the kernel makes, changes, repairs or removes it
	atHostPathsUpdate [7]struct{}  // the paths to other hosts are made, repaired or removed
	atPolicies        [8]struct{}  // what the firewall has for policies is brought in line with them, and with the endpoints; what they refuse begins and ends to be heard
	atVPCRoutes       [9]struct{}  // what the kernel has for the routes of a VPC is brought in line with them; nobody holds this and the next one
	atHAVIPs          [9]struct{}  // what the kernel has for HAVIPs is brought in line with them, with the endpoints and with who holds them
	atLinks           [10]struct{} // a link, by name, that several endpoints or networks want
	atHolds           [11]struct{} // the file of a namespace with a NIC, and what managers are told of a NIC
	atTrial           [12]struct{} // a mode that is tried on this kernel
	atFlowListing     [13]struct{} // the host's connections are listed
	atView            [14]struct{} // the cluster's newest view is adopted
	atReservations    [15]struct{} // leases and pools, with their records on disk
	atBlocks          [16]struct{} // the blocks of shared networks, and addresses taken from them
	atNetworks        [17]struct{} // the networks in memory; the tables in memory follow
	atHost            [18]struct{}
	atHostPaths       [19]struct{}
	atRecords         [20]struct{}
	atNICs            [21]struct{}
	atParentPools     [22]struct{}
	atPlugged         [23]struct{}
	atQuarantine      [24]struct{}
	atRemovals        [25]struct{}
	atDefaults        [26]struct{}
	atPorts           [27]struct{}
	atIdentities      [28]struct{}
	atProblems        [29]struct{}
	atTrials          [30]struct{}
	atStatusParts     [31]struct{}
	atWanted          [32]struct{}
	atJobs            [33]struct{}
	atTasks           [34]struct{}
	atOldFlows        [35]struct{}
	atPeerPaths       [36]struct{}
	atNames           [37]struct{}
	atPolicyList      [39]struct{}
	atHAVIPList       [40]struct{}
	atVPCRouteList    [41]struct{}
	atDHCP            [38]struct{} // who asks DHCP servers for which endpoint
)
