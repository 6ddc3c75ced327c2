package dialect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// sessionTools are the tools of an agent that works on source code.
func sessionTools(tb testing.TB) []shape.Tool {
	var tools []shape.Tool
	for _, t := range []struct{ name, params string }{
		{"list_directory", `{"path":{"type":"string"},"depth":{"type":"integer"}}`},
		{"read_file", `{"path":{"type":"string"},"start_line":{"type":"integer"},"end_line":{"type":"integer"}}`},
		{"write_file", `{"path":{"type":"string"},"content":{"type":"string"}}`},
		{"edit_file",
			`{"path":{"type":"string"},"old_text":{"type":"string"},"new_text":{"type":"string"},"all":{"type":"boolean"}}`},
		{"search_code",
			`{"pattern":{"type":"string"},"include":{"type":"array","items":{"type":"string"}},"limit":{"type":"integer"}}`},
		{"run_command",
			`{"command":{"type":"string"},"timeout_ms":{"type":"integer"},"environment":{"type":"object"}}`},
		{"remember",
			`{"key":{"type":"string"},"note":{"type":"string"},"priority":{"type":"string","enum":["low","normal","high"]}}`},
		{"update_plan",
			`{"steps":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"done":{"type":"boolean"}}}}}`},
	} {
		s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":` + t.params + `}`))
		if err != nil {
			tb.Fatal(err)
		}
		tools = append(tools, shape.Tool{Name: t.name, Args: s.Shape()})
	}
	return tools
}

// A sessionTurn holds the model's output of one turn: some text, then calls, of which arguments holds names
// and values in turn.
type sessionTurn struct {
	text  string
	calls []sessionCall
}

type sessionCall struct {
	name string
	args string
}

// sessionTurns are the turns of an agent that finds a fault in a queue, mends it and writes a script.
func sessionTurns(tb testing.TB) []sessionTurn {
	source := func(name string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "session", name))
		if err != nil {
			tb.Fatal(err)
		}
		return string(data)
	}
	quote := func(s string) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			tb.Fatal(err)
		}
		return strings.TrimSpace(b.String())
	}
	queue, report := source("queue.go.txt"), source("report.py.txt")
	from, to := strings.Index(queue, "// Take waits"), strings.Index(queue, "func (q *Queue) next")
	return []sessionTurn{
		{"I'll start with what is there: the layout of the project, and where jobs are taken from the queue.",
			[]sessionCall{
				{"list_directory", `{"path": ".", "depth": 2}`},
				{"search_code",
					`{"pattern": "func \\(q \\*Queue\\) (Put|Take)", "include": ["*.go", "!vendor/**"], "limit": 20}`},
			}},
		{"`Take` waits on a timer and on `q.wake`. Two workers can wait at once, but `wake` holds **one** token, so a second job " +
			"that is put at the same moment wakes nobody. Let me read the whole file before I change anything.",
			[]sessionCall{
				{"read_file", `{"path": "internal/queue/queue.go", "start_line": 1, "end_line": 120}`},
			}},
		{"As expected. The plan:\n\n1. Let `Take` pass the token on when more jobs are due.\n2. Cover it with a test: 2 workers, 2 jobs, < 50 ms.\n" +
			"3. Write the report script that was asked for.\n\nThe map[string]string of labels needs no change.",
			[]sessionCall{
				{"update_plan",
					`{"steps": [{"title": "Pass the token on in Take", "done": false}, {"title": "Test with two workers", "done": false}, {"title": "Report script", "done": false}]}`},
				{"remember",
					`{"key": "queue-wake", "note": "wake holds one token; a second waiter sleeps until its timer", "priority": "high"}`},
			}},
		{"Now the change itself. I return the token before `Take` leaves:", []sessionCall{
			{"edit_file", `{"path": "internal/queue/queue.go", "old_text": ` + quote(queue[from:to]) +
				`, "new_text": ` +
				quote(strings.Replace(queue[from:to], "return j, err\n", "q.pass()\n\t\t\treturn j, err\n", 1)) +
				`, "all": false}`},
			{"run_command",
				`{"command": "gofmt -l internal && go vet ./internal/queue", "timeout_ms": 60000, "environment": {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}}`},
		}},
		{"`pass` does not exist yet, so I write the file anew with it in place rather than edit it twice.",
			[]sessionCall{
				{"write_file", `{"path": "internal/queue/queue.go", "content": ` + quote(queue) + `}`},
			}},
		{"```go\nif len(q.jobs) > 0 {\n\tq.signal() // {\"name\": \"signal\"} is no call\n}\n```\n\nThat is all it takes. Next comes the script; it reads every `*.txt` " +
			"in a directory and prints medians.", []sessionCall{
			{"write_file", `{"path": "scripts/report.py", "content": ` + quote(report) + `}`},
			{"run_command",
				`{"command": "python3 scripts/report.py --json bench | head -n 20", "timeout_ms": 5000, "environment": {}}`},
			{"run_command",
				`{"command": "go test ./internal/queue -run 'TestTake$' -count 20", "timeout_ms": 120000, "environment": {}}`},
		}},
		{"All tests pass, twenty times over. What changed:\n\n- `Take` hands the token on, so that no worker sleeps while a job is due.\n- `scripts/report.py` " +
			"sums up the nightly timings; run it with `--json` for machines.\n\nI left the limit of the queue alone: it is checked in `Put`, and a full queue " +
			"answers with an error that names the job. If you expect more than 10 000 jobs, a heap would be the better choice — tell me and I change it.", nil},
	}
}

// sessionText writes a turn as the dialect does. A dialect that holds one call a message gets the first alone.
func sessionTexts(tb testing.TB, name string) (texts []string, calls int) {
	d, ok := dialect.Lookup(name)
	if !ok {
		tb.Fatalf("no dialect %s", name)
	}
	for _, turn := range sessionTurns(tb) {
		var list []chat.Call
		for i, c := range turn.calls {
			list = append(list, chat.Call{Index: i, ID: "call_" + string(rune('0'+i)), Name: c.name, Arguments: c.args,
				Complete: true})
		}
		text := turn.text
		if len(list) > 0 {
			written, err := d.AppendCalls(nil, list)
			if err != nil {
				tb.Fatal(err)
			}
			text += "\n" + string(written)
		}
		texts, calls = append(texts, text), calls+len(list)
	}
	return texts, calls
}

// sessionFamilies are the dialects whose mean is watched.
var sessionFamilies = []string{"hermes", "pythonic", "qwen3-coder", "gemma4", "harmony", "glm", "deepseek-v3"}

// BenchmarkSession reads the answers of an agent's session, each in chunks of 4 bytes, in some dialects:
// BenchmarkSession/DIALECT.
func BenchmarkSession(b *testing.B) {
	tools := sessionTools(b)
	for _, name := range sessionFamilies {
		b.Run(name, func(b *testing.B) {
			texts, calls := sessionTexts(b, name)
			decodeBench(b, dialect.Options{Dialect: name, Tools: tools}, texts, 4, calls)
		})
	}
}
