package doctor

import (
	"context"
	"slices"

	"github.com/heddle-network/heddle/door/client"
)

// recordChecks are about records that other hosts have written to the cluster's store.
func recordChecks() []Check {
	return []Check{
		{ID: "cluster-records", Title: "This host takes on all records of the cluster", Wrong: "This host does not take on some records of the cluster", Severity: Warn, Looks: "the part records in 'heddle status', and the refusals in 'heddle host list'",
			Why:    "What a record says cannot be, or would harm this host, so it is left out: a network is not here, or a peer is not reached. It costs only who wrote it. The host may have an error, an older or newer agent, or be in other hands.",
			Remedy: "heddle network delete NAME, if it is a network; heddle host ranges RANGE, if its addresses are to be the cluster's; else look at the host that wrote it, and 'heddle host remove HOST' if it is not to be trusted", look: lookClusterRecords},
	}
}

func lookClusterRecords(ctx context.Context, h *Host) Finding {
	if !h.clustered() {
		return notInCluster
	}
	st, err := h.Status(ctx)
	if err != nil {
		return unknown(err)
	}
	p := st.Part("records")
	if p.State == "" || p.State == "ok" {
		return fine()
	}
	evidence := []string{"heddle status: records: " + p.Detail}
	hosts, err := ask(ctx, h, (*client.Client).Hosts)
	if err != nil {
		return unknown(err)
	}
	for _, x := range hosts {
		for _, why := range x.Refused[:min(len(x.Refused), maxRefusals)] {
			evidence = append(evidence, "heddle host list: "+x.Name+": "+why)
		}
	}
	return trouble(slices.Compact(evidence))
}

// maxRefusals is how many refusals of one host are shown.
const maxRefusals = 4
