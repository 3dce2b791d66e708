package agent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-network/heddle"
)

// metrics are the agent's Prometheus series. Their labels are bounded: never a
// container's id.
type metrics struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec
	attaches *prometheus.CounterVec
}

func newMetrics(a *Agent) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "heddle_operation_seconds",
			Help:    "Time an operation took, by operation and result.",
			Buckets: []float64{.0005, .001, .0015, .002, .003, .005, .01, .02, .05, .1, .5, 1, 5}},
			[]string{"operation", "result"}),
		attaches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "heddle_endpoints_attached_total",
			Help: "Endpoints made since the start, by mode."}, []string{"mode"}),
	}
	m.registry.MustRegister(m.seconds, m.attaches, collector{a})
	return m
}

// observe is deferred with the start time and the named error of the operation.
func (m *metrics) observe(operation string, start time.Time, err *error) {
	result := "ok"
	if *err != nil {
		result = "error"
	}
	m.seconds.WithLabelValues(operation, result).Observe(time.Since(start).Seconds())
}

func (m *metrics) attached(mode string) { m.attaches.WithLabelValues(mode).Inc() }

// Metrics returns the agent's series.
func (a *Agent) Metrics() prometheus.Gatherer { return a.metrics.registry }

var (
	buildInfo = prometheus.NewDesc("heddle_build_info", "The agent's version and kernel; always 1.",
		[]string{"version", "kernel"}, nil)
	endpoints = prometheus.NewDesc("heddle_network_endpoints", "Endpoints, by network and mode.",
		[]string{"network", "mode"}, nil)
	free = prometheus.NewDesc("heddle_network_addresses_free", "Addresses left in the scarcest family.",
		[]string{"network"}, nil)
	drops = prometheus.NewDesc("heddle_dropped_packets_total", "Packets dropped by our chains, by reason.",
		[]string{"reason"}, nil)
	fast = prometheus.NewDesc("heddle_fast_path_packets_total", "Packets carried by the fast path, by path.",
		[]string{"path"}, nil)
	missed = prometheus.NewDesc("heddle_fast_path_missed_packets_total",
		"Packets that the fast path left to the host's stack, by reason.", []string{"reason"}, nil)
	repairs = prometheus.NewDesc("heddle_repaired_objects_total",
		"Kernel objects put back after somebody removed or changed them.", nil, nil)
	late = prometheus.NewDesc("heddle_late_operations",
		"Operations that have taken more than two seconds so far, by what they wait for.", []string{"waits"}, nil)
	pooled = prometheus.NewDesc("heddle_pool_nics", "NICs that wait for endpoints, by network and state: warm, or cooling.",
		[]string{"network", "state"}, nil)
	nicsWanted = prometheus.NewDesc("heddle_pool_target_nics", "NICs that should be warm, by network.", []string{"network"}, nil)
	nicSlots   = prometheus.NewDesc("heddle_nic_slots", "NICs that the provider gives to this machine, by state: free, or all.", []string{"state"}, nil)
	healthy    = prometheus.NewDesc("heddle_part_healthy", "1 where the part's status is ok.", []string{"part"}, nil)
)

// collector reads the status whenever the metrics are collected.
type collector struct{ agent *Agent }

func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, endpoints, free, drops, fast, missed, repairs, late, pooled, nicsWanted, nicSlots, healthy} {
		ch <- d
	}
}

func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.agent.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(buildInfo, 1, heddle.Version, s.Kernel)
	for _, n := range s.Networks {
		gauge(endpoints, float64(n.Endpoints), n.Name, n.Mode)
		if n.Free >= 0 {
			gauge(free, float64(n.Free), n.Name)
		}
		if own := n.NICs; own != nil {
			gauge(pooled, float64(own.Warm), n.Name, "warm")
			gauge(pooled, float64(own.Cooling), n.Name, "cooling")
			gauge(nicsWanted, float64(own.Target), n.Name)
		}
	}
	if s.NICSlots != nil {
		gauge(nicSlots, float64(s.NICSlots.Free), "free")
		gauge(nicSlots, float64(s.NICSlots.Slots), "all")
	}
	for reason, n := range s.Drops {
		ch <- prometheus.MustNewConstMetric(drops, prometheus.CounterValue, float64(n), reason)
	}
	if s.Fast != nil {
		for path, n := range s.Fast.Packets {
			ch <- prometheus.MustNewConstMetric(fast, prometheus.CounterValue, float64(n), path)
		}
		for reason, n := range s.Fast.Missed {
			ch <- prometheus.MustNewConstMetric(missed, prometheus.CounterValue, float64(n), reason)
		}
	}
	ch <- prometheus.MustNewConstMetric(repairs, prometheus.CounterValue, float64(s.Repairs))
	waits := map[string]int{"the kernel": 0}
	for _, l := range s.Late {
		waits[l.Waits]++
	}
	for what, n := range waits {
		gauge(late, float64(n), what)
	}
	for _, p := range s.Parts {
		healthy1 := 0.0
		if p.State == "ok" {
			healthy1 = 1
		}
		gauge(healthy, healthy1, p.Name)
	}
}
