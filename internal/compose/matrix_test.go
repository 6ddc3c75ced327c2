package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"wield/internal/gateway"
	"wield/internal/script"
	"wield/internal/scriptserver"
	"wield/internal/testlevel"
)

// A matrixBackend is one way to reach a model.
type matrixBackend struct {
	name   string
	speaks script.Speaks
	text   string // of the backend in the file; URL stands for the server's address, SCENARIO for the file
	model  string // more of the model
	native bool   // the server has function calling
	prefix string
}

// matrixBackends are all ways to reach a model. Each is a scripted server but the one that plays a scenario itself.
var matrixBackends = []matrixBackend{
	{"openai, function calling", script.SpeaksOpenAI, `kind: openai, url: "URL/v1"`, "", true, ""},
	{"openai, text", script.SpeaksOpenAI, `kind: openai, url: "URL/v1"`, ", mode: text", false, ""},
	{"responses, function calling", script.SpeaksResponses, `kind: responses, url: "URL/v1"`, "", true, ""},
	{"responses, text", script.SpeaksResponses, `kind: responses, url: "URL/v1"`, ", mode: text", false, ""},
	{"ollama, function calling", script.SpeaksOllama, `kind: ollama, url: "URL"`, "", true, ""},
	{"ollama, text", script.SpeaksOllama, `kind: ollama, url: "URL"`, ", mode: text", false, ""},
	{"anthropic, function calling", script.SpeaksAnthropic, `kind: anthropic, url: "URL"`, "", true, ""},
	{"anthropic, text", script.SpeaksAnthropic, `kind: anthropic, url: "URL"`, ", mode: text", false, ""},
	{"lumo, version 1", script.SpeaksLumo, `kind: lumo, url: "URL", lumo: {version: 1}`, "", false, "user:"},
	{"lumo, version 2", script.SpeaksLumo, `kind: lumo, url: "URL", lumo: {version: 2}`, "", false, "user:"},
	{matrixBrowser, "", `kind: browser, url: "URL", browser: {PAGE}`, "", false, ""},
	{"script", "", `kind: script, scenario: "SCENARIO"`, ", mode: text", false, ""},
}

// matrixScenario makes one call and then repeats its result.
const matrixScenario = `wield: scenario/v1
name: matrix
backend: {SPEAKSnative_tools: %v}
turns:
  - id: answer
    when: {last: tool}
    reply: [{text: "The tool says ${result}"}]
    usage: {in: 20, out: 5}
  - id: call
    when: {user_contains: weather}
    reply:
      - text: "Let me look.\n"
      - %s
    usage: {in: 10, out: 5}
`

// silent is the fault of a server that says nothing more, which is met by a service with less patience than others.
const silent = "silent"

// A matrixFault is a fault of a server.
type matrixFault struct {
	name, do string
	status   int    // of an answer that is not streamed
	early    bool   // the same status of a stream, which has not begun
	says     string // what it is, for people
}

// matrixFaults are what can go wrong between a service and a server.
var matrixFaults = []matrixFault{
	{"broken", "cut_after: 2 chunks", 502, false, "the connection ends in the middle of the answer"},
	{"reset", "cut_after: 2 chunks, reset: true", 502, false, "the connection is reset in the middle of the answer"},
	{silent, "cut_after: 2 chunks, stall: 30s", 504, false,
		"silence in the middle of the answer, for longer than `timeouts.idle`"},
	{"page", "html_502: true", 502, true, "status 502 with a page"},
	{"failing", "status: 500", 502, true, "status 500"},
	{"busy", "status: 429, retry_after: 7s", 429, true, "status 429 with a wait, which is passed on"},
	{"refusing", "status: 401", 502, true, "status 401"},
	{"closed", "status: 503", 503, true, "status 503"},
	{"half", "status: 200, body: '{\"choices\":[{\"delta\":{\"content\":\"a'", 502, true, "half of a JSON object"},
	{"cut", "bad_utf8: true", 200, true, "invalid UTF-8"},
}

