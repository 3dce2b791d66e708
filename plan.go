package heddle

// Plan is the kernel objects wanted: on the host, and in the container's
// network namespace (the pod).
type Plan struct {
	Host State `json:"host"`
	Pod  State `json:"pod"`
}

// With adds the objects of another plan, without looking for duplicates.
func (p Plan) With(o Plan) Plan { return Plan{Append(p.Host, o.Host), Append(p.Pod, o.Pod)} }

// Misplaced lists, by key, the objects that the plan wants in the wrong namespace: a
// firewall, its elements or fast-path objects in a container, or a NIC on the host.
func (p Plan) Misplaced() []string {
	var keys []string
	for _, k := range ObjectKinds {
		wrong, side := &p.Pod, " in a container"
		switch k.Scope {
		case Anywhere:
			continue
		case InPod:
			wrong, side = &p.Host, " on the host"
		}
		k.each(wrong, func(o Object) bool {
			keys = append(keys, o.Key()+side)
			return true
		})
	}
	return keys
}
