package kernel

import (
	"errors"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// attempt is one call of Apply: what it has made so far, and how to undo that.
type attempt struct {
	k         *Kernel
	plan      heddle.Plan
	host, pod *session
	podNS     *Netns
	made      []string
	noted     map[string]bool // the keys in made
	undo      []undo
	// fresh holds the links that this call made, by side and name.
	fresh map[string]bool
	// routes holds, by side, our routes as they were before. It is read if a route was in the way.
	routes map[string]map[routeID]routeAt
	// local holds the IPv6 addresses that this call made.
	local []localAddress
	// settling is the wait until the made objects work.
	settling settling
	// lenient lets the work go on after a refused object; failed collects the refusals.
	lenient bool
	failed  []error
	// unset holds links, by side and name, that lack some of their settings. Their guards
	// depend on these settings, so the links stay down.
	unset map[string]bool
}

// Apply makes the objects of the plan that are missing, and corrects those of ours that differ. It
// works in the order of commands.Of: the guards of a port are there before the port is up. It makes
// all or nothing. It returns the keys of the objects that it made or corrected; there are none if
// all was there. Pod may be nil if the plan has no pod part.
func (k *Kernel) Apply(p heddle.Plan, in Pod) (made []string, err error) {
	pod, inPod, err := openPod(in)
	if err != nil {
		return nil, err
	}
	defer inPod.close()
	if err := checkPlan(p, pod); err != nil {
		return nil, err
	}
	a := k.newAttempt(p, inPod, pod)
	if err := a.run(); err != nil {
		return nil, a.rollback(err)
	}
	return a.made, nil
}

// Mend is Apply for a host's part that exists already, at least partly. It makes what it
// can and reverts nothing. It returns what it made, and why it could not make the rest. A
// refused object does not stop the others; but if the firewall's chains cannot be made,
// Mend stops.
func (k *Kernel) Mend(want heddle.State) (made []string, err error) {
	p := heddle.Plan{Host: want}
	if err := checkPlan(p, nil); err != nil {
		return nil, err
	}
	a := k.newAttempt(p, nil, nil)
	a.lenient = true
	err = a.run()
	return a.made, errors.Join(append(a.failed, err)...)
}

func (k *Kernel) newAttempt(p heddle.Plan, inside *session, pod *Netns) *attempt {
	return &attempt{k: k, plan: k.feasible(k.listing(), p), host: k.hostSession(), pod: inside, podNS: pod, fresh: map[string]bool{}, unset: map[string]bool{}, noted: map[string]bool{}, routes: map[string]map[routeID]routeAt{}}
}

// reportPlan is the remedy for a plan that no mode should make.
const reportPlan = "report it with the output of 'heddle explain ID': the mode made a wrong plan"

// checkPlan refuses plans that cannot be applied, before anything is touched.
func checkPlan(p heddle.Plan, pod *Netns) error {
	if pod == nil && !p.Pod.Empty() {
		return heddle.Errorf(heddle.BadNamespace, "apply", "the container's part of a plan", "no network namespace is given", namespaceRemedy)
	}
	if err := checkScopes("apply", p); err != nil {
		return err
	}
	if slices.ContainsFunc(append(slices.Clone(p.Host.Links), p.Pod.Links...), func(l heddle.Link) bool { return l.Kind == "vxlan" && l.Tunnel == nil }) {
		return heddle.Errorf(heddle.KernelRefused, "apply", "a VXLAN device", "the plan has no tunnel settings for it", reportPlan)
	}
	return nil
}

// checkScopes refuses objects that the plan wants in a namespace their kind cannot be in.
func checkScopes(verb string, p heddle.Plan) error {
	if wrong := p.Misplaced(); wrong != nil {
		return heddle.Errorf(heddle.KernelRefused, verb, strings.Join(wrong, ", "),
			"firewall and programs can only be on the host, and NICs only in a container", reportPlan)
	}
	return nil
}

func (a *attempt) run() error {
	for _, do := range []func() error{
		func() error { return a.make(heddle.Frame) },
		func() error { return a.make(heddle.Devices) },
		func() error { return a.make(heddle.Guards) },
		a.raiseLinks,
		func() error { return a.make(heddle.Layer3) },
		a.awaitReady,
		func() error { return a.make(heddle.FastPath) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// make makes the objects of one phase, on the host first.
func (a *attempt) make(phase heddle.Phase) error {
	if err := a.makeOn(a.host, &a.plan.Host, phase); err != nil {
		return err
	}
	return a.makeOn(a.pod, &a.plan.Pod, phase)
}

func (a *attempt) makeOn(s *session, want *heddle.State, phase heddle.Phase) error {
	for _, k := range heddle.ObjectKinds {
		if k.Phase != phase || k.Count(want) == 0 {
			continue
		}
		if err := kinds[k.Name].make(a, s, want); err != nil {
			return err
		}
	}
	return nil
}

// raiseLinks brings the links up, the container's first.
func (a *attempt) raiseLinks() error {
	if err := each(a.plan.Pod.Links, func(l heddle.Link) error { return a.bringUp(a.pod, l) }); err != nil {
		return err
	}
	return each(a.plan.Host.Links, func(l heddle.Link) error { return a.bringUp(a.host, l) })
}

// awaitReady waits until what was made works.
func (a *attempt) awaitReady() error {
	if err := a.awaitCarrier(a.host, a.plan.Host.Links); err != nil {
		return err
	}
	if err := a.awaitCarrier(a.pod, a.plan.Pod.Links); err != nil {
		return err
	}
	return a.awaitLocal()
}