// A heard answer is what a client makes of one.
type heard struct {
	status int
	text   string
	id     string // of the call, and its name and arguments
	name   string
	args   string
	ended  bool // by what the protocol ends a whole answer with
	body   string
}

// A told round is what a client says: a question, and, if it has run a tool, what that was.
type told struct {
	question string
	call     *heard
	result   string
}

// A matrixFront is one way to ask.
type matrixFront struct {
	name, path string
	body       func(told) map[string]any
	hear       func(lines []string, h *heard)
	overloaded int // the status for a server that has no room
}

// matrixFronts are all ways to ask.
var matrixFronts = []matrixFront{
	{"chat completions", "/v1/chat/completions", chatBody, hearChat, 503},
	{"Responses", "/v1/responses", responsesBody, hearResponses, 503},
	{"Messages", "/v1/messages", messagesBody, hearMessages, 529},
	{"Ollama", "/api/chat", ollamaBody, hearOllama, 503},
}

type object = map[string]any

var weatherParameters = object{"type": "object", "properties": object{"city": object{"type": "string"}},
	"required": []string{"city"}}

func functionTool() []any {
	return []any{object{"type": "function", "function": object{"name": "get_weather", "parameters": weatherParameters}}}
}

func chatBody(s told) object {
	messages := []any{object{"role": "user", "content": s.question}}
	if s.call != nil {
		messages = append(messages,
			object{"role": "assistant", "content": s.call.text,
				"tool_calls": []any{object{"id": s.call.id, "type": "function",
					"function": object{"name": s.call.name, "arguments": s.call.args}}}},
			object{"role": "tool", "tool_call_id": s.call.id, "content": s.result})
	}
	return object{"messages": messages, "tools": functionTool()}
}

func hearChat(lines []string, h *heard) {
	for _, line := range lines {
		type message struct {
			Content   string
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		var b struct {
			Choices []struct {
				Message, Delta message
				Reason         string `json:"finish_reason"`
			}
		}
		_ = json.Unmarshal([]byte(line), &b)
		for _, c := range b.Choices {
			for _, m := range []message{c.Message, c.Delta} {
				h.text += m.Content
				for _, call := range m.ToolCalls {
					h.id, h.name, h.args = h.id+call.ID, h.name+call.Function.Name, h.args+call.Function.Arguments
				}
			}
			h.ended = h.ended || c.Reason != ""
		}
	}
}

func responsesBody(s told) object {
	input := []any{object{"role": "user", "content": s.question}}
	if s.call != nil {
		input = append(input, object{"type": "function_call", "call_id": s.call.id, "name": s.call.name,
			"arguments": s.call.args},
			object{"type": "function_call_output", "call_id": s.call.id, "output": s.result})
	}
	return object{"input": input, "store": false,
		"tools": []any{object{"type": "function", "name": "get_weather", "parameters": weatherParameters,
			"strict": false}}}
}

func hearResponses(lines []string, h *heard) {
	for _, line := range lines {
		type response struct {
			Status string
			Output []struct {
				Type, Name, Arguments string
				CallID                string `json:"call_id"`
				Content               []struct{ Text string }
			}
		}
		var b struct {
			response
			Type     string
			Response response
		}
		_ = json.Unmarshal([]byte(line), &b)
		if b.Type == "response.completed" {
			b.response = b.Response
		}
		if b.Status != "completed" {
			continue
		}
		h.ended = true
		for _, item := range b.Output {
			for _, c := range item.Content {
				h.text += c.Text
			}
			if item.Type == "function_call" {
				h.id, h.name, h.args = item.CallID, item.Name, item.Arguments
			}
		}
	}
}

func messagesBody(s told) object {
	messages := []any{object{"role": "user", "content": s.question}}
	if s.call != nil {
		messages = append(messages,
			object{"role": "assistant", "content": []any{object{"type": "text", "text": s.call.text},
				object{"type": "tool_use", "id": s.call.id, "name": s.call.name,
					"input": json.RawMessage(s.call.args)}}},
			object{"role": "user",
				"content": []any{object{"type": "tool_result", "tool_use_id": s.call.id, "content": s.result}}})
	}
	return object{"max_tokens": 100, "messages": messages,
		"tools": []any{object{"name": "get_weather", "input_schema": weatherParameters}}}
}

func hearMessages(lines []string, h *heard) {
	for _, line := range lines {
		type block struct {
			Type, ID, Name, Text string
			Input                json.RawMessage
		}
		var b struct {
			Type    string
			Reason  string `json:"stop_reason"`
			Content []block
			Block   block `json:"content_block"`
			Delta   struct {
				Text    string
				Partial string `json:"partial_json"`
			}
		}
		_ = json.Unmarshal([]byte(line), &b)
		h.ended = h.ended || b.Type == "message_stop" || b.Reason != ""
		h.text += b.Delta.Text
		h.args += b.Delta.Partial
		if b.Type == "content_block_start" {
			b.Block.Input = nil
			b.Content = append(b.Content, b.Block)
		}
		for _, c := range b.Content {
			h.text += c.Text
			h.id, h.name, h.args = h.id+c.ID, h.name+c.Name, h.args+string(c.Input)
		}
	}
}

func ollamaBody(s told) object {
	messages := []any{object{"role": "user", "content": s.question}}
	if s.call != nil {
		messages = append(messages,
			object{"role": "assistant", "content": s.call.text,
				"tool_calls": []any{
					object{"function": object{"name": s.call.name, "arguments": json.RawMessage(s.call.args)}}}},
			object{"role": "tool", "tool_name": s.call.name, "content": s.result})
	}
	return object{"messages": messages, "tools": functionTool()}
}

func hearOllama(lines []string, h *heard) {
	for _, line := range lines {
		var b struct {
			Done    bool
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				} `json:"tool_calls"`
			}
		}
		_ = json.Unmarshal([]byte(line), &b)
		h.ended = h.ended || b.Done
		h.text += b.Message.Content
		for _, c := range b.Message.ToolCalls {
			h.id, h.name, h.args = h.id+c.ID, h.name+c.Function.Name, h.args+string(c.Function.Arguments)
		}
	}
}

