package cni

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/heddle-network/heddle"
)

// check compares the endpoint with the kernel, and with what the runtime
// remembers of the ADD (specification, section 4, CHECK).
func (h *Handler) check(c call, conf Conf) error {
	if len(conf.PrevResult) == 0 {
		return badKey("prevResult", "it is missing", "give the result of the ADD")
	}
	result, err := previousResult(conf)
	if err != nil {
		return err
	}
	e, err := h.endpoints.Endpoint(c.id)
	if err != nil {
		return err
	}
	own, err := findInterface(result, e, c.netns)
	if err != nil {
		return err
	}
	findings, err := h.endpoints.Check(c.id)
	if err != nil {
		return err
	}
	var left []string
	for _, f := range findings {
		if !byLaterPlugin(f, e, own) {
			left = append(left, strings.TrimSpace(f.Kind+" "+f.Object+" "+f.Detail))
		}
	}
	if len(left) > 0 {
		return faultf(ownCodes+int(heddle.Failed), heddle.Drift, "check endpoint", c.id.String(), strings.Join(left, ", "),
			findings[0].Remedy)
	}
	return nil
}

// findInterface returns our interface in the result, which must have all our addresses.
// Later plugins may have added others.
func findInterface(r *current.Result, e heddle.Endpoint, netns string) (*current.Interface, error) {
	if e.MAC == "" {
		return nil, nil // the container has no interface of ours
	}
	index := slices.IndexFunc(r.Interfaces, func(i *current.Interface) bool {
		return i.Name == e.ID.IfName && i.Sandbox == netns
	})
	if index < 0 {
		return nil, badKey("prevResult.interfaces", fmt.Sprintf("it has no interface %s in %s", e.ID.IfName, netns),
			"pass on the result of the ADD as it is")
	}
	for _, want := range e.Addrs {
		if !slices.ContainsFunc(r.IPs, func(ip *current.IPConfig) bool {
			a, _ := netip.AddrFromSlice(ip.Address.IP)
			return a.Unmap() == want.Addr() && (ip.Interface == nil || *ip.Interface == index)
		}) {
			return nil, badKey("prevResult.ips", fmt.Sprintf("it lacks the address %s of endpoint %s", want, e.ID),
				"pass on the result of the ADD as it is")
		}
	}
	return r.Interfaces[index], nil
}
