package compose

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"strings"
	"testing"

	"wield/internal/capture"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/metrics"
	"wield/internal/runs"
	"wield/internal/stats"
	"wield/internal/testlevel"
	"wield/journal"
)

func (l weight) openai() object {
	var messages, tools []any
	for _, m := range l.said {
		o := object{"role": m.role}
		switch {
		case len(m.parts) == 1:
			o["content"] = m.parts[0]
		case len(m.parts) > 1:
			var parts []any
			for _, p := range m.parts {
				parts = append(parts, object{"type": "text", "text": p})
			}
			o["content"] = parts
		}
		switch {
		case m.of != "" && l.legacy:
			o["role"], o["name"] = "function", m.of
		case m.of != "":
			o["tool_call_id"] = m.of
		}
		var calls []any
		for _, c := range m.calls {
			if l.legacy {
				o["function_call"] = object{"name": c.id, "arguments": c.args}
				continue
			}
			calls = append(calls,
				object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		messages = append(messages, o)
	}
	for _, t := range l.tools {
		tools = append(tools,
			object{"type": "function", "function": object{"name": t.name, "parameters": json.RawMessage(t.parameters)}})
	}
	b := object{"messages": messages}
	if tools != nil {
		b["tools"] = tools
	}
	if l.stop != nil {
		b["stop"] = l.stop
	}
	return b
}

func (l weight) responses() object {
	var items, tools []any
	for _, m := range l.said {
		if m.of != "" {
			items = append(items, object{"type": "function_call_output", "call_id": m.of, "output": m.parts[0]})
			continue
		}
		for _, text := range m.thoughts {
			items = append(items,
				object{"type": "reasoning", "summary": []any{object{"type": "summary_text", "text": text}}})
		}
		if len(m.parts) > 0 {
			var parts []any
			for _, p := range m.parts {
				kind := "input_text"
				if m.role == "assistant" {
					kind = "output_text"
				}
				parts = append(parts, object{"type": kind, "text": p})
			}
			items = append(items, object{"type": "message", "role": m.role, "content": parts})
		}
		for _, c := range m.calls {
			items = append(items, object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.args})
		}
	}
	for _, t := range l.tools {
		tools = append(tools, object{"type": "function", "name": t.name, "parameters": json.RawMessage(t.parameters),
			"strict": false})
	}
	b := object{"input": items}
	if tools != nil {
		b["tools"] = tools
	}
	return b
}

func (l weight) messages() object {
	var messages, tools, system []any
	for i := 0; i < len(l.said); i++ {
		m := l.said[i]
		var blocks []any
		for _, text := range m.thoughts {
			blocks = append(blocks, object{"type": "thinking", "thinking": text, "signature": "s"})
		}
		for _, p := range m.parts {
			blocks = append(blocks, object{"type": "text", "text": p})
		}
		if m.role == "system" {
			system = append(system, blocks...)
			continue
		}
		if m.role == "tool" {
			blocks = nil
			for ; i < len(l.said) && l.said[i].role == "tool"; i++ {
				blocks = append(blocks, object{"type": "tool_result", "tool_use_id": l.said[i].of,
					"content": l.said[i].parts[0]})
			}
			i--
			m.role = "user"
		}
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(c.args)
			}
			blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": in})
		}
		messages = append(messages, object{"role": m.role, "content": blocks})
	}
	for _, t := range l.tools {
		tools = append(tools, object{"name": t.name, "input_schema": json.RawMessage(t.parameters)})
	}
	b := object{"messages": messages, "max_tokens": 50}
	if tools != nil {
		b["tools"] = tools
	}
	if system != nil {
		b["system"] = system
	}
	if l.stop != nil {
		b["stop_sequences"] = l.stop
	}
	return b
}

