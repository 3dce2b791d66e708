package rig

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// reachTime is how long hosts may take to get each other's networks and containers; an
// emulated processor is slow.
const reachTime = 5 * time.Minute

// mtu is the MTU of a network that uses VXLAN; 0 leaves it to the agent.
func (r *Rig) mtu(s *testLab, mode string) int {
	mtu := r.MTUs[wireLabel(s.wire)]
	switch {
	case baseMode(mode) != bench.Overlay && !IsDocker(mode):
		return 0
	case mtu == 0 && IsDocker(mode):
		return dockerMTU
	}
	return mtu
}

// createShared creates a network of both hosts on one of them, and waits until the other
// one has it.
func (s *testLab) createShared(ctx context.Context, n heddle.Network) error {
	if _, _, err := s.agents[0].CreateNetwork(ctx, n, false); err != nil {
		return err
	}
	return retry(ctx, "find network "+n.Name+" on lab host", s.lab.Hosts[1].Name, func(ctx context.Context) error {
		_, err := s.agents[1].Network(ctx, n.Name)
		return err
	})
}

// waitForTunnel waits until each host has a tunnel route to the other host's container, so
// that no measurement includes this time.
func (s *testLab) waitForTunnel(ctx context.Context, pair bench.Pair) error {
	for host, to := range map[int]netip.Addr{0: pair.Server.Addr, 1: pair.Client.Addr} {
		h := s.lab.Hosts[host]
		err := retry(ctx, "reach container", to.String()+" from "+h.Name, func(ctx context.Context) error {
			return checkTunnelRoute(ctx, h, to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func checkTunnelRoute(ctx context.Context, h *lab.Host, to netip.Addr) error {
	cmd, err := h.Command(ctx, "ip", "-o", "route", "get", to.String())
	if err != nil {
		return err
	}
	out, err := cmd.CombinedOutput()
	if err == nil && strings.Contains(string(out), " dev "+heddle.PrefixTunnel) {
		return nil
	}
	return heddle.Errorf(heddle.BenchFailed, "find route to "+to.String()+" on lab host", h.Name,
		"it does not lead through the tunnel: "+strings.TrimSpace(string(out)), retryRemedy)
}

// retryRemedy is the remedy for a lab that failed.
const retryRemedy = "run 'heddle lab down', and try again"

// retry calls try until it succeeds or the time is over; then it returns the last error.
func retry(ctx context.Context, operation, object string, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return heddle.Wrap(heddle.BenchFailed, operation, object, err, retryRemedy)
		}
	}
}
