package heddle

// Phase is a part of the work of making a plan; the phases follow one another, on the
// host first and then in the pod.
type Phase int

const (
	// Frame is the static firewall. Its sets and maps hold the elements.
	Frame Phase = iota
	// Devices are the interfaces, which are down.
	Devices
	// Guards must be in place before an interface is up.
	Guards
	// Layer3 is what IP needs once the interfaces are up.
	Layer3
	// FastPath comes last: the objects it refers to must exist.
	FastPath
)

// Scope says in which namespace objects of a kind can be.
type Scope int

const (
	Anywhere Scope = iota
	OnHost
	InPod
)

// ObjectKind is a kind of kernel objects: when they are made, where they can be, and
// which list of a State holds them.
type ObjectKind struct {
	// Name is the list's in JSON.
	Name  string
	Phase Phase
	Scope Scope
	list
}

// ObjectKinds are all kinds, in the order in which their objects are made.
var ObjectKinds = []ObjectKind{
	{"firewall", Frame, OnHost, listOf[Firewall](func(s *State) *[]Firewall { return &s.Firewall })},
	{"links", Devices, Anywhere, listOf[Link](func(s *State) *[]Link { return &s.Links })},
	{"nics", Devices, InPod, listOf[NIC](func(s *State) *[]NIC { return &s.NICs })},
	{"sysctls", Guards, Anywhere, listOf[Sysctl](func(s *State) *[]Sysctl { return &s.Sysctls })},
	{"elements", Guards, OnHost, listOf[Element](func(s *State) *[]Element { return &s.Elements })},
	{"buckets", Guards, OnHost, listOf[Bucket](func(s *State) *[]Bucket { return &s.Buckets })},
	{"diverts", Guards, OnHost, listOf[Divert](func(s *State) *[]Divert { return &s.Diverts })},
	{"forwards", Guards, Anywhere, listOf[Forward](func(s *State) *[]Forward { return &s.Forwards })},
	{"addresses", Layer3, Anywhere, listOf[Address](func(s *State) *[]Address { return &s.Addresses })},
	{"neighbours", Layer3, Anywhere, listOf[Neighbour](func(s *State) *[]Neighbour { return &s.Neighbours })},
	{"routes", Layer3, Anywhere, listOf[Route](func(s *State) *[]Route { return &s.Routes })},
	{"rules", Layer3, Anywhere, listOf[Rule](func(s *State) *[]Rule { return &s.Rules })},
	{"proxies", Layer3, OnHost, listOf[Proxy](func(s *State) *[]Proxy { return &s.Proxies })},
	{"redirects", Layer3, Anywhere, listOf[Redirect](func(s *State) *[]Redirect { return &s.Redirects })},
	{"remotes", FastPath, OnHost, listOf[Remote](func(s *State) *[]Remote { return &s.Remotes })},
	{"shortcuts", FastPath, OnHost, listOf[Shortcut](func(s *State) *[]Shortcut { return &s.Shortcuts })},
	{"programs", FastPath, OnHost, listOf[Program](func(s *State) *[]Program { return &s.Programs })},
}

// Object is one kernel object. Two objects with the same key are the same
// object, wanted in the same or (a conflict) in two different ways.
type Object interface {
	Key() string
	comparable() any
}

// Same reports whether two objects with the same key are wanted the same way.
func Same(a, b Object) bool { return a.comparable() == b.comparable() }

// list has the operations on a list of a State, independent of the objects' type.
type list interface {
	// Count is how many objects of the kind the state has.
	Count(*State) int
	// each calls do for every object until do returns false. It reports whether do
	// returned true for all.
	each(s *State, do func(Object) bool) bool
	// filter puts the objects for which keep is true into another state's list.
	filter(from, to *State, keep func(Object) bool)
	// join appends the objects of another state's list.
	join(to, more *State)
}

// listOf finds the list of objects of one type.
type listOf[T Object] func(*State) *[]T

func (of listOf[T]) Count(s *State) int { return len(*of(s)) }

func (of listOf[T]) each(s *State, do func(Object) bool) bool {
	for _, o := range *of(s) {
		if !do(o) {
			return false
		}
	}
	return true
}

func (of listOf[T]) filter(from, to *State, keep func(Object) bool) {
	var kept []T
	for _, o := range *of(from) {
		if keep(o) {
			kept = append(kept, o)
		}
	}
	*of(to) = kept
}

func (of listOf[T]) join(to, more *State) { *of(to) = append(*of(to), *of(more)...) }
