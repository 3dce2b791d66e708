package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
)

// attempt is one call of Apply: what it has made so far and how to undo it.
type attempt struct {
	k         *Kernel
	plan      heddle.Plan
	host, pod *site
	podNS     *Netns
	made      []string
	noted     map[string]bool // of made
	undo      []undo
	// fresh holds the links that this call made, by side and name.
	fresh map[string]bool
	// routes holds ours as they were before, by side, if any was in the way.
	routes map[string]map[routeID]routeAt
	// local holds the IPv6 addresses that this call made.
	local []localAddress
	// settling is the wait for what it made to work.
	settling settling
	// lenient has an object that is refused not stop the others; failed says what was.
	lenient bool
	failed  []error
	// unset holds links, by side and name, that have not got all their settings: what
	// guards them goes by these, so they stay down.
	unset map[string]bool
}

// Apply makes what is missing of the plan and corrects what is ours and
// different, in the order of commands.Of: what guards a port is there
// before the port is up. It makes all or nothing. The keys of what it made or
// corrected are returned, none if all was there. Pod may be nil if the plan has
// no pod part.
func (k *Kernel) Apply(p heddle.Plan, pod *Netns) (made []string, err error) {
	if err := checkPlan(p, pod); err != nil {
		return nil, err
	}
	inside, err := podSite(pod)
	if err != nil {
		return nil, err
	}
	defer inside.close()
	a := k.newAttempt(p, inside, pod)
	if err := a.run(); err != nil {
		return nil, a.rollback(err)
	}
	return a.made, nil
}

// Mend is Apply for a host's part that is there already, in parts: it makes what it can,
// takes nothing back, and returns with what it made why it could not make the rest. One
// object that the kernel refuses keeps no other from being put right. Only without the
// chains of the firewall it goes no further.
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

func (k *Kernel) newAttempt(p heddle.Plan, inside *site, pod *Netns) *attempt {
	return &attempt{k: k, plan: k.feasible(p), host: k.hostSite(), pod: inside, podNS: pod, fresh: map[string]bool{}, unset: map[string]bool{}, noted: map[string]bool{}, routes: map[string]map[routeID]routeAt{}}
}

// checkPlan refuses plans that cannot be applied, before anything is touched.
func checkPlan(p heddle.Plan, pod *Netns) error {
	if pod == nil && !p.Pod.Empty() {
		return heddle.Errorf(heddle.BadNamespace, "apply", "the container's part of a plan", "a network namespace is needed")
	}
	if len(p.Host.NICs) > 0 {
		return heddle.Errorf(heddle.KernelRefused, "apply", "a NIC on the host", "plans give NICs to containers")
	}
	if slices.ContainsFunc(append(slices.Clone(p.Host.Links), p.Pod.Links...), func(l heddle.Link) bool { return l.Kind == "vxlan" && l.Tunnel == nil }) {
		return heddle.Errorf(heddle.KernelRefused, "apply", "a VXLAN device without settings", "plans give tunnels their settings")
	}
	if len(p.Pod.Firewall)+len(p.Pod.Elements) > 0 {
		return heddle.Errorf(heddle.KernelRefused, "apply", "a firewall in a container", "plans keep the firewall on the host")
	}
	return nil
}

func (a *attempt) run() error {
	host, pod := a.plan.Host, a.plan.Pod
	for _, phase := range []func() error{
		func() error { return a.firewall(host.Firewall) },
		func() error { return each(host.Links, func(l heddle.Link) error { return a.link(a.host, l) }) },
		func() error { return each(pod.Links, func(l heddle.Link) error { return a.link(a.pod, l) }) },
		func() error { return each(pod.NICs, a.nic) },
		func() error { return a.sysctls(a.host, host.Sysctls) },
		func() error { return a.elements(host.Elements) },
		func() error { return each(host.Forwards, func(f heddle.Forward) error { return a.forward(a.host, f) }) },
		func() error { return a.sysctls(a.pod, pod.Sysctls) },
		func() error { return each(pod.Forwards, func(f heddle.Forward) error { return a.forward(a.pod, f) }) },
		func() error { return each(pod.Links, func(l heddle.Link) error { return a.up(a.pod, l) }) },
		func() error { return each(host.Links, func(l heddle.Link) error { return a.up(a.host, l) }) },
		func() error { return a.layer3(a.host, host) },
		func() error { return a.layer3(a.pod, pod) },
		func() error { return a.carry(a.host, host.Links) },
		func() error { return a.carry(a.pod, pod.Links) },
		a.awaitLocal,
		func() error { return a.fastPath(host) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

// layer3 makes what IP needs, once the links are up.
func (a *attempt) layer3(s *site, want heddle.State) error {
	for _, phase := range []func() error{
		func() error { return each(want.Addresses, func(x heddle.Address) error { return a.address(s, x) }) },
		func() error {
			return each(want.Neighbours, func(x heddle.Neighbour) error { return a.neighbour(s, x) })
		},
		func() error { return each(want.Routes, func(x heddle.Route) error { return a.route(s, x) }) },
		func() error { return each(want.Rules, func(x heddle.Rule) error { return a.rule(s, x) }) },
		func() error { return each(want.Redirects, func(x heddle.Redirect) error { return a.redirect(s, x) }) },
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

func each[T any](all []T, do func(T) error) error {
	for _, x := range all {
		if err := do(x); err != nil {
			return err
		}
	}
	return nil
}
