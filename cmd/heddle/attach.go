package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// confPath is what --resolv-conf writes for a namespace.
const confPath = "/etc/netns/NAME/resolv.conf"

func newAttach(s *session) *cobra.Command {
	var flags attachFlags
	from, dryRun := "", false
	cmd := &cobra.Command{
		Use: "attach NETWORK (--netns PATH|NAME | --pid PID | --tap --id ID | --from FILE)", GroupID: groupNetworks,
		Args: withArgs("NETWORK"), ValidArgsFunction: s.completeFrom(s.networkNames),
		Short: "Attach a container to a network",
		Long: `attach makes an endpoint: one interface of one container on one network. The
container is given by its network namespace, or by the number of a process in it.
Attached again with the same settings, an endpoint is left as it is.

A container may be attached to several networks, also while it runs: each gets an
interface of its own (--ifname). Its default route leads through the first one that
can carry it. Attached with --default-route, also anew, an endpoint takes it over;
when its holder is detached, it passes to the oldest one left.

--publish 8080:80 opens the host's port 8080 for the container's port 80. Ranges are
published port by port (8000-8010:80-90); one port of the container gets the first
free port of a range (8000-8010:80). Without the host's port, or for 0, the agent
takes a free one from 20000 to 29999, and the answer says which.

The endpoint has a name (--name) and aliases (--alias) on all hosts. Other containers of
the network find it by them: as NAME, NAME.NETWORK or NAME.NETWORK.heddle.internal. With
--resolv-conf, the programs that 'ip netns exec' starts there ask for names.

--rate 100Mbit limits how much the container receives and how much it sends, each to that
many bits a second; --rate-in and --rate-out limit one of both. In is what comes to the
container, as in CNI's ingressRate, and out is what it sends. Counted are Ethernet frames,
so of 100 Mbit/s TCP has 95 in packets of 1500 bytes. --burst is how many bytes may pass at
once after a pause; by default it suits the rate. The limits are kept on the host, in modes
bridge, routed and overlay, and those of a NIC that the hypervisor has plugged in at its
switch, which may allow less. 'heddle endpoint set' changes them while the container runs.
What is limited does not take the fast path.

--from attaches many: each line of the file has the flags of an endpoint, without
quotes (--netns web --name web --publish 8080:80). Empty lines, and those that begin
with #, are left out. A file with a line that cannot be read changes nothing. Otherwise
each is attached or refused by itself; the exit code is 7 when some were refused.
Attached again, the list leaves what is there as it is.

On a network of mode host nothing is made, and --id is enough. On one of mode
direct the container gets a NIC of the host, by default the first free one of the
network's, or one that the hypervisor plugs in for it. With --move-from such a NIC comes
from another machine, with its MAC address and its addresses, once that machine permits it
('heddle endpoint move').

--handover leaves the interface on the host, down, for a container runtime that moves it:
one that knows linux.netDevices of the OCI runtime specification, such as runc 1.4 and crun
1.23. The command says what its config.json is to have; its network namespace is the one
of --netns. When the interface is up there, the agent gives it addresses and routes.

--tap gives a virtual machine a port on a network of mode bridge: a TAP device. The
command says its name and a MAC address. The emulator opens the device, with the header
of virtio-net, and gives the machine's NIC that MAC address; the machine sets its
addresses itself. The port is guarded as a container's is, and stays until the detach.
With --multi-queue the emulator opens it several times, once for each pair of queues
(queues=N of QEMU's -netdev tap, with mq=on and vectors=2N+2 of the device).`,
		Example: `  ip netns add web
  heddle attach front --netns web
  ip netns add dns
  heddle attach front --netns /run/netns/dns --id resolver --ip 10.20.0.53 --ip fd20::53 --publish 127.0.0.1:5353:53/udp
  ip netns add shop
  heddle attach front --netns shop --name shop --alias api --publish 8000-8010:80 --publish 3868/sctp
  heddle attach back --netns web --ifname eth1 --publish 8080:80 --publish 127.0.0.1:8081:80/udp
  heddle attach back --netns dns --ifname eth1 --mac 0a:00:00:00:00:09 --dry-run
  heddle attach back --netns web --ifname eth1 --publish 8080:80 --publish 127.0.0.1:8081:80/udp --default-route
  heddle attach plain --id yardstick --label app=bench
  heddle attach front --tap --id machine1 --rate-in 1Gbit --rate-out 100Mbit
  ip netns add mail
  echo '--netns mail --name mail --publish 25:25' > endpoints.txt
  heddle attach front --from endpoints.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("from") {
				return s.attachFrom(cmd, args[0], from)
			}
			q, err := flags.request(args[0], cmd.Flags())
			if err != nil {
				return err
			}
			q.DryRun = dryRun
			defer s.showProgress("attaching")()
			var r heddle.AttachReply
			err = s.onNetwork(cmd.Context(), args[0], toChange, func(name string) (err error) {
				q.Network = name
				r, err = s.client().Attach(cmd.Context(), q)
				return err
			})
			if err != nil {
				return err
			}
			return s.emitAttached(r, dryRun)
		},
	}
	flags.define(cmd.Flags())
	dryRunFlag(cmd, &dryRun)
	cmd.Flags().StringVar(&from, "from", "", "attach many endpoints, each by its flags in a line of a `file`")
	cmd.RegisterFlagCompletionFunc("netns", s.completeFromOrFiles(netnsNames))
	for _, free := range []string{"pid", "id", "ifname", "ip", "mac", "nic", "publish", "label", "name", "alias", "move-from", "rate", "rate-in", "rate-out", "burst"} {
		cmd.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
	return cmd
}

func (s *session) emitAttached(r heddle.AttachReply, dryRun bool) error {
	if dryRun {
		return s.emitCommands(r.Commands)
	}
	if r.Existed {
		s.note("endpoint %s was attached before", r.Endpoint.ID)
	}
	if r.Endpoint.TAP {
		s.note("the TAP device is %s; give the machine's NIC the MAC address %s", r.Endpoint.Port, r.Endpoint.MAC)
	}
	if r.Endpoint.Handover && r.Source != "" {
		s.note(`the runtime's configuration is to have: "netDevices": {"%s": {"name": "%s"}}`, r.Source, r.Endpoint.ID.IfName)
	}
	if r.Endpoint.ProgramDrives() {
		d := r.Endpoint.NIC.Device
		s.note("the NIC is device %s: give the container the files /dev/vfio/vfio and %s", d.Address, d.Node())
	}
	if r.Dark > 0 {
		s.note("the NIC has moved here; for %s no container had it", r.Dark.Round(time.Millisecond))
	}
	return s.emit("Attachment", r, func(w io.Writer) error { return s.endpointTable(w, []heddle.Endpoint{r.Endpoint}) })
}
