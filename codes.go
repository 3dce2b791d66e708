package heddle

// The error ids. An id is never reused; the first digit groups them: 1 the
// request, 2 networks and addresses, 3 the kernel, 4 the agent and its records,
// 5 doors, 6 labs, 7 benchmarks, 8 the store and other hosts, 9 crowds.
const (
	BadID           Code = "HDL-1001"
	BadIfName       Code = "HDL-1002"
	BadName         Code = "HDL-1003"
	BadMAC          Code = "HDL-1004"
	BadOption       Code = "HDL-1005"
	BadAddress      Code = "HDL-1006"
	BadSubnet       Code = "HDL-1007"
	BadPort         Code = "HDL-1008"
	BadJSON         Code = "HDL-1009"
	BadNamespace    Code = "HDL-1010"
	BadMTU          Code = "HDL-1011"
	BadArgument     Code = "HDL-1012"
	BadLabel        Code = "HDL-1013"
	BadDNSName      Code = "HDL-1014"
	BadPolicy       Code = "HDL-1015"
	UnknownMode     Code = "HDL-2001"
	NoNetwork       Code = "HDL-2002"
	NetworkExists   Code = "HDL-2003"
	SubnetOverlap   Code = "HDL-2004"
	NoParent        Code = "HDL-2005"
	NetworkInUse    Code = "HDL-2006"
	AddressTaken    Code = "HDL-2007"
	OutsidePool     Code = "HDL-2008"
	PoolExhausted   Code = "HDL-2009"
	PortTaken       Code = "HDL-2010"
	MACTaken        Code = "HDL-2011"
	PlanConflict    Code = "HDL-2012"
	NoEndpoint      Code = "HDL-2013"
	EndpointDiffers Code = "HDL-2014"
	InQuarantine    Code = "HDL-2015"
	NoName          Code = "HDL-2016"
	Ambiguous       Code = "HDL-2019"
	NICUnfit        Code = "HDL-2020"
	NICTaken        Code = "HDL-2021"
	NICNeeded       Code = "HDL-2022"
	RoutesClash     Code = "HDL-2023"
	NoSlot          Code = "HDL-2024"
	NotPlugged      Code = "HDL-2025"
	NoLease         Code = "HDL-2026"
	NoPolicy        Code = "HDL-2027"
	PolicyExists    Code = "HDL-2028"
	Unguarded       Code = "HDL-2029"
	NoHAVIP         Code = "HDL-2036"
	HAVIPExists     Code = "HDL-2037"
	NoRoute         Code = "HDL-2040"
	RouteExists     Code = "HDL-2041"
	IfNameTaken     Code = "HDL-3001"
	KernelRefused   Code = "HDL-3002"
	NotOnKernel     Code = "HDL-3003"
	Drift           Code = "HDL-3004"
	UndoFailed      Code = "HDL-3005"
	NoPermission    Code = "HDL-3006"
	Quarantined     Code = "HDL-3007"
	MachineRefused  Code = "HDL-3008"
	MachineAway     Code = "HDL-3009"
	AgentDown       Code = "HDL-4001"
	LedgerBroken    Code = "HDL-4002"
	LedgerFull      Code = "HDL-4003"
	Stopping        Code = "HDL-4004"
	AuditFound      Code = "HDL-4005"
	Waited          Code = "HDL-4006"
	AgentRuns       Code = "HDL-4007"
	TooMuch         Code = "HDL-4008"
	EventsLost      Code = "HDL-4009"
	WatchersFull    Code = "HDL-4010"
	ResolverRuns    Code = "HDL-4011"
	ResolverDown    Code = "HDL-4012"
	NoAnswer        Code = "HDL-4013"
	CNIVersion      Code = "HDL-5001"
	CNIConfig       Code = "HDL-5002"
	DockerIPAM      Code = "HDL-5003"
	LabFailed       Code = "HDL-6001"
	NoLab           Code = "HDL-6002"
	NoLabHost       Code = "HDL-6003"
	BenchFailed     Code = "HDL-7001"
	NoTool          Code = "HDL-7002"
	Threshold       Code = "HDL-7003"
	StoreDown       Code = "HDL-8001"
	StoreRefused    Code = "HDL-8002"
	StoreFull       Code = "HDL-8003"
	StoreStrange    Code = "HDL-8004"
	NoHost          Code = "HDL-8005"
	HostExists      Code = "HDL-8006"
	HostRemoved     Code = "HDL-8007"
	BadToken        Code = "HDL-8008"
	NoStore         Code = "HDL-8009"
	NetworkLeaving  Code = "HDL-8010"
	NoCredential    Code = "HDL-8011"
	NoPath          Code = "HDL-8012"
	HostAlive       Code = "HDL-8013"
	OtherKey        Code = "HDL-8014"
	OpenSecret      Code = "HDL-8015"
	AuthorityAway   Code = "HDL-8016"
	OutsideRanges   Code = "HDL-8017"
	NotGranted      Code = "HDL-8018"
	BadGrant        Code = "HDL-8019"
	NICNotGranted   Code = "HDL-8020"
	NICServiceDown  Code = "HDL-8021"
	CrowdTooLarge   Code = "HDL-9001"
	CrowdFailed     Code = "HDL-9002"
)

