package stage

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/service"
)

// states are what servers are with the faults of a scenario.
var states = map[scenario.Fault]service.State{scenario.Sound: service.Sound, scenario.Down: service.Down, scenario.Silent: service.Silent}

// Fault gives a service a fault, or ends the one that it has. The error is that of a service that cannot listen again.
func (s *Stage) Fault(name string, as scenario.Fault) error {
	if s.Services[name].Far != nil { // its part does it
		return nil
	}
	to, known := states[as]
	server, there := s.servers[name]
	if !known || !there {
		return heddle.Errorf(heddle.CrowdFailed, "give fault to service", name, fmt.Sprintf("there is no such service, or no fault %q", as), "report it")
	}
	if err := server.Set(to); err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "start again service", name, err, "see the kernel's message")
	}
	return nil
}

// Link gives the users of a persona, who have a link, another one. So it is for those who come later.
func (s *Stage) Link(persona string, as scenario.Link) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links == nil {
		s.links = map[string]scenario.Link{}
	}
	s.links[persona] = as
	for i := range s.users {
		if s.options.Part.Has(i+1) && s.options.Persona(i+1) == persona && !s.Links.Change(as, s.options.Seed, i+1) {
			return heddle.Errorf(heddle.CrowdFailed, "change link of", userName(i+1), "the user has none", "report it")
		}
	}
	return nil
}
