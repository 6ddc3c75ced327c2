package metrics

import "github.com/prometheus/client_golang/prometheus"

// Observe adds a number that is asked for when somebody looks.
func (m *Metrics) Observe(name, help string, value func() float64) {
	if m != nil {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
}
