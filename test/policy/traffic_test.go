package policy_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const database = `
policies:
- name: database
  endpoints: {labels: {app: db}}
  rules:
  - {direction: ingress, action: allow, protocol: tcp, ports: [7000], peers: [endpoints: {labels: {app: web}}]}
  - {direction: ingress, action: allow, protocol: udp, ports: [7000-7001], peers: [endpoints: {labels: {app: web}}]}
  - {direction: ingress, action: allow, protocol: icmp, types: [echo-request], peers: [endpoints: {networks: [net]}]}
`

// TestTraffic: whom a policy selects gets what a rule allows, with answers both ways, and nothing else; whom none selects is open. Labels,
// policies and the agent come and go meanwhile.
func TestTraffic(t *testing.T) {
	w := world.New(t)
	n := w.Network(t, "net", "bridge")
	db := w.Pod(t, "db", "net", labelled("app", "db"), world.Publish("8080:7000/tcp"), world.Publish("8080:7000/udp"))
	web, other := w.Pod(t, "web", "net", labelled("app", "web")), w.Pod(t, "other", "net")
	for _, p := range []*world.Pod{db, web, other} {
		p.Serve(t, 7000, p.Addrs()...)
		p.Serve(t, 7002, p.Addrs()...)
	}
	w.Outside.Serve(t, 7000, world.Outside4, world.Outside6)
	other.Gets(t, "db", 7000, db.Addrs()...)
	w.Outside.Gets(t, "db", 8080, world.Host4)
	fast := func(p *world.Pod) bool { return endpoint(t, w, p).Fast != nil }
	if !fast(db) {
		t.Error("without a policy the fast path is not used")
	}
	before := w.Host.Dump(t)

	enforce(t, w, database)
	judge := func() {
		t.Helper()
		web.Gets(t, "db", 7000, db.Addrs()...)
		web.GetsNothing(t, 7002, db.Addrs()...)
		other.GetsNothing(t, 7000, db.Addrs()...)
		w.Outside.GetsNothing(t, 8080, world.Host4)
		w.Host.GetsNothing(t, 7000, db.Addrs()...)
		other.Reaches(t, db.Addrs()...)
		other.Gets(t, "web", 7002, web.Addrs()...)
		// what it begins is answered
		db.Gets(t, "other", 7000, other.Addrs()...)
		db.Gets(t, "outside", 7000, world.Outside4, world.Outside6)
		db.Reaches(t, append(n.Gateways, other.Addrs()...)...)
		if fast(db) || !fast(web) {
			t.Error("whom a policy selects is on the fast path, or another one is not")
		}
		w.AuditEmpty(t)
	}
	judge()
	w.Restart(t, func() { other.GetsNothing(t, 7000, db.V4()) })
	judge()

	label(t, w, other, "app=web")
	other.Gets(t, "db", 7000, db.Addrs()...)
	label(t, w, other, "app-")
	other.GetsNothing(t, 7000, db.Addrs()...)
	late := w.Pod(t, "late", "net", labelled("app", "web"))
	late.Gets(t, "db", 7000, db.Addrs()...)
	late.Leave(t)
	label(t, w, db, "app=none")
	other.Gets(t, "db", 7000, db.Addrs()...)
	w.AuditEmpty(t)
	label(t, w, db, "app=db")
	judge()
	cell.Must(t, w.DeletePolicy("database"))
	other.Gets(t, "db", 7000, db.Addrs()...)
	w.Outside.Gets(t, "db", 8080, world.Host4)
	wantCode(t, w.DeletePolicy("database"), heddle.NoPolicy)
	w.AuditEmpty(t)
	if after := w.Host.Dump(t); world.Unnumbered(after) != world.Unnumbered(before) {
		t.Errorf("policies have left something:\n%s\nbefore:\n%s", after, before)
	}
}

func endpoint(t *testing.T, w *world.World, p *world.Pod) heddle.Endpoint {
	t.Helper()
	e, err := w.Endpoint(p.Endpoint.ID)
	cell.Must(t, err)
	return e
}