// TestMatrix asks every kind of backend through every protocol, streamed and whole: a call and its result make one
// round, and whatever goes wrong on the way is an error in the client's protocol, never an answer that looks whole.
func TestMatrix(t *testing.T) {
	m := matrix{whole: t}
	t.Run("backends", func(t *testing.T) {
		for i, b := range matrixBackends {
			t.Run(b.name, func(t *testing.T) {
				t.Parallel()
				m.testBackend(t, &b, i)
			})
		}
	})
	t.Run("raw", m.page.testRaw)
	t.Run("unread", m.page.testUnread)
	m.silences.Wait()
	m.page.compare(t)
}

// A matrix is shared by the rows of one run. Servers that are silent are waited for beside everything else, since each
// takes its time and needs nothing: they belong to the whole test and not to a row.
type matrix struct {
	whole    *testing.T
	page     matrixPage
	silences sync.WaitGroup
}

// testBackend makes the row of a backend. The page of a browser takes its time for every answer, so that its clients
// ask at once.
//
// A sample takes every third fault, others for each backend and client, so that each client meets each fault.
func (m *matrix) testBackend(t *testing.T, b *matrixBackend, n int) {
	every := min(testlevel.Every(3), 3)
	server, file := matrixServer(m.whole, b.speaks, b.native, b.prefix)
	if b.name == matrixBrowser {
		server = m.page.showChat(t, file)
	}
	where := strings.NewReplacer("URL", server, "SCENARIO", file, "PAGE", matrixSelectors())
	patient := matrixService(t, where.Replace(b.text), b.model, "2m")
	impatient := ""
	if b.speaks != "" {
		// What was sent before the silence must have been passed on by then.
		impatient = matrixService(m.whole, where.Replace(b.text)+", concurrent: 0", b.model, "2s")
	}
	var clients sync.WaitGroup
	for _, f := range matrixFronts {
		for _, stream := range []bool{false, true} {
			n++
			first := n
			ask := func() {
				if !m.testRound(t, b, &f, stream, patient) || b.speaks == "" {
					return // without a speaker there is no connection that could break
				}
				for i := range matrixFaults {
					if (first+i)%every > 0 {
						continue
					}
					m.testFault(t, &matrixFaults[i], &f, stream, patient, impatient)
				}
			}
			if b.name == matrixBrowser {
				clients.Go(ask)
			} else {
				ask()
			}
		}
	}
	clients.Wait()
}

