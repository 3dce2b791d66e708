package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// checkAll compares all networks and endpoints with the kernel. The host is compared once, and what differs is told of
// each that wants it.
func (a *Agent) checkAll() ([]heddle.Finding, error) {
	networks, records := a.networks.copies(), a.records.filter(notPending)
	policies, havips, routes := a.policies.state(), a.havips.wants(), a.routes.wants()
	var wanted unionBuilder
	wanted.add(policies)
	wanted.add(havips)
	wanted.add(routes)
	for _, n := range networks {
		wanted.add(n.plan.Host)
	}
	for _, r := range records {
		wanted.add(r.Plan.Host)
	}
	drift, err := a.compareHost(wanted.state)
	if err != nil {
		return nil, err
	}
	differs := byKey(drift)
	all := slices.Concat(findings(policyOwner, remedyRepair, differs.among(policies)), findings(havipOwner, remedyRepair, differs.among(havips)),
		findings(routeOwner, remedyRepair, differs.among(routes)))
	for _, n := range networks {
		all = append(all, findings("network "+n.Name, remedyRepair, differs.among(n.plan.Host))...)
	}
	found, err := checkEach(records, func(r record) ([]heddle.Finding, error) {
		return a.checkRecord(r, func(host heddle.State) ([]kernel.Difference, error) { return differs.among(host), nil })
	})
	return append(all, found...), err
}

// differing are the objects that differ, by their keys.
type differing map[string][]kernel.Difference

func byKey(drift []kernel.Difference) differing {
	d := make(differing, len(drift))
	for _, one := range drift {
		d[one.Key] = append(d[one.Key], one)
	}
	return d
}

// among returns those that are wanted.
func (d differing) among(wanted heddle.State) (some []kernel.Difference) {
	if len(d) == 0 {
		return nil
	}
	for _, o := range wanted.Objects() {
		some = append(some, d[o.Key()]...)
	}
	return some
}

// checkEach checks the records on all processors, and returns what was found in their order.
func checkEach(records []record, check func(record) ([]heddle.Finding, error)) ([]heddle.Finding, error) {
	found, failed := make([][]heddle.Finding, len(records)), make([]error, len(records))
	inParallel(len(records), func(i int) { found[i], failed[i] = check(records[i]) })
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return nil, failed[i]
	}
	return slices.Concat(found...), nil
}
