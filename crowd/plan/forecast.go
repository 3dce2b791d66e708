package plan

import (
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// Summary is what a plan amounts to.
type Summary struct {
	Crowd  string        `json:"crowd"`
	Seed   uint64        `json:"seed"`
	Users  int           `json:"users"`
	Length time.Duration `json:"length"` // in nanoseconds
	// SHA256 is that of the plan's text.
	SHA256 string `json:"sha256"`
	// Active users have a session. Cut sessions are cut off, for having too many steps or states.
	Active   int            `json:"active"`
	Cut      int            `json:"cut"`
	Mistakes int64          `json:"mistakes"`
	Personas map[string]int `json:"personas"`         // users of each
	Linked   int            `json:"linked,omitempty"` // users with a link of their own
	// Captured are users whose packets are captured. The plan does not know of it.
	Captured int     `json:"captured,omitempty"`
	Total    Amounts `json:"total"`
	// Minutes are what is expected in each minute, from the first.
	Minutes []Amounts `json:"minutes"`
	Peak    Peak      `json:"peak"`
	// Served has the most connections that are open at one time to each service that is by a program.
	Served map[string]int64 `json:"served,omitempty"`
	// Caches count the objects of pages, by the behaviour, of those that have a cache.
	Caches map[string]Objects `json:"caches,omitempty"`
	// by is what answers for each service.
	by map[string]scenario.Server
	// shared says that other machines have a part of the crowd.
	shared bool
}

// Peak is the most there is at one time, to a second.
type Peak struct {
	Sessions    int64 `json:"sessions"`    // that are going on
	Connections int64 `json:"connections"` // that are open
	// Answered are connections that are open to what the crowd itself has at the far end: users, and services that are
	// built in.
	Answered int64 `json:"answered"`
	// Neighbours are connections that are open, or have been until up to five seconds ago: longer the kernel keeps no
	// entry of a full table (neigh_forced_gc).
	Neighbours int64 `json:"neighbours"`
	// Tracked connections are open, or have been until up to two minutes ago
	// (nf_conntrack_tcp_timeout_time_wait).
	Tracked int64 `json:"tracked"`
	// Ports are connections to one service that are open, or have been until up to a minute ago (TCP_TIMEWAIT_LEN).
	Ports int64 `json:"ports"`
}

const (
	neighbourAfter = 5   // seconds
	trackedAfter   = 120 // seconds
	portAfter      = 60  // seconds
)

// forecast adds diaries up.
type forecast struct {
	Summary
	sessions *level
	services map[string]*level // connections
	// answered are connections to the services that are here, of users on all machines, if there are several.
	answered map[string]*level
}

func newForecast(s scenario.Scenario, h Here) *forecast {
	length := time.Duration(s.Clock.Length)
	f := &forecast{
		Summary: Summary{Crowd: s.Name, Seed: s.Seed, Users: s.Users, Length: length, Personas: map[string]int{},
			Caches: map[string]Objects{}, Minutes: make([]Amounts, (length+time.Minute-1)/time.Minute), by: s.Servers()},
		sessions: newLevel(length), services: map[string]*level{}, answered: map[string]*level{},
	}
	if h.User == nil {
		return f
	}
	f.shared, f.Users = true, 0
	for number := 1; number <= s.Users; number++ {
		if h.User(number) {
			f.Users++
		}
	}
	for i, name := range scenario.Sorted(f.by) {
		if h.Service(i + 1) {
			f.answered[name] = newLevel(length)
		}
	}
	return f
}

// answer counts the connections of a user's diary to services that are here, if there are several machines.
func (f *forecast) answer(d Diary) {
	if !f.shared {
		return
	}
	for _, s := range d.Sessions {
		begins, end := s.Begins()
		for i, step := range s.Steps {
			if l := f.answered[step.Do.Service()]; l != nil && step.Connections > 0 {
				l.add(s.Start+begins[i], s.Start+closes(step, begins[i], end), int64(step.Connections))
			}
		}
	}
}

// closes is when a step's connections are closed, since its session began.
func closes(s Step, begins, end time.Duration) time.Duration {
	if s.Keep {
		return end
	}
	return begins + s.Takes()
}

func (f *forecast) add(d Diary) {
	f.Personas[d.Persona]++
	f.Cut += d.Cut
	if len(d.Sessions) > 0 {
		f.Active++
	}
	for _, s := range d.Sessions {
		begins, end := s.Begins()
		f.minute(s.Start).Sessions++
		f.sessions.add(s.Start, s.Start+end, 1)
		for i, step := range s.Steps {
			if step.Cache != nil {
				f.Caches[s.Behaviour] = f.Caches[s.Behaviour].Plus(step.Objects())
			}
			f.addStep(step, s.Start+begins[i], s.Start+end)
		}
	}
}

// minute is the minute of a time, or the last one.
func (f *forecast) minute(at time.Duration) *Amounts {
	return &f.Minutes[min(int(at/time.Minute), len(f.Minutes)-1)]
}

func (f *forecast) addStep(s Step, at, end time.Duration) {
	m := f.minute(at)
	m.Steps++
	m.Connections += int64(s.Connections)
	if s.Mistake != "" {
		f.Mistakes++
	}
	if s.Connections > 0 {
		closed := closes(s, at, end)
		l := f.services[s.Do.Service()]
		if l == nil {
			l = newLevel(f.Length)
			f.services[s.Do.Service()] = l
		}
		l.add(at, closed, int64(s.Connections))
	}
	requests := s.Requests()
	sent, received := s.Bytes()
	if s.Every == 0 {
		*m = m.Plus(Amounts{Requests: requests, Sent: sent, Received: received})
		return
	}
	// What goes by the clock is spread over the minutes in which the step lasts.
	f.spread(at, s.Lasts, requests, sent/requests, received/requests)
}

// spread counts requests that come evenly for as long as a step lasts; those after the crowd's end are left out.
func (f *forecast) spread(at, lasts time.Duration, requests, sent, received int64) {
	done := int64(0)
	for until := at - at%time.Minute + time.Minute; done < requests && at < f.Length; until += time.Minute {
		upTo := requests
		if part := min(until, f.Length) - at; part < lasts {
			upTo = max(done, int64(float64(requests)*(float64(part)/float64(lasts))))
		}
		n := upTo - done
		m := f.minute(until - time.Minute)
		*m = m.Plus(Amounts{Requests: n, Sent: n * sent, Received: n * received})
		done = upTo
		if until >= f.Length {
			return
		}
	}
}

func (f *forecast) summary(sum string) Summary {
	f.SHA256 = sum
	f.Total = Amounts{}
	for _, m := range f.Minutes {
		f.Total = f.Total.Plus(m)
	}
	f.Peak.Sessions, f.Served = peak(0, f.sessions), map[string]int64{}
	var all, answered []*level
	for _, name := range scenario.Sorted(f.services) {
		l := f.services[name]
		all = append(all, l)
		if f.by[name].By == "" && !f.shared {
			answered = append(answered, l)
		} else if f.by[name].By != "" {
			f.Served[name] = peak(0, l)
		}
		f.Peak.Ports = max(f.Peak.Ports, peak(portAfter, l))
	}
	for _, name := range scenario.Sorted(f.answered) {
		answered = append(answered, f.answered[name])
	}
	if names, has := f.by[scenario.Names]; has && names.By != "" {
		f.Served[scenario.Names] = 0 // questions have no connections
	}
	if len(all) > 0 {
		f.Peak.Connections, f.Peak.Tracked = peak(0, all...), peak(trackedAfter, all...)
		f.Peak.Neighbours = peak(neighbourAfter, all...)
	}
	if len(answered) > 0 {
		f.Peak.Answered = peak(0, answered...)
	}
	return f.Summary
}