func (l weight) ollama() object {
	var messages, tools []any
	for _, m := range l.said {
		o := object{"role": m.role, "content": strings.Join(m.parts, "")}
		if len(m.parts) > 1 && m.role == "user" {
			var images []string
			for range m.parts {
				images = append(images, "AAAA")
			}
			o["images"] = images
		}
		if m.of != "" {
			o["tool_call_id"] = m.of
		}
		var calls []any
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(c.args)
			}
			calls = append(calls, object{"id": c.id, "function": object{"name": c.name, "arguments": in}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		messages = append(messages, o)
	}
	for _, t := range l.tools {
		tools = append(tools,
			object{"type": "function", "function": object{"name": t.name, "parameters": json.RawMessage(t.parameters)}})
	}
	b := object{"messages": messages}
	if tools != nil {
		b["tools"] = tools
	}
	if l.stop != nil {
		b["options"] = object{"stop": l.stop}
	}
	return b
}

var costFronts = map[string]struct {
	path string
	body func(weight) object
}{
	"chat":      {"/v1/chat/completions", weight.openai},
	"responses": {"/v1/responses", weight.responses},
	"messages":  {"/v1/messages", weight.messages},
	"ollama":    {"/api/chat", weight.ollama},
	"gemini":    {"/v1beta/models/MODEL:generateContent", weight.gemini},
}

func (l weight) gemini() object {
	var contents, system, declarations []any
	names := map[string]string{}
	for _, m := range l.said {
		var parts []any
		for _, text := range m.thoughts {
			parts = append(parts, object{"text": text, "thought": true})
		}
		for _, p := range m.parts {
			if m.of != "" {
				parts = append(parts,
					object{"functionResponse": object{"id": m.of, "name": names[m.of],
						"response": object{"output": p}}})
				continue
			}
			parts = append(parts, object{"text": p})
		}
		if m.role == "system" {
			system = append(system, parts...)
			continue
		}
		for _, c := range m.calls {
			in := json.RawMessage(c.args)
			if !json.Valid(in) {
				in, _ = json.Marshal(object{"text": c.args})
			}
			names[c.id] = c.name
			parts = append(parts, object{"functionCall": object{"id": c.id, "name": c.name, "args": in}})
		}
		role := "user"
		if m.role == "assistant" {
			role = "model"
		}
		contents = append(contents, object{"role": role, "parts": parts})
	}
	for _, t := range l.tools {
		declarations = append(declarations,
			object{"name": t.name, "parametersJsonSchema": json.RawMessage(t.parameters)})
	}
	b := object{"contents": contents}
	if system != nil {
		b["systemInstruction"] = object{"parts": system}
	}
	if declarations != nil {
		b["tools"] = []any{object{"functionDeclarations": declarations}}
	}
	if l.stop != nil {
		b["generationConfig"] = object{"stopSequences": l.stop}
	}
	return b
}

func (l weight) body(t *testing.T, f func(weight) object, model string, stream bool) []byte {
	o := f(l)
	o["model"], o["stream"] = model, stream
	for k, v := range l.extra {
		o[k] = v
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// costService serves a model that answers at once, in the ways that there are to reach one, with all that
// looks at requests switched on.
func costService(t *testing.T) *gateway.Gateway {
	t.Helper()
	return costServiceOver(t, scripted(t, costScenario(t)), func(o journal.Options) journal.Store {
		return &journal.Memory{Options: o}
	})
}

// costScenario returns the file of a scenario that answers hello.
func costScenario(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cost.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: cost\nturns:\n  - {id: a, reply: [{text: hello}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// costServiceOver returns a service with a model of each kind. That of the kind openai is behind upstream.
func costServiceOver(t *testing.T, upstream string, open func(journal.Options) journal.Store) *gateway.Gateway {
	t.Helper()
	file := costScenario(t)
	const more = ", conversations: {match: true, deriveIdFromUser: true}}"
	c, err := config.Parse("config.yaml", []byte(`wield: config/v1
backends:
  s: {kind: script, scenario: "`+file+`"}
  demo: {kind: script, scenario: demo}
  http: {kind: openai, url: "`+upstream+`/v1"}
  held: {kind: openai, url: "`+upstream+`/v1", constrain: llamacpp}
models:
  text: {backend: s, mode: text`+more+`
  native: {backend: s, mode: native`+more+`
  http: {backend: http, mode: native`+more+`
  prefixed: {backend: s, mode: text, calls: {prefix: "user:"}, instructions: {injectInto: first}`+more+`
  demo: {backend: demo, mode: text`+more+`
  agent: {backend: s, mode: text, agent: {tools: [now]}}
  object: {backend: held, mode: text, dialect: hermes`+more+`
  elements: {backend: held, mode: text, dialect: qwen3-coder`+more+`
`), config.Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := capture.New(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := open(journal.Options{Mask: journalMask(c.Config, env())})
	hub := runs.New(runs.Options{Journal: kept})
	s, err := New(c.Config, Environment{Capture: ring, Hub: hub, Metrics: metrics.New(""),
		Stats: stats.New("", stats.Options{}), Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	hub.Replace(append(s.Agents, s.Plain...))
	for i := range s.Gateway.Models {
		s.Gateway.Models[i].NeedsKey = false
	}
	s.Gateway.Journal = kept
	return gateway.New(s.Gateway)
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}

// A sink takes an answer and keeps its status.
type sink struct {
	header http.Header
	status int
}

// costWays are the ways to a model that a request is sent.
var costWays = []struct{ front, model string }{{"chat", "text"}, {"responses", "text"}, {"messages", "text"},
	{"ollama", "text"}, {"gemini", "text"}, {"chat", "native"}, {"chat", "http"}, {"chat", "prefixed"},
	{"chat", "agent"}, {"chat", "demo"}, {"chat", "object"}, {"chat", "elements"}}

// sees reports whether something in a request matters at a model: tools where calls are constrained, histories at the
// others, both at the first.
func sees(model string, history bool) bool {
	constrained := model == "object" || model == "elements"
	return model == "text" || history != constrained
}

// TestCostIsLinear makes requests four times as large in one dimension after another, through every protocol,
// and compares what they allocate. Where the test is built to count statements (go test -covermode=atomic
// -coverpkg=wield/...), it compares these too: what is looked at again and again need not allocate. Neither
// depends on how busy the machine is.
func TestCostIsLinear(t *testing.T) {
	testlevel.Long(t)
	g := costService(t)
	stream := false
	for _, d := range dimensions {
		t.Run(d.name, func(t *testing.T) {
			for _, w := range costWays {
				stream = !stream
				f := costFronts[w.front]
				body := func(n int) []byte { return d.weight(n).body(t, f.body, w.model, stream) }
				cost := func(n int) (c costs) {
					text := body(n)
					r := httptest.NewRequest("POST", "http://localhost"+strings.ReplaceAll(f.path, "MODEL", w.model),
						bytes.NewReader(text))
					r.Header.Set("Content-Type", "application/json")
					answer := sink{header: http.Header{}}
					before := countCosts(t)
					g.ServeHTTP(&answer, r)
					after := countCosts(t)
					if answer.status == 0 || answer.status == 401 || answer.status >= 500 ||
						answer.status == 404 && w.front == "gemini" {
						t.Errorf("%s, %s, %s: status %d", d.name, w.front, w.model, answer.status)
					}
					return costs{bytes: after.bytes - before.bytes, steps: after.steps - before.steps, size: len(text)}
				}
				if w != costWays[0] &&
					(!sees(w.model, d.history) || testing.CoverMode() == "" && (!d.history || w.model != "text")) {
					continue
				}
				cost(10) // what is made once
				few, many := cost(costSize), cost(4*costSize)
				growth := float64(many.size) / float64(few.size)
				if float64(many.bytes) > 2*growth*float64(few.bytes)+(1<<20) {
					t.Errorf("%s, %s, %s: %d bytes of body allocate %d, and %d allocate %d", d.name, w.front, w.model,
						few.size, few.bytes, many.size, many.bytes)
				}
				if float64(many.steps) > 1.6*growth*float64(few.steps) {
					t.Errorf("%s, %s, %s: %d bytes of body take %d steps, and %d take %d", d.name, w.front, w.model,
						few.size, few.steps, many.size, many.steps)
				}
			}
		})
	}
}

// costSize is how large the smaller of two requests is.
const costSize = 250

// costs are what a request costs: bytes allocated, and statements of wield carried out, where these are counted.
type costs struct {
	bytes, steps uint64
	size         int
}

func countCosts(t *testing.T) (c costs) {
	var m runtime.MemStats
	if testing.CoverMode() == "atomic" {
		c.steps = countSteps(t)
	}
	runtime.ReadMemStats(&m)
	c.bytes = m.TotalAlloc
	return c
}

// countSteps sums the counters of statements: behind a head, for each function the number of its counters, of
// its package and its own, and the counters, all as variable-length integers.
func countSteps(t *testing.T) (sum uint64) {
	var buf bytes.Buffer
	if err := coverage.WriteCounters(&buf); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	const head, segment = 32, 16
	functions := binary.LittleEndian.Uint64(b[head:])
	b = b[(head+segment+int(binary.LittleEndian.Uint32(b[head+8:]))+int(binary.LittleEndian.Uint32(b[head+12:]))+3)&^3:]
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	for range functions {
		n := next()
		next()
		next()
		for range n {
			sum += next()
		}
	}
	return sum
}
