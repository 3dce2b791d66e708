package bench

import (
	"context"
	"slices"
)

// handled is the key under which a reader returns how many things (packets, transactions,
// megabytes) its program handled. It is not a figure: the CPU time is divided by it.
const handled = "handled"

// costName is the figure of CPU time: what the whole machine used in the window, without stolen
// time, divided by what was handled. It is left out if the kernel, which counts in steps of 10 ms,
// counted nothing.
const costName = "cost"

func cost(of string) Figure { return Figure{costName, "µs of CPU per " + of, LowerIsBetter} }

// toolRun is a session with a server for each pair. The clients start when it is their turn, and
// end by themselves.
type toolRun struct {
	set     Setting
	all     []*child
	client  func(Pair) []string
	read    func(text string) (map[string]float64, error)
	sums    []string // these figures are added up over the pairs
	ends    bool     // the CPUs of both ends are read, see endFigures
	cleanup func()
}

// serve starts a server for each pair, and waits until its port is open.
func (r *toolRun) serve(ctx context.Context, proto string, argv func(Pair) []string) error {
	for _, p := range r.set.Pairs {
		server, err := r.set.server(p, argv(p)...)
		if err == nil {
			r.all = append(r.all, server)
			err = awaitListening(ctx, r.set, p, server, proto)
		}
		if err != nil {
			r.Close()
			return err
		}
	}
	return nil
}

// Close ends whatever still runs.
func (r *toolRun) Close() {
	for _, c := range r.all {
		c.kill()
	}
	if r.cleanup != nil {
		r.cleanup()
	}
}

// Measure starts all clients, and combines their results.
func (r *toolRun) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	w.Open()
	clients, err := r.start(ctx, r.client)
	w.Close()
	if err != nil {
		return nil, err
	}
	readings, err := r.readAll(clients)
	if err != nil {
		return nil, err
	}
	all := w.handledIn(combineReadings(readings, r.sums...))
	if r.ends {
		w.addEnds(all, r.set.cores)
	}
	return all, nil
}

// start starts a program in each pair's client, and waits for all.
func (r *toolRun) start(ctx context.Context, argv func(Pair) []string) ([]*child, error) {
	var clients []*child
	for _, p := range r.set.Pairs {
		c, err := r.set.client(p, argv(p)...)
		if err != nil {
			return nil, err
		}
		clients, r.all = append(clients, c), append(r.all, c)
	}
	for _, c := range clients {
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
	}
	return clients, nil
}

func (r *toolRun) readAll(clients []*child) ([]map[string]float64, error) {
	var all []map[string]float64
	for _, c := range clients {
		one, err := r.read(c.out.String())
		if err != nil {
			return nil, fail("read", c.what, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// combineReadings takes the sum over the pairs of the named figures and of what was
// handled, and the median of all others.
func combineReadings(readings []map[string]float64, sums ...string) map[string]float64 {
	all := medianOver(readings)
	for name := range all {
		if name == handled || slices.Contains(sums, name) {
			all[name] = 0
			for _, r := range readings {
				all[name] += r[name]
			}
		}
	}
	return all
}
