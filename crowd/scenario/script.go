package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// checkScript returns what is wrong with a behaviour that is a script. It is not run.
func (b Behaviour) checkScript(at func(...string) []string) *problem {
	switch path, _ := b.Interpreter(); {
	case len(b.States) > 0 || b.Start != "" || b.Patience.Given():
		return wrong("its script says what happens; take start, states and patience out, or script", at()...)
	case !strings.HasPrefix(path, "/"):
		return wrong("its first line names no interpreter; begin with one such as #!/usr/bin/python3", at("script")...)
	case len(b.Actions) == 0:
		return wrong("it is missing; list what the script's steps may do, such as [web.page]", at("actions")...)
	case b.Steps < 1 || b.Steps > MaxSteps:
		return wrong(fmt.Sprintf("%d is no number of steps; give the most that a session has, 1 to %d", b.Steps, MaxSteps), at("steps")...)
	}
	for i, a := range b.Actions {
		if slices.Contains(b.Actions[:i], a) {
			return wrong("it has "+string(a)+" twice; take one out", at("actions")...)
		}
	}
	return nil
}

// Interpreter is what runs the script, and its arguments before the script's name. As with the kernel (execve(2)), all that follows
// the interpreter in the first line is one argument.
func (b Behaviour) Interpreter() (path string, args []string) {
	first, _, _ := strings.Cut(b.Script, "\n")
	line, is := strings.CutPrefix(first, "#!")
	if !is {
		return "", nil
	}
	line = strings.Trim(line, " \t\r")
	end := strings.IndexAny(line, " \t")
	if end < 0 {
		return line, nil
	}
	return line[:end], []string{strings.TrimLeft(line[end:], " \t")}
}

// Scripts lists the behaviours of somebody that are scripts.
func (s Scenario) Scripts() []string {
	return slices.DeleteFunc(s.Done(), func(name string) bool { return s.Behaviours[name].Script == "" })
}

// does lists the actions of a behaviour's steps.
func (b Behaviour) does() map[Action]bool {
	all := map[Action]bool{}
	for _, a := range b.Actions {
		all[a] = true
	}
	for _, state := range b.States {
		if state.Do != "" {
			all[state.Do] = true
		}
	}
	return all
}

// Services lists those that the behaviour's steps go to, in the order of their names.
func (b Behaviour) Services() []string {
	all := map[string]bool{}
	for a := range b.does() {
		all[a.Service()] = true
	}
	return Sorted(all)
}
