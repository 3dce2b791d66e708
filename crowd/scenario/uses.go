package scenario

// Uses lists the services that somebody's steps go to, in the order of their names.
func (s Scenario) Uses() []string {
	all := map[string]bool{}
	for _, does := range s.Done() {
		for _, state := range s.Behaviours[does].States {
			if state.Do != "" {
				all[state.Do.Service()] = true
			}
		}
	}
	return Sorted(all)
}

// Actions lists what may be counted as an action, in the order of the names: those of somebody's steps, the mistakes, the
// question for a name.
func (s Scenario) Actions() []string {
	all := map[string]bool{"dns.query": true}
	for _, does := range s.Done() {
		for _, state := range s.Behaviours[does].States {
			if state.Do != "" {
				all[string(state.Do)] = true
			}
			for kind := range state.Mistakes {
				all["mistake."+kind] = true
			}
		}
	}
	return Sorted(all)
}

// Done lists the behaviours of which somebody may have a session.
func (s Scenario) Done() []string {
	all := map[string]bool{}
	for _, p := range s.Personas {
		for does := range p.Does {
			all[does] = true
		}
	}
	for _, e := range s.Events {
		if e.Gather != "" {
			all[e.Gather] = true
		}
	}
	return Sorted(all)
}
