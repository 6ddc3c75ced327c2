package metrics

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// Metrics are the numbers of one service. Make them with New; a nil *Metrics counts nothing.
type Metrics struct {
	registry registry
	results  results
	tools    names
	queues   queues

	http    httpMetrics
	answers answerMetrics
	calls   callMetrics
	backend backendMetrics
}

// A registry makes and knows the numbers.
type registry struct{ *prometheus.Registry }

func (r registry) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(c)
	return c
}

func (r registry) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	r.MustRegister(g)
	return g
}

func (r registry) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(h)
	return h
}

// Buckets of histograms. Those of gen_ai are the convention's.
var (
	httpBuckets     = []float64{.1, .5, 1, 2, 5, 10, 30, 60}
	durationBuckets = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	firstBuckets    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}
	perTokenBuckets = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216,
		67108864}
)

// New returns the numbers of a service of this version.
func New(version string) *Metrics {
	r := registry{prometheus.NewRegistry()}
	m := &Metrics{registry: r, http: newHTTPMetrics(r), answers: newAnswerMetrics(r), calls: newCallMetrics(r),
		backend: newBackendMetrics(r)}
	build := r.gauge("wield_build_info", "Is 1, for the version that runs.", "version")
	build.WithLabelValues(version).Set(1)
	r.MustRegister(&m.queues, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// httpMetrics are the numbers of HTTP requests.
type httpMetrics struct {
	requests     *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	authFailures *prometheus.CounterVec
	errors       *prometheus.CounterVec
}

func newHTTPMetrics(r registry) httpMetrics {
	return httpMetrics{
		requests: r.counter("wield_http_requests_total", "HTTP requests that were answered.", "endpoint", "method",
			"status", "streaming"),
		duration: r.histogram("wield_http_request_duration_seconds",
			"Time from a request to the end of its answer.", httpBuckets, "endpoint", "method"),
		authFailures: r.counter("wield_auth_failures_total",
			"Requests whose key was missing, wrong, or not good for what they asked.",
			"reason"),
		errors: r.counter("wield_errors_total", "Requests that ended with an error, by its kind.", "type"),
	}
}

// answerMetrics are the numbers of answers of models to clients.
type answerMetrics struct {
	ended                *prometheus.CounterVec
	messages             *prometheus.CounterVec
	conversations        *prometheus.CounterVec
	invalidContinuations *prometheus.CounterVec
	tokens               *prometheus.CounterVec
	inFlight             *prometheus.GaugeVec
	overruns             *prometheus.CounterVec
	bounces              *prometheus.CounterVec
	duration             *prometheus.HistogramVec
	firstToken           *prometheus.HistogramVec
	perToken             *prometheus.HistogramVec
}

func newAnswerMetrics(r registry) answerMetrics {
	return answerMetrics{
		ended: r.counter("wield_answers_total",
			"Requests for an answer of a model, by how it ended: a finish reason or the kind of an error.",
			"model", "backend", "dialect", "outcome"),
		messages: r.counter("wield_messages_total",
			"Messages that were new in their conversation, answers among them.", "role"),
		conversations: r.counter("wield_conversations_created_total", "Requests that began a conversation.",
			"model"),
		invalidContinuations: r.counter("wield_invalid_continuations_total",
			"Requests that named a conversation and contradicted what was said in it.",
			"model"),
		tokens: r.counter("wield_tokens_total", "Tokens as backends count them, all requests of an answer "+
			"together. Cached is part of input, reasoning of output.", "model", "type"),
		inFlight: r.gauge("wield_requests_in_flight", "Requests for an answer of a model that are under way.", "model"),
		overruns: r.counter("wield_overruns_total", "Answers in which the model went on past the end of its turn. "+
			"Hard: at the header of another party; soft: at what may be text.", "model", "backend", "dialect", "end"),
		bounces: r.counter("wield_bounces_total", "Answers that were asked for again.", "model", "backend", "dialect",
			"reason"),
		duration: r.histogram("gen_ai_server_request_duration_seconds",
			"Time from a client's request for an answer to its end.", durationBuckets,
			"gen_ai_operation_name", "gen_ai_request_model", "error_type"),
		firstToken: r.histogram("gen_ai_server_time_to_first_token_seconds",
			"Time from a client's request to the first text, reasoning or call for it.",
			firstBuckets,
			"gen_ai_operation_name", "gen_ai_request_model"),
		perToken: r.histogram("gen_ai_server_time_per_output_token_seconds",
			"Time between two tokens, on average over an answer, after the first.",
			perTokenBuckets,
			"gen_ai_operation_name", "gen_ai_request_model"),
	}
}

// callMetrics are the numbers of calls in answers.
type callMetrics struct {
	tools     *prometheus.CounterVec
	whole     *prometheus.CounterVec
	rejected  *prometheus.CounterVec
	converted *prometheus.CounterVec
	repairs   *prometheus.CounterVec
}

func newCallMetrics(r registry) callMetrics {
	return callMetrics{
		tools: r.counter("wield_tool_calls_total", "Calls of tools. Detected: found in an answer. Invalid, "+
			"misrouted: no use as it was. Completed: its result has come back, counted once.", "type", "status",
			"tool_name"),
		whole: r.counter("wield_calls_total",
			"Whole calls that went to clients, by the channel they came through.", "model", "backend", "dialect",
			"origin"),
		rejected: r.counter("wield_rejected_calls_total", "Attempts at a call that could not be used.", "model",
			"backend", "dialect", "reason"),
		converted: r.counter("wield_converted_calls_total",
			"Calls that came through the wrong channel and were taken over.", "model", "backend", "dialect"),
		repairs: r.counter("wield_repairs_total", "Repairs and conversions of calls, by kind.", "model", "kind"),
	}
}

// backendMetrics are the numbers of requests to backends.
type backendMetrics struct {
	requests   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	firstToken *prometheus.HistogramVec
	tokens     *prometheus.HistogramVec
}

func newBackendMetrics(r registry) backendMetrics {
	return backendMetrics{
		requests: r.counter("wield_backend_requests_total", "Requests to backends, by how they ended: ok, stopped "+
			"because its answer had come to its end, or the kind of an error.", "backend", "status"),
		duration: r.histogram("gen_ai_client_operation_duration_seconds", "Time of one request to a backend.",
			durationBuckets, "gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "backend",
			"error_type"),
		firstToken: r.histogram("gen_ai_client_operation_time_to_first_chunk_seconds",
			"Time from a request to a backend to the first piece of its answer.", firstBuckets,
			"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "backend"),
		tokens: r.histogram("gen_ai_client_token_usage", "Tokens of one request to a backend.", tokenBuckets,
			"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "backend", "gen_ai_token_type"),
	}
}

// ContentType is that of what Append appends.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Append appends all numbers in the text format of Prometheus.
func (m *Metrics) Append(dst []byte) ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return dst, err
	}
	b := bytes.NewBuffer(dst)
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(b, f); err != nil {
			return b.Bytes(), err
		}
	}
	return b.Bytes(), nil
}

// An HTTPRequest is one that was answered.
type HTTPRequest struct {
	Endpoint  string // pattern of the URL; empty: none that is known
	Method    string
	Status    int
	Streaming bool
	Took      time.Duration
	Error     string // kind of the error it ended with; empty: none
}

// Exchange counts an HTTP request.
func (m *Metrics) Exchange(e HTTPRequest) {
	if m == nil {
		return
	}
	if e.Endpoint == "" {
		e.Endpoint = "unknown"
	}
	method := methodLabel(e.Method)
	m.http.requests.WithLabelValues(e.Endpoint, method, strconv.Itoa(e.Status), strconv.FormatBool(e.Streaming)).Inc()
	m.http.duration.WithLabelValues(e.Endpoint, method).Observe(e.Took.Seconds())
	if e.Error != "" {
		m.http.errors.WithLabelValues(e.Error).Inc()
	}
	switch e.Status {
	case http.StatusUnauthorized:
		m.http.authFailures.WithLabelValues("key").Inc()
	case http.StatusForbidden:
		m.http.authFailures.WithLabelValues("forbidden").Inc()
	}
}

// InvalidContinuation counts a request that names a conversation and contradicts it.
func (m *Metrics) InvalidContinuation(model string) {
	if m != nil {
		m.answers.invalidContinuations.WithLabelValues(model).Inc()
	}
}

// methodLabel keeps a method that a client made up from becoming a label.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions,
		http.MethodPatch:
		return method
	}
	return "other"
}

