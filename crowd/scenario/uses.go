package scenario

// Uses lists the services that somebody's steps go to, in the order of their names.
func (s Scenario) Uses() []string {
	all := map[string]bool{}
	for _, does := range s.Done() {
		for _, name := range s.Behaviours[does].Services() {
			all[name] = true
		}
	}
	return Sorted(all)
}

// Actions lists what may be counted as an action, in the order of the names: those of somebody's steps, the mistakes, the
// question for a name.
func (s Scenario) Actions() []string {
	all := map[string]bool{"dns.query": true}
	for _, does := range s.Done() {
		b := s.Behaviours[does]
		for a := range b.does() {
			all[string(a)] = true
		}
		if b.Script != "" { // which may have them make any mistake
			all["mistake."+MistakeName], all["mistake."+MistakePassword] = true, true
		}
		for _, state := range b.States {
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
