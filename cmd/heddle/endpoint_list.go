package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newEndpointList(s *session) *cobra.Command {
	var filter []string
	quiet, everywhere := false, false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the endpoints of this host, or of all hosts",
		Long: `list shows endpoints: of an id that a container engine has made the first 12
digits, and no more of a name than a table has room for. -o wide shows all of
everything.

With --all-hosts it shows those of other hosts as well, as far as this host knows
them: endpoints with a name (heddle attach --name; Kubernetes' pods have one) on
networks that hosts share. What has no name, and what is on a network of one host
alone, only that host knows. Of others' endpoints there are no ports and no labels,
and while a host is away, they are as it last said.`,
		Example: `  heddle endpoint list
  heddle endpoint list --filter network=front --filter label=app
  heddle endpoint list -o wide
  heddle endpoint list -q
  heddle endpoint list --all-hosts --filter name=shop
  heddle endpoint list -o yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := s.client().EndpointsBy
			everywhere = everywhere || hasFilter(filter, "host")
			if everywhere {
				list = s.client().EndpointsEverywhere
			}
			all, err := list(cmd.Context(), filter)
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, all, func(e heddle.Endpoint) string { return e.ID.String() })
			}
			return s.emit("EndpointList", listOf(all), func(w io.Writer) error {
				if everywhere {
					defer s.noteOthers(cmd, filter)
				}
				return s.endpointTable(w, all)
			})
		},
	}
	cmd.Flags().BoolVar(&everywhere, "all-hosts", false, "also what is known of the other hosts' endpoints (as with --filter host=NAME)")
	s.filterFlag(cmd, &filter, filterKeys{
		"network": s.networkNames, "name": s.nameWords, "host": s.hostNames})
	s.quietFlag(cmd, &quiet)
	return cmd
}

// noteOthers tells what a list of all hosts' endpoints cannot have.
func (s *session) noteOthers(cmd *cobra.Command, filter []string) {
	peers, err := s.client().Peers(cmd.Context())
	if err != nil || len(peers) == 0 {
		return
	}
	if hasFilter(filter, heddle.FilterLabel) {
		s.note("other hosts tell no labels: their endpoints are left out")
	} else {
		s.note("of other hosts, only endpoints with a name on networks that hosts share are known here")
	}
	for _, p := range peers {
		if p.Store != "alive" {
			s.note("host %s is %s: its endpoints are as it last said", p.Name, p.Store)
		}
	}
}

// endpointTable shows endpoints: their hosts and names if any has one, and all columns if the table is
// wide.
func (s *session) endpointTable(w io.Writer, all []heddle.Endpoint) error {
	if len(all) == 0 {
		s.note("no endpoints")
		return nil
	}
	has := func(property func(heddle.Endpoint) string) bool {
		return slices.ContainsFunc(all, func(e heddle.Endpoint) bool { return property(e) != "" })
	}
	host := func(e heddle.Endpoint) string { return s.brief(e.Host) }
	name := func(e heddle.Endpoint) string { return s.brief(e.Name) }
	var columns []tableColumn[heddle.Endpoint]
	add := func(head string, cell func(heddle.Endpoint) string) {
		columns = append(columns, tableColumn[heddle.Endpoint]{head, cell})
	}
	if has(host) {
		add("host", host)
	}
	add("id", func(e heddle.Endpoint) string { return s.briefID(e.ID) })
	if s.isWide() || has(name) {
		add("name", name)
	}
	add("network", func(e heddle.Endpoint) string { return s.brief(e.NetworkName) })
	add("addresses", func(e heddle.Endpoint) string { return joinList(e.Addrs) })
	if s.isWide() || !has(host) { // others' ports are not known
		add("ports", formatPorts)
	}
	if s.isWide() {
		add("aliases", func(e heddle.Endpoint) string { return strings.Join(e.Aliases, ",") })
		add("mac", func(e heddle.Endpoint) string { return string(e.MAC) })
		add("mtu", func(e heddle.Endpoint) string { return formatBytes(e.MTU) })
		add("host's end", func(e heddle.Endpoint) string { return e.Port })
		add("limits", func(e heddle.Endpoint) string { return e.Limits.String() })
		add("namespace", func(e heddle.Endpoint) string { return e.Netns })
		add("labels", func(e heddle.Endpoint) string { return heddle.LabelText(e.Labels) })
		add("created", func(e heddle.Endpoint) string { return formatTime(e.Created) })
	}
	return writeColumns(w, s.width(), columns, all)
}
