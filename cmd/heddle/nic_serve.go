package main

import (
	"cmp"
	"context"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/nic/libvirt"
	"github.com/heddle-network/heddle/nic/ports"
	"github.com/heddle-network/heddle/nic/qmp"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/vpc"
)

func newNICServe(s *session) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use: "serve FILE", Args: withArgs("FILE"),
		Short: "Plug NICs into this hypervisor's machines when they ask",
		Long: `serve plugs NICs into virtual machines of this host while they run. The agent inside a
machine asks for one when a container is attached to a network that was created there
with --mode direct --opt plug=NETWORK, and has it taken out again at the detach. Behind
each NIC is a port, with a TAP device, of one of this host's networks of mode bridge,
made and guarded by this host's agent. A machine sees and has only its own NICs.

FILE says where machines reach the service, and what each may have:

  listen: 192.0.2.1:7950   # an address of this host, for the machines
  libvirt: /run/virt-sock  # libvirtd's socket; the usual one
  vpcs:
    red: {}                # a VPC of this host ('heddle vpc --help')
  machines:
    web1:
      qmp: /run/web1.qmp   # -qmp unix:PATH,server=on,wait=off
      networks:            # of this host, and of its VPCs
      - lan
      - red/lan
      nics: 8              # at most; 16
      addresses: 16        # further ones a NIC, for mode ipvlan; 0
      queues: 4            # pairs of queues of a NIC, at most; 1
      rate: 1gbit          # of a NIC at most; rateIn, rateOut
    db:
      libvirt: db          # the domain's name in libvirt
      networks: [lan]

A machine is QEMU with a socket for the service alone, or a domain of this host's libvirt.
Machines ask over TLS, each with its grant ('heddle nic grant'). A NIC needs a free PCIe
root port: start machines with as many as they shall have NICs. QEMU's option is
-device pcie-root-port,id=slot1,chassis=1, and a domain's XML has
<controller type='pci' model='pcie-root-port'/>. With queues, a NIC has as many pairs of
queues as its machine has processors, and interrupts for. Within the rate, a machine limits
its own NICs ('heddle attach --rate' there). The service keeps no record of NICs; ended
and started again, it goes on. It runs until it is interrupted, and libvirtd like the
service in the agent's network namespace. A domain can have no NICs of VPCs.`,
		Example: "  heddle nic serve nics.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.vpc != "" {
				return heddle.Errorf(heddle.BadArgument, "serve NICs of VPC", s.vpc, "the service is the host's, for all VPCs", "leave --vpc out, and name the VPC in the file (vpcs)")
			}
			c, err := service.ReadConfig(args[0])
			if err != nil {
				return err
			}
			return s.serveNICs(cmd.Context(), c, dir)
		},
	}
	nicStateFlag(cmd.Flags(), &dir)
	return cmd
}

func (s *session) serveNICs(ctx context.Context, c service.Config, dir string) error {
	state, err := service.OpenState(dir)
	if err != nil {
		return err
	}
	machines := map[string]service.Machine{}
	for name, g := range c.Machines {
		if g.Libvirt != "" {
			machines[name] = libvirt.NewDomain(c.LibvirtSocket(), g.Libvirt)
			continue
		}
		socket := qmp.NewSocket(g.QMP)
		defer socket.Close()
		machines[name] = socket
	}
	log := slog.New(slog.NewTextHandler(s.stderr, nil))
	machine := func(name string) (service.Machine, error) { return machines[name], nil }
	server := service.NewServer(service.New(c, s.portsOf(c), machine, log), state, log)
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "listen on", c.Listen, err, "name an address of this host and a free port in the file (listen)")
	}
	log.Info("plugging NICs into machines", "address", c.Listen, "machines", len(c.Machines))
	return server.Serve(ctx, l)
}

// portsOf are the ports of the host's agent and of those of the configuration's VPCs.
func (s *session) portsOf(c service.Config) ports.OfVPCs {
	all := ports.OfVPCs{"": ports.New(s.client())}
	for name, v := range c.VPCs {
		all[name] = ports.NewVPC(client.New(cmp.Or(v.Agent, vpc.Socket(name))), name, cmp.Or(v.Netns, vpc.Netns(name)))
	}
	return all
}
