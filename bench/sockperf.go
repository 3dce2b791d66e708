package bench

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// How sockperf 3.7 is used
//
// Time. A client sends a few messages, sleeps two seconds, and starts; -t accepts only whole
// seconds. So clients are started before their turn, many at a time, and are stopped (SIGSTOP) in
// that sleep. SIGCONT starts the test at once, and SIGINT ends it after exactly the wanted time,
// with the usual summary:
//
//	start  "Warmup stage"  STOP ......... CONT "Starting test"  INT  summary
//	|--0.1 s--|----- 2 s, together -----|      |-- duration --|-0.1 s-|
//
// -t is set a little longer, as a second limit. It must not be large: ping-pong reserves memory for
// every message that it could send in that time.
//
// Counts. The client's "throughput" is what it sent, lost or not. The server is ended with SIGINT,
// and then prints how many messages it handled. That number is exact: it equals the growth of
// InDatagrams in its namespace. Unlike that counter, it does not contain other programs' datagrams
// if the endpoint is the host itself. Each cell has a server of its own, so the total is the
// cell's. Neither count includes the messages of the warm-up stage.
//
// Latency. sockperf prints half of the round trip, and leaves out the first 400 ms and the last 50
// ms. The under-load client's sender spins between messages, so its core is always busy.
const (
	clientSleep   = 2 * time.Second
	latencyWarmup = 450 * time.Millisecond
	stopCost      = 150 * time.Millisecond
	// drain is the time for the server to read what is queued on its socket.
	drain = 50 * time.Millisecond
)

// sleepingClient is a sockperf client, which sleeps before it starts.
type sleepingClient struct{}

func (sleepingClient) sleep() time.Duration { return clientSleep }

// sockperfRun is a session of one server and one stopped client per pair.
type sockperfRun struct {
	set              Setting
	duration         time.Duration
	servers, clients []*child
	startable        time.Time
	// perClient are more options of one pair's client; it may be nil.
	perClient func(pair int) []string
	read      func(pair int, client, server string) (map[string]float64, error)
	sums      []string // these figures are added up over the pairs
	finish    func(map[string]float64)
	cleanup   func()
}

func (r *sockperfRun) prepare(ctx context.Context, argv ...string) error {
	n := len(r.set.Pairs)
	r.servers, r.clients = make([]*child, n), make([]*child, n)
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i, p := range r.set.Pairs {
		wait.Go(func() { errs[i] = r.preparePair(ctx, i, p, argv) })
	}
	wait.Wait()
	r.startable = time.Now().Add(clientSleep)
	if err := errors.Join(errs...); err != nil {
		r.Close()
		return err
	}
	return nil
}

func (r *sockperfRun) preparePair(ctx context.Context, i int, p Pair, argv []string) error {
	port, size := r.set.port(p), strconv.Itoa(r.set.Cell.Size)
	server, err := r.set.server(p, "sockperf", "server", "-i", p.anyAddress(), "-p", port)
	if err != nil {
		return err
	}
	r.servers[i] = server
	if err := awaitListening(ctx, r.set, p, server, "udp"); err != nil {
		return err
	}
	argv = append([]string{"sockperf"}, append(argv, "-i", p.target(), "-p", port, "-m", size, "-t", strconv.Itoa(clientLimit(r.duration)))...)
	if r.perClient != nil {
		argv = append(argv, r.perClient(i)...)
	}
	client, err := r.set.client(p, argv...)
	if err != nil {
		return err
	}
	r.clients[i] = client
	if err := client.says(ctx, "Warmup stage"); err != nil {
		return err
	}
	// A client that is stopped before it sleeps would sleep when its turn comes.
	time.Sleep(50 * time.Millisecond)
	client.signal(syscall.SIGSTOP)
	return nil
}

// clientLimit is the option -t of a client, in seconds.
func clientLimit(d time.Duration) int { return wholeSeconds(d) + 1 }

// Measure runs all clients at once. The window of machines encloses the run, of which the counts are: to read what machines account
// takes them a while, in which messages are sent.
func (r *sockperfRun) Measure(ctx context.Context, w *Window) (map[string]float64, error) {
	if err := pause(ctx, time.Until(r.startable)); err != nil {
		return nil, err
	}
	open, end := w.Open, w.Close
	if w.ofMachines() {
		w.Open()
		open, end = func() {}, func() {}
	}
	if err := r.run(ctx, open, end); err != nil {
		return nil, err
	}
	if w.ofMachines() {
		w.Close()
	}
	all, err := r.readings()
	if err != nil {
		return nil, err
	}
	return w.handledIn(all), nil
}

// run continues all clients, calls open when they send and end before they are told to stop, and ends the servers.
func (r *sockperfRun) run(ctx context.Context, open, end func()) error {
	for _, c := range r.clients {
		c.signal(syscall.SIGCONT)
	}
	for _, c := range r.clients {
		if err := c.says(ctx, "Starting test"); err != nil {
			return err
		}
	}
	open()
	if err := pause(ctx, r.duration); err != nil {
		return err
	}
	end()
	if err := interrupt(ctx, r.clients, "Test end"); err != nil {
		return err
	}
	time.Sleep(drain)
	return interrupt(ctx, r.servers, "")
}

// interrupt ends programs with SIGINT, as Ctrl-C does, so that they print their summary.
func interrupt(ctx context.Context, all []*child, expected string) error {
	for _, c := range all {
		c.signal(syscall.SIGINT)
	}
	for _, c := range all {
		if err := c.wait(ctx); err != nil {
			return err
		}
		if expected != "" {
			if err := c.says(ctx, expected); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *sockperfRun) readings() (map[string]float64, error) {
	var all []map[string]float64
	for i := range r.clients {
		one, err := r.read(i, r.clients[i].out.String(), r.servers[i].out.String())
		if err != nil {
			return nil, fail("read", r.clients[i].what, err)
		}
		all = append(all, one)
	}
	sum := combineReadings(all, r.sums...)
	if r.finish != nil {
		r.finish(sum)
	}
	return sum, nil
}

// Close ends whatever still runs.
func (r *sockperfRun) Close() {
	for _, c := range append(r.clients, r.servers...) {
		if c != nil {
			c.kill()
		}
	}
	if r.cleanup != nil {
		r.cleanup()
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fail("measure", "sockperf", ctx.Err())
	}
}