// say asks the model of a matrix.
func (f *matrixFront) say(t *testing.T, url string, stream bool, s told) heard {
	t.Helper()
	body := f.body(s)
	body["model"], body["stream"] = "m", stream
	return post(t, url+f.path, body, f.hear)
}

// testRound has a client make one round of a call and its result, and reports whether it did.
func (m *matrix) testRound(t *testing.T, b *matrixBackend, f *matrixFront, stream bool, url string) bool {
	first := f.say(t, url, stream, told{question: "What is the weather in Rome?"})
	if first.status != 200 || first.name != "get_weather" || first.id == "" ||
		strings.ReplaceAll(first.args, " ", "") != `{"city":"Rome"}` ||
		!strings.HasPrefix(first.text, "Let me look.") || !first.ended {
		t.Errorf("%s, stream %v: the call: %+v", f.name, stream, first)
		return false
	}
	second := f.say(t, url, stream, told{question: "What is the weather in Rome?", call: &first,
		result: "mackerel sky"})
	if second.status != 200 || second.text != "The tool says mackerel sky" || second.name != "" || !second.ended {
		t.Errorf("%s, stream %v: the answer: %+v", f.name, stream, second)
		return false
	}
	m.page.round(b.name, f.name)
	return true
}

// testFault has a client ask a server at which something goes wrong.
func (m *matrix) testFault(t *testing.T, fault *matrixFault, f *matrixFront, stream bool, patient, impatient string) {
	status := fault.status
	if status == http.StatusServiceUnavailable {
		status = f.overloaded
	}
	check := func(t *testing.T, url string) {
		h := f.say(t, url, stream, told{question: "now " + fault.name})
		wrong := h.ended || !strings.Contains(h.body, `"error"`)
		if status == http.StatusOK {
			wrong = !h.ended || !strings.HasPrefix(h.text, "one t")
		}
		if wrong || (!stream || fault.early) && h.status != status || !utf8.ValidString(h.body) {
			t.Errorf("%s, stream %v, %s: %+v", f.name, stream, fault.name, h)
		}
		m.page.fault(fault.says, f.name, stream, h)
	}
	if fault.name == silent {
		m.silences.Go(func() { check(m.whole, impatient) })
	} else {
		check(t, patient)
	}
}

// matrixServer starts a scripted server and returns its address, and the file of its scenario.
func matrixServer(t *testing.T, speaks script.Speaks, native bool, prefix string) (url, file string) {
	t.Helper()
	call := `{fence: json, call: {name: "` + prefix + `get_weather", args: {city: Rome}}}`
	if native {
		call = `{call: {name: get_weather, args: {city: Rome}}}`
	}
	text := fmt.Sprintf(matrixScenario, native, call)
	faults := "faults:\n"
	for _, f := range matrixFaults {
		text += "  - {id: " + f.name + ", when: {user_contains: now " + f.name +
			"}, reply: [{text: 'one '}, {text: 'tẅo '}, {text: 'three '}, {text: four}]}\n"
		faults += "  - {on: " + f.name + ", do: {" + f.do + "}}\n"
	}
	said := ""
	if speaks != "" {
		said = "speaks: " + string(speaks) + ", "
		text += faults
	}
	file = filepath.Join(t.TempDir(), "matrix.scenario.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(text, "SPEAKS", said, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return scripted(t, file), file
}

// scripted starts a server that plays the scenario in a file, and returns its address.
func scripted(t *testing.T, file string) string {
	t.Helper()
	live, err := script.Open(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(scriptserver.New(scriptserver.Options{Scenarios: []*script.Live{live}}))
	t.Cleanup(server.Close)
	return server.URL
}

// matrixService starts a service with one model, whose backend may be silent for so long.
func matrixService(t *testing.T, backend, model, idle string) string {
	t.Helper()
	if !strings.Contains(backend, "kind: script") {
		backend += ", retry: {attempts: 1}"
	}
	service, err := compose(t, "timeouts: {idle: "+idle+"}\nbackends: {b: {"+backend+
		"}}\nmodels: {m: {backend: b, model: matrix"+model+"}}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(service.Gateway))
	t.Cleanup(front.Close)
	return front.URL
}

// post sends a request and hears the answer, of which the frames or lines of a stream are the lines.
func post(t *testing.T, url string, body any, hear func([]string, *heard)) heard {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := heard{status: resp.StatusCode, body: string(text)}
	if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "7" {
		t.Errorf("%s: the wait is %q", url, resp.Header.Get("Retry-After"))
	}
	var lines []string
	for line := range strings.Lines(h.body) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "data: "))
	}
	hear(lines, &h)
	return h
}

