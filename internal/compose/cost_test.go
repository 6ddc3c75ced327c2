package compose

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

type costWay struct{ front, model string }

// costWays are the ways to a model that a request is sent.
var costWays = []costWay{{"chat", "text"}, {"responses", "text"}, {"messages", "text"},
	{"ollama", "text"}, {"gemini", "text"}, {"chat", "native"}, {"chat", "http"}, {"chat", "prefixed"},
	{"chat", "agent"}, {"chat", "demo"}, {"chat", "object"}, {"chat", "elements"}}

// sees reports whether something in a request matters at a model: tools where calls are constrained, histories at the
// others, both at the first.
func sees(model string, history bool) bool {
	constrained := model == "object" || model == "elements"
	return model == "text" || history != constrained
}

// TestCostIsLinear makes requests four times as large in one dimension after another, through every protocol,
// and compares what they allocate, which does not depend on how busy the machine is.
func TestCostIsLinear(t *testing.T) {
	testlevel.Long(t)
	g := costService(t)
	for _, d := range dimensions {
		t.Run(d.name, func(t *testing.T) {
			for i, w := range costWays {
				if i > 0 && (!d.history || w.model != "text") {
					continue
				}
				cost := func(n int) (allocated uint64, size int) {
					var before, after runtime.MemStats
					body := d.weight(n).body(t, costFronts[w.front].body, w.model, i%2 > 0)
					runtime.ReadMemStats(&before)
					w.send(t, g, body)
					runtime.ReadMemStats(&after)
					return after.TotalAlloc - before.TotalAlloc, len(body)
				}
				cost(10) // what is made once
				few, small := cost(costSize)
				many, large := cost(4 * costSize)
				if float64(many) > 2*float64(large)/float64(small)*float64(few)+(1<<20) {
					t.Errorf("%v: %d bytes of body allocate %d, and %d allocate %d", w, small, few, large, many)
				}
			}
		})
	}
}

// TestStepsAreLinear compares the statements of wield that such requests carry out: what is looked at again and again
// need not allocate. Each request has a process of its own, whose counters are written at its end.
func TestStepsAreLinear(t *testing.T) {
	if testing.CoverMode() != "atomic" {
		t.Skip("statements are counted with -covermode=atomic -coverpkg=./...")
	}
	for i, d := range dimensions {
		t.Run(d.name, func(t *testing.T) {
			for j, w := range costWays {
				if j > 0 && (j-1 != i%(len(costWays)-1) || !sees(w.model, d.history)) {
					continue // each dimension takes the first way and another one
				}
				size := func(n int) float64 {
					return float64(len(d.weight(n).body(t, costFronts[w.front].body, w.model, false)))
				}
				few, many := stepsOf(t, i, j, stepsSize), stepsOf(t, i, j, 4*stepsSize)
				if many > 1.6*size(4*stepsSize)/size(stepsSize)*few {
					t.Errorf("%v: %d take %.0f steps, and %d take %.0f", w, stepsSize, few, 4*stepsSize, many)
				}
			}
		})
	}
}

// TestOneCost sends one request, which TestStepsAreLinear names.
func TestOneCost(t *testing.T) {
	var dimension, way, n int
	if _, err := fmt.Sscan(os.Getenv("WIELD_ONE_COST"), &dimension, &way, &n); err != nil {
		t.Skip("a part of TestStepsAreLinear")
	}
	w := costWays[way]
	w.send(t, costService(t), dimensions[dimension].weight(n).body(t, costFronts[w.front].body, w.model, false))
}

// stepsOf counts the statements that one request takes, with those of the start.
func stepsOf(t *testing.T, dimension, way, n int) (sum float64) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOneCost$", "-test.gocoverdir="+dir)
	cmd.Env = append(os.Environ(), fmt.Sprintf("WIELD_ONE_COST=%d %d %d", dimension, way, n), "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "covcounters.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no counters in %s: %v", dir, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum += float64(countSteps(b))
	}
	return sum
}

// The smaller sizes of two requests that are compared. A start takes some 500 000 steps.
const (
	costSize  = 250
	stepsSize = 1000
)

// send sends a request to a service.
func (w costWay) send(t *testing.T, g http.Handler, body []byte) {
	t.Helper()
	r := httptest.NewRequest("POST", "http://localhost"+strings.ReplaceAll(costFronts[w.front].path, "MODEL", w.model),
		bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	answer := sink{header: http.Header{}}
	g.ServeHTTP(&answer, r)
	if answer.status == 0 || answer.status == 401 || answer.status >= 500 ||
		answer.status == 404 && w.front == "gemini" {
		t.Errorf("%v: status %d", w, answer.status)
	}
}

// countSteps sums the counters of statements: behind a head, for each function the number of its counters, of
// its package and its own, and the counters, all as variable-length integers.
func countSteps(b []byte) (sum uint64) {
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
