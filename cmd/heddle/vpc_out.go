package main

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/mode"
	"github.com/heddle-network/heddle/vpc"
)

// vpcOut is a VPC's way out by its host.
type vpcOut struct {
	// Subnets are those of the link, in which the host has the first address and the VPC the second one.
	Subnets []netip.Prefix `json:"subnets"`
	// Problems say why it may not work.
	Problems []string `json:"problems"`
}

// outChecks are the doctor's about what passes a host.
var outChecks = []string{"ip-forward", "ip6-forward", "forward-drop", "forward-before", "prerouting-drop"}

// wayOut finds a VPC's way out, and what is wrong with it; nil if there is none.
func (s *session) wayOut(ctx context.Context, v vpcStatus) *vpcOut {
	if !v.Answers {
		return nil // as of its routes, nothing is known
	}
	found, err := vpc.FindOut(ctx, s.hostOrVPC, v.Name)
	out := &vpcOut{Subnets: found.Outside.Subnets, Problems: []string{}}
	again := ": repeat 'heddle vpc route add " + v.Name + " DESTINATION --next-hop host'"
	switch {
	case found.Inside.ID == "" && found.Outside.ID == "":
		return nil
	case err != nil:
		out.Subnets, out.Problems = found.Inside.Subnets, append(out.Problems, "the host's agent repairs nothing: "+heddle.SentenceOf(err))
	case found.Inside.ID == "":
		out.Problems = append(out.Problems, "the VPC has no network of mode "+heddle.ModeGateway+again)
	case found.Outside.ID == "":
		out.Subnets, out.Problems = found.Inside.Subnets, append(out.Problems, "the host has no network of mode "+heddle.ModeGateway+" for the VPC"+again)
	case !found.Whole():
		out.Problems = append(out.Problems, "the host has other subnets for it than the VPC"+again)
	}
	out.Problems = append(out.Problems, s.unrepaired(ctx, "", found.Outside)...)
	out.Problems = append(out.Problems, s.unrepaired(ctx, v.Name, found.Inside)...)
	if os.Geteuid() == 0 {
		out.Problems = append(out.Problems, s.hostForwards(ctx)...)
	}
	return out
}

// unrepaired says what the agent of a VPC, or the host's for "", cannot repair of its half of a way out.
func (s *session) unrepaired(ctx context.Context, of string, n heddle.Network) (problems []string) {
	status, err := s.hostOrVPC(of).Status(ctx)
	if err != nil || n.ID == "" {
		return nil
	}
	if repair := status.Part("repair"); repair.State != "ok" && strings.Contains(repair.Detail, n.Name+": ") {
		problems = append(problems, repair.Detail)
	}
	return problems
}

// hostForwards says what the doctor finds that keeps packets from passing the host.
func (s *session) hostForwards(ctx context.Context) (problems []string) {
	checks, err := doctor.Choose(doctor.Checks(mode.All()), outChecks)
	if err != nil {
		return []string{err.Error()}
	}
	h := doctor.NewHost(doctor.Paths{Socket: s.socket, RunDir: filepath.Dir(s.socket)}, mode.OfHost(), heddle.Version)
	for _, f := range doctor.Run(ctx, h, checks) {
		if f.Loud() {
			problems = append(problems, f.Title+" ('heddle doctor --only "+f.ID+"'): "+strings.Join(f.Evidence, "; "))
		}
	}
	return problems
}

// lines are what is shown of it.
func (o *vpcOut) lines() string {
	if o == nil {
		return ""
	}
	return strings.Join(append([]string{"by the host, " + joinList(o.Subnets)}, o.Problems...), cellLineBreak)
}