// A matrixPage holds the tables of docs/compatibility.md as measured.
type matrixPage struct {
	mu     sync.Mutex
	rounds map[[2]string]int      // tool rounds that were made, by backend and front
	faults map[[2]string][]string // what a client got, by fault and front
	missed []string               // backends that could not be tested here
}

func (p *matrixPage) round(backend, front string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rounds == nil {
		p.rounds = map[[2]string]int{}
	}
	p.rounds[[2]string{backend, front}]++
}

func (p *matrixPage) fault(says, front string, stream bool, h heard) {
	word := fmt.Sprint(h.status)
	switch {
	case h.ended:
		word = "the answer"
	case stream && h.status == http.StatusOK:
		word = "an error in the stream"
	}
	p.note(says, front, word)
}

// note takes down what a client got of a fault.
func (p *matrixPage) note(says, front, word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults == nil {
		p.faults = map[[2]string][]string{}
	}
	key := [2]string{says, front}
	if !slices.Contains(p.faults[key], word) {
		p.faults[key] = append(p.faults[key], word)
		slices.Sort(p.faults[key])
	}
}

// tables writes both tables.
func (p *matrixPage) tables() string {
	var b strings.Builder
	b.WriteString("| backend | tool rounds work |\n|---|---|\n")
	for _, m := range matrixBackends {
		fmt.Fprintf(&b, "| %s | %s |\n", m.name, byFront(func(front string) string {
			if p.rounds[[2]string{m.name, front}] == 2 {
				return "yes"
			}
			return "no"
		}))
	}
	b.WriteString("\n| the server's response | the client gets |\n|---|---|\n")
	row := func(says string) {
		fmt.Fprintf(&b, "| %s | %s |\n", says, byFront(func(front string) string {
			return strings.Join(p.faults[[2]string{says, front}], ", or ")
		}))
	}
	for _, fault := range matrixFaults {
		row(fault.says)
	}
	for _, fault := range rawFaults {
		row(fault.says)
	}
	row(unread)
	return b.String()
}

// byFront says what holds for the first front, and of the others what differs.
func byFront(word func(front string) string) string {
	all := word(matrixFronts[0].name)
	text := all
	for _, f := range matrixFronts[1:] {
		if other := word(f.name); other != all {
			text += "; " + f.name + ": " + other
		}
	}
	return text
}

// compare holds the page to the tables, or writes them into it.
func (p *matrixPage) compare(t *testing.T) {
	const name, begin, end = "../../docs/compatibility.md", "<!-- matrix -->\n", "<!-- end of matrix -->"
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the tables", name)
	}
	found := p.tables()
	for _, name := range p.missed { // what the page says of them cannot be checked, and stays
		found = replaceRow(found, name, old)
	}
	if old == found {
		return
	}
	if !*update {
		t.Errorf("the tables of %s are not what was found out: go test ./internal/config -run Matrix -update", name)
		return
	}
	if err := os.WriteFile(name, []byte(before+begin+found+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