var explanations = map[Code]Explanation{
	BadID:           {Usage, "bad id", "An endpoint's id is made of the container's id and the interface name; both become part of names and records.", "Use an id of letters, digits, '_', '.', '-', at most 128 bytes, that starts with a letter or digit."},
	BadIfName:       {Usage, "bad name", "The kernel takes interface names of 1 to 15 bytes without '/', ':' or white space.", "Choose a shorter or plainer name."},
	BadName:         {Usage, "bad name", "A network's name is used in commands and records.", "Use letters, digits, '_', '.', '-', at most 64 bytes, starting with a letter or digit."},
	BadMAC:          {Usage, "bad address", "A container's interface needs a unicast Ethernet address of six bytes.", "Leave the MAC out, or give one such as 0a:00:00:00:00:01."},
	BadOption:       {Usage, "bad option", "Every mode knows a fixed set of options, and refuses others so that a typing error is not silently ignored.", "See 'heddle network create --help' and docs/modes/ for the mode's options."},
	BadAddress:      {Usage, "bad address", "The text is not an IP address, is of a family that the network does not have, or is the second one of its family; or a port is to be published on an address that is none of the host's.", "Give one address of a family, from the network's subnets; to publish, an address of this host."},
	BadSubnet:       {Usage, "bad subnet", "A network has at most one IPv4 and one IPv6 subnet; a subnet must have room for a gateway and an endpoint, and the gateway and ranges lie inside it.", "Give subnets in CIDR form, such as 10.20.0.0/24 and fd20::/64."},
	BadPort:         {Usage, "bad port", "A published port is [IP:][HOST[-END]:]CONTAINER[-END][/tcp|/udp|/sctp], with ports from 1 to 65535: two ranges have one length, one port of the container gets the first free port of a range, and without HOST, or for 0, the agent chooses. IP is an address that is this host's alone: no multicast, broadcast or IPv6 link-local one, none of 0.0.0.0/8 but 0.0.0.0, and not ::1, from which the kernel lets no packet leave.", "For example --publish 8080:80, --publish 127.0.0.1:5353:53/udp, --publish 8000-8010:80-90 or --publish 80."},
	BadJSON:         {Usage, "bad JSON", "The request's body could not be read.", "Check the document; unknown fields are refused."},
	BadNamespace:    {Usage, "bad namespace", "The path does not lead to a network namespace.", "Give /proc/PID/ns/net of a running container, or a file under /run/netns."},
	BadMTU:          {Usage, "bad MTU", "The MTU must be at least 576 (1280 where IPv6 is used) and at most what the parent carries (overlay: the underlay, less the tunnel's headers).", "Leave --mtu out to take that. Modes host and direct take none."},
	BadArgument:     {Usage, "bad argument", "The command was called with a value it cannot use.", "See the command's --help."},
	BadLabel:        {Usage, "bad label", "A label is KEY=VALUE: a key of 1 to 63 printable ASCII bytes without '=' and spaces, given once, and a value of at most 256 bytes of printable characters.", "For example --label app=web."},
	BadDNSName:      {Usage, "bad name of a container", "Containers find each other by names of DNS: labels joined by dots, each of 1 to 63 letters, digits, '-' and '_', which neither begin nor end with '-'; at most 253 bytes in all, and no IP address.", "For example --name web --alias api.shop."},
	BadPolicy:       {Usage, "bad policy", "A policy has a name, a selector of endpoints, and rules with direction, action, protocol, ports and peers; the message names the line and key at which it says something else.", "docs/guides/policies.md shows what a policy has."},
	UnknownMode:     {Usage, "unknown mode", "The agent has no mode of that name.", "'heddle network create --help' lists the modes."},
	NoNetwork:       {Failed, "no such network", "No network has that name on this host.", "'heddle network list' shows those there are."},
	NetworkExists:   {Conflict, "network exists", "A network of that name exists with other settings.", "Choose another name, or delete the old network first."},
	SubnetOverlap:   {Conflict, "subnets overlap", "Two networks, or a network and the host, would own the same addresses, and routing could not tell them apart.", "Choose a subnet that no other network, and no interface of the host, uses."},
	NoParent:        {Failed, "no parent", "The network needs an interface of the host to stand on, or the agent one for the underlay, and it is not there or not fit.", "Name another one with --parent, for heddled with --underlay; 'ip link' lists them."},
	NetworkInUse:    {Conflict, "network in use", "Endpoints are attached to the network.", "Detach them first ('heddle endpoint list')."},
	AddressTaken:    {Conflict, "address taken", "Another endpoint, the gateway or a reservation has the address.", "Choose another one, or leave it out."},
	OutsidePool:     {Conflict, "address outside the network", "A requested address must lie in one of the network's subnets.", "Choose one inside, or leave it out."},
	PoolExhausted:   {Conflict, "no address left", "All addresses of the range are in use.", "Detach endpoints, or create a network with a larger subnet."},
	PortTaken:       {Conflict, "port taken", "Another endpoint publishes the port, or a program on the host listens on it; of a range, each port.", "Choose another host port ('ss -ltnup' shows who listens), or leave it out."},
	MACTaken:        {Conflict, "MAC taken", "Another endpoint of the network has the MAC address.", "Choose another one, or leave it out."},
	PlanConflict:    {Conflict, "conflicting wishes", "Two networks want one kernel object, such as a setting of their common parent, in different ways.", "Bring the two networks' options in line, or give one of them another parent."},
	NoEndpoint:      {Failed, "no such endpoint", "No endpoint has that id on this host.", "'heddle endpoint list' shows those there are."},
	EndpointDiffers: {Conflict, "endpoint exists", "The endpoint was attached before, with other settings.", "Detach it first, or use another id or interface name."},
	InQuarantine:    {Conflict, "endpoint in quarantine", "An endpoint of that id was detached, and it is not proven that its container has let go of what it had.", "End the container that had it ('heddle audit' tells what is held, and why), or attach under another id."},
	NoName:          {Failed, "no such name", "No container of this host's networks has that name, on any host.", "'heddle name list' shows those there are."},
	Ambiguous:       {Usage, "ambiguous", "The name, or the beginning of an id, fits several; the message lists them.", "Give more digits of the id, or the interface as well: ID/IF."},
	NICUnfit:        {Conflict, "NIC cannot be given away", "The interface belongs to another one, carries others, is bound to its namespace, or has what could not be put back when it returns. Or a program is to drive it, and would get more than the NIC: the machine's memory, for want of an IOMMU, or other devices.", "Name another NIC, or take away what the message names; for a program, start the machine with an IOMMU as docs/guides/dpdk.md says."},
	NICTaken:        {Conflict, "no NIC free", "Each NIC of the network's pool is with a container, not on the host, or cannot be given away; the message says which.", "Detach an endpoint, or create a network with more NICs ('heddle endpoint list' shows who has which)."},
	NICNeeded:       {Conflict, "NIC is needed", "The host's default route, the connection by which the command came, or another network would lose the interface.", "Name another NIC. --force gives it away all the same, except from another network."},
	RoutesClash:     {Conflict, "conflict in the container", "Two interfaces of one container would have overlapping subnets, or routes to the same destination, and which one is used would be accident.", "Detach the other endpoint, or use networks that do not overlap."},
	NoSlot:          {Conflict, "no slot free", "A virtual machine takes a NIC while it runs only in a slot, which is a PCIe root port that it was started with; it has none, or each holds a device; or the hypervisor's configuration gives it no more NICs. An instance of a cloud has as many NICs as its type allows.", "Unplug a NIC, or start the machine with more slots (QEMU: -device pcie-root-port; libvirt: <controller type='pci' model='pcie-root-port'/>; a lab's host: slots); in a cloud use another type of instance."},
	NotPlugged:      {Failed, "NIC not plugged", "The hypervisor, or the cloud, could not plug a NIC into the machine, take one out, or tell which the machine has.", "See the log of 'heddle nic serve' on the hypervisor, or the NIC in the cloud's console. Asking again is safe: it begins where it stopped."},
	NoLease:         {Timeout, "no lease", "No DHCP server on the LAN of the network's parent or NIC has given the endpoint an address in time, or what it gave could not be used: the address is in use, is the host's own, is none of a LAN, or is not the one that the switch behind a NIC lets pass.", "Look whether a server answers on that LAN and has addresses free, and attach again. A network without --opt addresses asks no server."},
	NoPolicy:        {Failed, "no such policy", "No policy has that name on this host.", "'heddle policy list' shows those there are."},
	PolicyExists:    {Conflict, "policy exists", "A policy of that name exists, and says something else.", "Choose another name, or replace it with 'heddle policy apply FILE'."},
	Unguarded:       {Conflict, "not guarded", "A policy selects the endpoint, and nothing on this host sees all that it sends and receives: only networks of mode bridge have a port at which a policy is enforced.", "Attach it to a network of mode bridge, or change its labels or the policy so that the policy does not select it."},
	NoHAVIP:         {Failed, "no such HAVIP", "No high-availability virtual IP address has that name on this host.", "'heddle havip list' shows those there are."},
	HAVIPExists:     {Conflict, "HAVIP exists", "A high-availability virtual IP address of that name exists, with another network, address, members or ports.", "Choose another name, or delete it first."},
	NoRoute:         {Failed, "no next hop", "No endpoint of the VPC that could be a route's next hop has the address, or the agent is no VPC's, and has no such routes.", "Name an address of an endpoint on a network of mode bridge of that VPC ('heddle --vpc NAME endpoint list'), or blackhole."},
	RouteExists:     {Conflict, "route exists", "The VPC has a route to that prefix, with another next hop.", "Delete it first ('heddle vpc route delete'). A longer prefix wins over a shorter one."},
	IfNameTaken:     {Conflict, "interface name taken", "The container has an interface of that name already, and it is not ours.", "Choose another name with --ifname."},
	KernelRefused:   {Failed, "kernel refused", "The kernel did not take a request; the message holds its own words. Everything done before was undone.", "The kernel's message names the cause; 'heddle audit' shows whether anything is left."},
	NotOnKernel:     {Unavailable, "not on this kernel", "This kernel lacks a feature that the mode, the link of a crowd's persona, or 'heddle flows' needs.", "Choose another mode, or a kernel with the feature; load what the message names; take link out of the personas."},
	Drift:           {Failed, "drift", "What the kernel has is not what was planned: something changed or removed an object of ours.", "'heddle explain ID' marks what differs. On the host's side the agent puts it back, within a second when it is not busy; in a container, attach it again with the same settings: 'heddle check' shows the command."},
	UndoFailed:      {Partial, "undo failed", "An operation failed, and undoing what it had done failed too.", "'heddle gc' removes what is left, 'heddle audit' shows it."},
	Quarantined:     {Partial, "in quarantine", "The endpoint was removed as far as could be, but it is not proven that its container has let go of the NIC or the LAN: a device was hidden, moved, replaced by another one, or is open in a program. NIC and addresses are given to nobody until that is proven.", "End the container. 'heddle audit' and 'heddle status' show what is in quarantine and why; the agent tries again every few seconds, and when it starts."},
	NoPermission:    {Failed, "not permitted", "The caller is neither root nor in the group of the agent's socket, or the agent lacks a capability.", "Call as root; the agent needs CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_NET_RAW, CAP_SYS_PTRACE and CAP_DAC_OVERRIDE ('heddle doctor' looks)."},
	MachineRefused:  {Failed, "machine refused", "QEMU or libvirt, which runs a virtual machine, did not do what it was asked; the message holds its own words.", "The message names the cause. QEMU's version or the machine's options may lack what is needed."},
	MachineAway:     {Timeout, "machine does not answer", "The management socket of a virtual machine (QMP) cannot be reached or did not answer in time, its libvirt domain does not run, or the guest did not let go of a device. QEMU talks to one program at a time.", "Look whether the machine runs and the guest is up, end other programs that are connected to the socket, and call again."},
	AgentDown:       {Unreachable, "agent unreachable", "Nothing answers on the agent's socket.", "Start it ('systemctl start heddled'), or name its socket with --socket."},
	LedgerBroken:    {Failed, "ledger unreadable", "The record of what was made cannot be read, so the agent changes nothing.", "Restore the file from a copy, or move it away: networks then have to be created anew, and 'heddle gc' removes what is left in the kernel."},
	LedgerFull:      {Failed, "ledger not writable", "The record of the intent could not be written, so nothing was done.", "Make room on the file system of the state and run folders."},
	Stopping:        {Unreachable, "agent stopping", "The agent is shutting down and takes no new work.", "Call again when it is back."},
	AuditFound:      {Failed, "audit found", "Ledger, kernel and containers do not agree.", "The hint says what mends each finding: 'heddle gc' what belongs to nobody, the same attach again what is missing in a container."},
	Waited:          {Timeout, "timed out", "The condition did not come true in time.", "Look at 'heddle status', and call again; 'heddle status --wait' takes a longer --timeout."},
	AgentRuns:       {Conflict, "agent runs already", "Another agent holds the run folder's lock.", "Stop it first, or give this one other folders (--run-dir, --state-dir)."},
	TooMuch:         {Usage, "too much", "A network, an endpoint, a record of the store or a call has more entries, or is longer, than any may: it would keep agents busy.", "Leave out what is not needed; the message names the bound."},
	EventsLost:      {Failed, "events lost", "The agent keeps its last events in memory: those after the cursor are gone, because there were too many since, or the agent has started anew.", "Begin to watch from now on, then list networks, endpoints and peers, and go on with the events."},
	WatchersFull:    {Conflict, "too many watchers", "As many programs watch the agent's events as may at a time.", "End another one ('heddle events', or what calls /v1/events), and watch again."},
	ResolverRuns:    {Conflict, "resolver runs already", "Another process answers the containers' questions for names of this folder.", "Stop it first; the file lock in the folder of names names its process."},
	ResolverDown:    {Failed, "resolver down", "The process that answers the containers' questions for names could not be started, ended or watched over.", "Look at resolver.log in the folder of names, in the agent's run folder; the agent tries again by itself."},
	NoAnswer:        {Failed, "no answer", "None of the echoes that were sent from a container was answered. The lines above the message say what came instead, if anything did.", "The hint says what to look at next: a policy, the path to another host, the endpoint itself."},
	CNIVersion:      {Usage, "CNI version", "The plugin speaks the CNI specification from 0.3.1 to 1.1.0.", "Set cniVersion in the network configuration to one of these."},
	CNIConfig:       {Usage, "CNI configuration", "The network configuration does not say what the plugin needs to know.", "docs/guides/cni.md has a working one."},
	DockerIPAM:      {Usage, "Docker's own addresses", "Each engine gives out the addresses of its own IPAM driver alone, so two hosts would give out the same ones on a network of several hosts.", "Create the network with --ipam-driver heddle (compose: ipam: {driver: heddle})."},
	LabFailed:       {Failed, "lab", "A lab's host could not be made or entered.", "'heddle lab down NAME' removes what is left."},
	NoLab:           {Failed, "no such lab", "No lab of that name is up.", "'heddle lab list' shows those there are."},
	NoLabHost:       {Failed, "no such host in the lab", "The lab has no host, router or switch of that name.", "The message lists the lab's hosts."},
	BenchFailed:     {Failed, "bench", "A measurement could not be taken.", "The message names the probe's own words; --resume takes up where it stopped."},
	NoTool:          {Failed, "tool missing", "A probe drives a program that is not installed, a service of a crowd is by one, or the users of a crowd are containers of its client.", "Install it; the message names Debian's package."},
	Threshold:       {Failed, "threshold", "A measured figure crossed the limit given with --fail-if.", "See the report; 'heddle bench report DIR' shows it again."},
	StoreDown:       {Timeout, "store unreachable", "The store did not answer, or most of its members are gone. Traffic goes on, and hosts go on adding and removing endpoints in the blocks they hold; what concerns several hosts has to wait.", "'heddle status' shows the store's members; look at the network to them, and at their agents."},
	StoreRefused:    {Failed, "store refused", "The store does not accept this host's certificate, or it may not write what it tried to.", "Look at the certificate's dates and the clocks ('heddle status'); a host that was removed joins again with a new token."},
	StoreFull:       {Failed, "store full", "The store has reached its size limit and takes no more records.", "Remove what fills it: a host that has filled an embedded store ('heddle host remove NAME --force'), which has room again some seconds later. In an etcd of your own, compact and defragment, and disarm the alarm ('etcdctl alarm disarm')."},
	StoreStrange:    {Conflict, "another store", "The store is not the one that this host belongs to, or it has lost its data. The host changes nothing and goes on with what it remembers.", "Restore the store from a backup, or point --store to the right one. To begin anew, move the host's state folder away."},
	NoHost:          {Failed, "no such host", "The cluster has no host of that name.", "'heddle host list' shows those there are."},
	HostExists:      {Conflict, "host exists", "Another host of the cluster has that name or underlay address, or this one had it before it was installed anew.", "Choose another name with --name, or another address with --underlay; or remove the old host first ('heddle host remove NAME')."},
	HostRemoved:     {Conflict, "host removed", "An operator removed this host from the cluster and its blocks were given back, so it must not use their addresses any more.", "Detach its endpoints, move its state folder away, and join again with a new token."},
	BadToken:        {Usage, "bad token", "The token is not one of this cluster, is used up or too old.", "'heddle host token' on a host that keeps the store prints a new one ('heddle host list' marks them); elsewhere it takes --credential."},
	NoStore:         {Failed, "no store", "The agent runs without a store; or the call is for an embedded one (tokens, keepers, rights, the authority), or for a network that several hosts share.", "Start the agent with --store embedded, --store etcd://HOST:PORT, or --join ADDR --token-file FILE. Of an etcd of your own, members, users and certificates are managed with its own tools."},
	NetworkLeaving:  {Conflict, "network is being deleted", "An operator is deleting the network on all hosts.", "Wait, or create it again when it is gone; 'heddle network delete NAME' finishes a deletion that was cut off."},
	NoCredential:    {Failed, "no operator's credential", "What concerns the whole cluster (tokens, keepers, ranges, removals) takes the operator's credential, which the hosts that keep the store have.", "Call on a host that keeps the store ('heddle host list' marks them), or name the credential with --credential."},
	NoPath:          {Failed, "no path", "Two hosts have no underlay address of the same family.", "Give both an address of one family with --underlay."},
	HostAlive:       {Conflict, "host is alive", "The host is connected to the store: to give its blocks to others would take addresses from containers that run.", "Detach its endpoints and stop its agent first; --force removes it all the same."},
	OtherKey:        {Conflict, "another key", "A host of that name and ID is in the cluster, and has another key. A host is its key from its first join on: no token and no certificate gives its name to another one.", "If it is that host, and its state folder was lost: have an operator remove it ('heddle host remove NAME'), move the state folder away, and join again."},
	OpenSecret:      {Usage, "open secret", "A secret is where others than its owner can read it: a file, a command line.", "'chmod 600 FILE', if nobody has read it yet. 'heddle host token --out FILE' makes a new token in a file of its own."},
	AuthorityAway:   {Failed, "authority's key off the hosts", "An operator withdrew the authority's key, so that no host of the cluster can sign certificates: no host joins, none becomes a keeper of the store, and no certificate is renewed, until the key is lent.", "An operator lends it for a while: 'heddle host authority lend FILE'. 'heddle host authority' shows who has it."},
	OutsideRanges:   {Conflict, "outside the cluster's ranges", "The networks that hosts share lie in the address ranges that the cluster was given, so that none can take addresses over that hosts reach elsewhere.", "Choose a subnet in the ranges ('heddle host ranges' shows them), or have an operator change them with the same command."},
	NotGranted:      {Failed, "not granted", "Networks that hosts share take an operator's word: the hosts that keep the store may write them, and those that an operator granted it. One host's certificate is not enough to change what all hosts have.", "Call on a host that may ('heddle host list' shows them), or have an operator grant it to this one ('heddle host grant NAME networks')."},
	BadGrant:        {Usage, "bad grant", "The NIC service of the hypervisor does not accept this machine's grant: it was revoked, replaced by a newer one, or is of another service. Or what answers at the grant's address has another certificate than the grant says.", "Make a new grant on the hypervisor with 'heddle nic grant FILE MACHINE --out GRANT', and carry the file into the machine."},
	NICNotGranted:   {Conflict, "NIC not granted", "The hypervisor's configuration gives this machine no NIC on that network; or the rights of a cloud's role do not allow it.", "Order a NIC on a network that the machine may use; else have the hypervisor's configuration ('heddle nic serve FILE'), or the rights of the instance's role, changed."},
	NICServiceDown:  {Unreachable, "NIC service unreachable", "The service that plugs NICs into this machine, or the cloud's API, did not answer, or its answer was none of such a service.", "Look at 'heddle nic serve' on the hypervisor, at the address in the grant, and at firewalls between them; in a cloud at the way to its API and to its metadata service."},
	CrowdTooLarge:   {Failed, "crowd too large", "The plan of a crowd needs more than a limit of this machine allows: memory, open files, ports, neighbours, tracked connections or bridge ports.", "Raise the limit with the command that the message names, or give fewer users. The plan itself is sound: another machine may carry it."},
	CrowdFailed:     {Failed, "crowd failed", "A crowd could not be put on the network, or a run of it is not valid: it was broken off, the crowd itself was late, or it did something else than was planned, so that its figures say nothing about the network.", "The message says which. What was made is removed. If it was late, give fewer users, or leave the machine alone while it runs."},
}
