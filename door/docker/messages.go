package docker

// The messages of the protocol (moby, libnetwork/drivers/remote/api and
// libnetwork/ipams/remote/api). Fields that this door does not use are left out.

type activation struct{ Implements []string }

type empty struct{}

type capabilities struct {
	// Scope is "local": every engine is told of a network by its own agent.
	Scope             string
	ConnectivityScope string
	// GwAllocChecker: the engine asks whether a network needs a gateway (28.0 on).
	GwAllocChecker bool
}

type gatewayQuery struct{ Options map[string]any }

type gatewayAnswer struct{ SkipIPv4, SkipIPv6 bool }

// ipamData is one pool of a network, all in CIDR notation.
type ipamData struct {
	AddressSpace string
	Pool         string
	Gateway      string
	AuxAddresses map[string]string
}

type createNetwork struct {
	NetworkID          string
	Options            map[string]any
	IPv4Data, IPv6Data []ipamData
}

type networkRef struct{ NetworkID string }

type endpointInterface struct {
	Address     string `json:",omitempty"`
	AddressIPv6 string `json:",omitempty"`
	MacAddress  string `json:",omitempty"`
}

type createEndpoint struct {
	NetworkID, EndpointID string
	Interface             *endpointInterface
}

// createdEndpoint may fill only what the request left empty.
type createdEndpoint struct{ Interface *endpointInterface }

type endpointRef struct{ NetworkID, EndpointID string }

type endpointInfo struct{ Value map[string]any }

type join struct {
	NetworkID, EndpointID string
	// SandboxKey is the path of the container's network namespace.
	SandboxKey string
}

// interfaceName names a link in the host's namespace, and how the engine is to
// call it in the container: the prefix with a number that it chooses.
type interfaceName struct{ SrcName, DstPrefix string }

// The kinds of a static route.
const (
	viaNextHop = 0
	onLink     = 1
)

type staticRoute struct {
	Destination string
	RouteType   int
	NextHop     string `json:",omitempty"`
}

type joined struct {
	InterfaceName interfaceName
	Gateway       string        `json:",omitempty"`
	GatewayIPv6   string        `json:",omitempty"`
	StaticRoutes  []staticRoute `json:",omitempty"`
	// DisableGatewayService keeps the engine from adding docker_gwbridge.
	DisableGatewayService bool `json:",omitempty"`
}

type programExternal struct {
	NetworkID, EndpointID string
	Options               map[string]any
}

type ipamCapabilities struct{ RequiresMACAddress, RequiresRequestReplay bool }

type addressSpaces struct{ LocalDefaultAddressSpace, GlobalDefaultAddressSpace string }

type requestPool struct {
	AddressSpace  string
	Pool, SubPool string
	Options       map[string]string
	V6            bool
}

type pool struct {
	PoolID string
	Pool   string
	Data   map[string]string
}

type poolRef struct{ PoolID string }

type requestAddress struct {
	PoolID  string
	Address string
	Options map[string]string
}

type address struct {
	Address string
	Data    map[string]string
}

type releaseAddress struct{ PoolID, Address string }
