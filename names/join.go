package names

import "github.com/heddle-network/heddle"

// Join makes one network of all files of a network. Each has the same besides endpoints; the first one counts.
func Join(files []Network) Network {
	n := files[0]
	if len(files) == 1 {
		return n
	}
	n.Endpoints = nil
	type who struct {
		host string
		id   heddle.EndpointID
	}
	known := map[who]bool{}
	for _, f := range files {
		for _, e := range f.Endpoints {
			if at := (who{e.Host, e.ID}); !known[at] { // twice while a network's only file becomes several
				known[at] = true
				n.Endpoints = append(n.Endpoints, e)
			}
		}
	}
	return n
}

// JoinAll makes one network of all files with the same ID.
func JoinAll(files []Network) (all []Network) {
	parts := map[string][]Network{}
	for _, f := range files {
		parts[f.ID] = append(parts[f.ID], f)
	}
	for _, f := range files {
		if same := parts[f.ID]; same != nil {
			all = append(all, Join(same))
			delete(parts, f.ID)
		}
	}
	return all
}
