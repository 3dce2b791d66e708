package scenario

// Uses lists the services that somebody's steps go to, in the order of their names.
func (s Scenario) Uses() []string {
	all := map[string]bool{}
	for _, p := range s.Personas {
		for does := range p.Does {
			for _, state := range s.Behaviours[does].States {
				if state.Do != "" {
					all[state.Do.Service()] = true
				}
			}
		}
	}
	return Sorted(all)
}