// Queue makes the queue of a backend visible. running and waiting tell its requests under way and in the
// queue; a later queue of the same name takes the place of an earlier one.
func (m *Metrics) Queue(backend string, running, waiting func() int) {
	if m == nil {
		return
	}
	m.queues.mu.Lock()
	defer m.queues.mu.Unlock()
	if m.queues.byName == nil {
		m.queues.byName = map[string]queue{}
	}
	m.queues.byName[backend] = queue{running, waiting}
}

// queues is the collector of the queues in front of backends.
type queues struct {
	mu     sync.Mutex
	byName map[string]queue
}

type queue struct{ running, waiting func() int }

var (
	queueDesc = prometheus.NewDesc("wield_request_queue_size", "Requests that wait for their turn at a backend.",
		[]string{"backend"}, nil)
	runningDesc = prometheus.NewDesc("wield_backend_requests_in_flight", "Requests under way at a backend.",
		[]string{"backend"}, nil)
)

func (q *queues) Describe(ch chan<- *prometheus.Desc) {
	ch <- queueDesc
	ch <- runningDesc
}

func (q *queues) Collect(ch chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, b := range q.byName {
		ch <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(b.waiting()), name)
		ch <- prometheus.MustNewConstMetric(runningDesc, prometheus.GaugeValue, float64(b.running()), name)
	}
}
