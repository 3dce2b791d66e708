package agent

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/vpcroute"
)

// vpcRoutes are the static routes of a VPC, and what the kernel has for them. That is computed from them, from the networks and the endpoints.
type vpcRoutes struct {
	kernel   PlanApplier
	log      *slog.Logger
	trip     tripwire
	ledger   *ledger
	networks *register
	records  *records
	wanted   *wantedObjects
	problems *problems
	flows    *flows

	// unsettled says that something has failed, and that the patrol has to try it again.
	unsettled atomic.Bool
	// updating is held while the kernel is brought in line.
	updating mutex[atVPCRoutes]
	// gone is what could not be removed yet; the patrol tries it again.
	gone leftovers
	// leads is where packets of connections that are tracked may go, by prefix; leadsErr why some could not be forgotten.
	leads    vpcroute.Leads
	leadsErr error

	mu rwMutex[atVPCRouteList]
	// table and state are replaced as a whole, by the holder of updating.
	table vpcroute.Table
	state heddle.State
}

// routeOwner owns the objects of routes among problems and findings.
const routeOwner = "VPC routes"

// now returns the routes. Nobody changes them.
func (v *vpcRoutes) now() vpcroute.Table {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.table
}

// wants is what the kernel has for them.
func (v *vpcRoutes) wants() heddle.State {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state
}

func (v *vpcRoutes) set(table vpcroute.Table, state heddle.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.table, v.state = table, state
}

// members are the endpoints that are made and not about to go, on networks of a mode whose ports guard, and the host if there is a way out by it.
func (v *vpcRoutes) members() (all []vpcroute.Member) {
	networks := map[string]*network{}
	for _, n := range v.networks.copies() {
		networks[n.ID] = n
	}
	for _, n := range networks {
		if n.Mode == heddle.ModeGateway && len(n.plan.Host.Links) > 0 {
			all = append(all, vpcroute.Member{Host: true, Network: n.Name, Link: n.plan.Host.Links[0].Name, Addrs: n.Gateways})
		}
	}
	v.records.each(func(r record, op string) {
		n := networks[r.Endpoint.Network]
		if n == nil || op == intentAttach || op == intentDetach {
			return
		}
		m := vpcroute.Member{ID: r.Endpoint.ID, Network: n.Name, Link: n.BridgeName(0)}
		if g, can := n.mode.(heddle.PortGuarder); can && g.GuardsPorts() {
			m.Port = r.Endpoint.ID.PortName()
		}
		for _, a := range r.Endpoint.Addrs {
			m.Addrs = append(m.Addrs, a.Addr())
		}
		all = append(all, m)
	})
	return all
}

// compile computes what the kernel has to have.
func (v *vpcRoutes) compile(table vpcroute.Table) heddle.State {
	return table.Compile(v.networks.all(), v.members())
}

// apply brings the kernel in line with routes. After an error all is as before.
func (v *vpcRoutes) apply(table vpcroute.Table) error {
	old, next := v.state, v.compile(table)
	add, gone := heddle.Delta(old, next)
	v.wanted.add(next)
	if !add.Empty() {
		if _, err := v.kernel.Apply(heddle.Plan{Host: add}, nil); err != nil {
			v.wanted.drop(next)
			return err
		}
	}
	v.set(table, next)
	v.wanted.drop(old)
	v.gone.add(gone)
	v.gone.remove(v.kernel, v.wanted)
	v.forget()
	v.tell(nil)
	return nil
}

// forget makes the host forget the connections whose packets go elsewhere now: a connection that is tracked passes isolation, and its next packet is checked as a
// new one's. What cannot be forgotten is tried again by the patrol.
func (v *vpcRoutes) forget() {
	next := v.table.Leads(v.networks.all(), v.members())
	changed, stay := v.leads.Changed(next)
	if v.leadsErr = v.flows.forgetPrefixes(changed, stay); v.leadsErr != nil {
		v.leads.Doubt(changed)
		return
	}
	v.leads = next
}

// refresh follows networks and endpoints that have come, changed or gone. What fails is told, and tried again.
func (v *vpcRoutes) refresh() {
	v.updating.Lock()
	defer v.updating.Unlock()
	if len(v.table) == 0 && len(v.gone.states) == 0 && v.leadsErr == nil {
		v.leads = v.table.Leads(v.networks.all(), nil)
		return
	}
	if err := v.apply(v.table); err != nil {
		v.tell(err)
	}
}

// tell tells of what has failed, and has the patrol try it again.
func (v *vpcRoutes) tell(err error) {
	err = errors.Join(err, v.gone.err, v.leadsErr)
	v.unsettled.Store(err != nil)
	v.problems.noteUnrepaired(routeOwner, err)
	if err != nil {
		v.log.Error("the routes of the VPC are not as they should be", "error", err)
	}
}

// look is the patrol's: it tries again what has failed.
func (v *vpcRoutes) look() {
	if v.unsettled.Load() {
		v.refresh()
	}
}

// restore brings the kernel in line with the ledger. What fails must not prevent the start.
func (v *vpcRoutes) restore(table vpcroute.Table) {
	v.updating.Lock()
	defer v.updating.Unlock()
	state := v.compile(table)
	v.wanted.add(state)
	v.set(table, state)
	v.leads = vpcroute.Table{}.Leads(v.networks.all(), nil) // an agent that was killed may have forgotten nothing
	if state.Empty() {
		return
	}
	_, err := v.kernel.Apply(heddle.Plan{Host: state}, nil)
	if err != nil {
		v.kernel.Mend(state)
	}
	v.forget()
	v.tell(err)
}

// repair puts back what somebody has removed or changed.
func (v *vpcRoutes) repair() ([]string, error) {
	v.updating.Lock()
	defer v.updating.Unlock()
	return v.kernel.Mend(v.state)
}
