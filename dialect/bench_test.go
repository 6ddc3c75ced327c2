package dialect_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/check"
	"wield/schema"
	"wield/schema/shape"
)

const mib = 1 << 20

// A workload is a text to measure with. text makes it for a dialect of the benchmark; calls is how many it
// holds, -1: not counted.
type workload struct {
	name  string
	calls int
	text  func(dialect string) string
}

// hostile are texts that are made to be slow to read, of any size.
var hostile = []struct {
	name string
	text func(size int) string
}{
	{"HostileKeys", func(size int) string {
		return `{"name":"write_file","arguments":{` + numbered(`"key%07d":1,`, size) + `"path":"x"}}`
	}},
	{"HostileParameters", func(size int) string {
		return "<function=write_file>\n" + numbered("<parameter=key%07d>\n1\n</parameter>\n", size) + "</function>"
	}},
	{"HostileKeywords", func(size int) string { return "write_file(" + numbered("key%07d=1,", size) + "path='x')" }},
	{"HostileLines", func(size int) string { return "TOOL: write_file\nARGS:\n" + numbered("  key%07d: 1\n", size) }},
	{"HostileBlankLines", func(size int) string {
		return "TOOL: write_file\nARGS:\n  path: |\n    a\n" + fill("\n", size) + "b"
	}},
	{"HostileResult", func(size int) string { return fill("<tool_response>\n", size) }},
	{"HostileClosers", func(size int) string {
		return "<function=write_file>\n<parameter=path>\n" + fill("</parameter>\n<parameter", size)
	}},
	{"HostileCDATA", func(size int) string {
		return `<function name="write_file"><param name="path"><![CDATA[` + fill("</param> <", size)
	}},
	{"HostileLists", func(size int) string { return fill("[write_file(a\n", size) }},
	{"HostileNested", func(size int) string { return fill("<think>", size) }},
	{"HostileNestedLines", func(size int) string { return fill("<think>\n", size) }},
	{"HostileNestedTags", func(size int) string { return fill("<think>\n<thinking>\n", size) }},
	{"HostileNestedChannels", func(size int) string { return fill("<|channel|>analysis<|message|>", size) }},
	{"HostileCommas", func(size int) string { return "['write_file(path=" + fill("a, b=", size) + ")']" }},
	{"HostileElements", func(size int) string {
		const p = "]<]minimax[>["
		return p + "<tool_call>" + p + `<invoke name="write_file">` + p + "<rows>" +
			numbered(p+"<k%07d>1"+p+"</k>", size) + p + "</rows>" + p + "</invoke>" + p + "</tool_call>"
	}},
}

// numbered writes numbered copies of a line.
func numbered(format string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// BenchmarkLinear reads hostile texts of two sizes: the rate of the long one must be near that of the short one.
func BenchmarkLinear(b *testing.B) {
	for _, w := range hostile {
		for _, size := range []int{64 << 10, mib} {
			b.Run(fmt.Sprintf("%s/%dKB", w.name, size>>10), func(b *testing.B) {
				text := w.text(size)
				d, err := dialect.New(dialect.Options{Tools: benchTools})
				if err != nil {
					b.Fatal(err)
				}
				var buf []chat.Event
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					d.Reset()
					for i := 0; i < len(text); i += 16 {
						buf = d.Feed(buf[:0], text[i:min(i+16, len(text))])
					}
					buf = d.Close(buf[:0])
				}
			})
		}
	}
}

var workloads = []workload{
	{"Prose1MB", 0, func(string) string { return check.Prose(mib) }},
	{"ShortCalls100", 100, shortCalls},
	{"BigArg16KB", 1, func(d string) string { return bigArg(d, 16<<10) }},
	{"BigArg128KB", 1, func(d string) string { return bigArg(d, 128<<10) }},
	{"HostileToolCall", 0, func(string) string { return fill("<tool_call>", mib) }},
	{"HostileAngle", 0, func(string) string { return fill("<", mib) }},
	{"HostileFence", 0, func(string) string { return fill("```json\n", mib) }},
	{"HostileArgumentsFirst", 0, func(string) string { return fill(`{"arguments":`, mib) }},
	{"HostileArgumentsLines", 0, func(string) string { return fill("{\"arguments\":{\"a\":[1,2\n", mib) }},
	{"HostileBrackets", 0, func(string) string { return fill("[", mib) }},
	{"HostileBraceQuote", 0, func(string) string { return fill(`{"`, mib) }},
	{"HostileJSONAnswer", 0, func(string) string { return jsonAnswer(mib) }},
	{"HostileNames", 0, func(string) string { return fill("write_file is\nget_time (\nwrite_file:\n", mib) }},
	{"HostileBackticks", 0, func(string) string { return fill("` `` ``` ```` ", mib) }},
	{"HostileBacktickLines", 0, func(string) string { return fill("```\n````\n``\n", mib) }},
	{"HostileThink", 0, func(string) string { return fill("<think></think", mib) }},
	{"HostileFunction", 0, func(string) string { return fill("<tool_call>\n<function=", mib) }},
}

// BenchmarkDecode measures every workload under some dialects and chunk sizes: BenchmarkDecode/WORKLOAD/DIALECT/CHUNK.
func BenchmarkDecode(b *testing.B) {
	for _, w := range workloads {
		b.Run(w.name, func(b *testing.B) {
			for _, d := range []string{"auto", "hermes", "tool-call-tag", "qwen3-coder"} {
				b.Run(d, func(b *testing.B) {
					text := w.text(d)
					for _, c := range []struct {
						name string
						size int
					}{{"4B", 4}, {"16B", 16}, {"whole", 0}} {
						b.Run(c.name, func(b *testing.B) {
							decodeBench(b, dialect.Options{Dialect: d, Tools: benchTools}, []string{text}, c.size,
								w.calls)
						})
					}
				})
			}
		})
	}
}

// decodeBench reads messages one after the other, in chunks of size bytes; 0: each whole.
func decodeBench(b *testing.B, o dialect.Options, messages []string, size, calls int) {
	d, err := dialect.New(o)
	if err != nil {
		b.Fatal(err)
	}
	got, bytes := 0, 0
	for _, text := range messages {
		d.Reset()
		got += countCalls(d.Close(d.Feed(nil, text)))
		bytes += len(text)
	}
	if got != calls {
		b.Fatalf("%d calls, want %d", got, calls)
	}
	buf := make([]chat.Event, 0, 64)
	b.SetBytes(int64(bytes))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		n++
		for _, text := range messages {
			chunk := size
			if chunk == 0 {
				chunk = len(text)
			}
			d.Reset()
			for i := 0; i < len(text); i += chunk {
				buf = d.Feed(buf[:0], text[i:min(i+chunk, len(text))])
			}
			buf = d.Close(buf[:0])
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/(float64(n)*float64(bytes)/mib), "allocs/MiB")
}

// BenchmarkCalls reads a hundred short calls in every dialect, as the dialect itself writes them:
// BenchmarkCalls/DIALECT/CHUNK.
func BenchmarkCalls(b *testing.B) {
	for _, name := range dialect.Names() {
		b.Run(name, func(b *testing.B) {
			messages := hundredCalls(b, name)
			for _, c := range []struct {
				name string
				size int
			}{{"whole", 0}, {"16", 16}, {"4", 4}} {
				b.Run(c.name, func(b *testing.B) {
					decodeBench(b, dialect.Options{Dialect: name, Tools: benchTools}, messages, c.size, 100)
				})
			}
		})
	}
}

// hundredCalls writes calls into one message, or into one each where a message holds no more.
func hundredCalls(tb testing.TB, name string) []string {
	d, _ := dialect.Lookup(name)
	var calls []chat.Call
	for i := range 100 {
		args := fmt.Sprintf(`{"path":"src/part%d.txt","content":"%s","mode":%d}`, i,
			strings.TrimSpace(strings.Repeat("word ", 4+i%12)), i)
		calls = append(calls, chat.Call{Index: i, ID: fmt.Sprintf("call_%d", i), Name: "write_file", Arguments: args,
			Complete: true})
	}
	if text, err := d.AppendCalls(nil, calls); err == nil {
		return []string{string(text)}
	}
	var messages []string
	for i := range calls {
		text, err := d.AppendCalls(nil, calls[i:i+1])
		if err != nil {
			tb.Fatal(err)
		}
		messages = append(messages, string(text))
	}
	return messages
}

// An answer is a recorded text with the tools that were on offer.
type answer struct {
	text  string
	tools []shape.Tool
}

// recordedAnswers returns every tenth of the recorded answers beside the project: 1 390, of ten models.
func recordedAnswers(b *testing.B) (answers []answer, size int) {
	f, err := os.Open(filepath.Join("..", "..", "shared", "data", "bfcl-dev.jsonl.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		b.Skip("no recorded answers beside the project")
	}
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	lines := json.NewDecoder(z)
	for n := 0; ; n++ {
		var r struct {
			Text  string
			Tools []struct {
				Function struct {
					Name       string
					Parameters json.RawMessage
				}
			}
		}
		if err := lines.Decode(&r); err == io.EOF {
			return answers, size
		} else if err != nil {
			b.Fatal(err)
		}
		if n%10 != n/10%10 { // the answers to a question stand together, one of each model
			continue
		}
		a := answer{text: r.Text}
		for _, t := range r.Tools {
			s, err := schema.Compile(t.Function.Parameters)
			if err != nil {
				b.Fatal(err)
			}
			a.tools = append(a.tools, shape.Tool{Name: t.Function.Name, Args: s.Shape()})
		}
		answers, size = append(answers, a), size+len(r.Text)
	}
}

// BenchmarkAnswers reads recorded answers in chunks of 4 bytes, each with a decoder made for its tools as a
// bridge makes it: BenchmarkAnswers/new. BenchmarkAnswers/setup makes the decoders and reads nothing.
func BenchmarkAnswers(b *testing.B) {
	answers, size := recordedAnswers(b)
	var cache dialect.Cache
	for _, read := range []bool{true, false} {
		b.Run(map[bool]string{true: "new", false: "setup"}[read], func(b *testing.B) {
			var buf []chat.Event
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, a := range answers {
					d, err := dialect.New(dialect.Options{Tools: a.tools, Cache: &cache})
					if err != nil {
						b.Fatal(err)
					}
					if !read {
						continue
					}
					for i := 0; i < len(a.text); i += 4 {
						buf = d.Feed(buf[:0], a.text[i:min(i+4, len(a.text))])
					}
					buf = d.Close(buf[:0])
				}
			}
		})
	}
}

// BenchmarkCases reads the texts of a file of cases, each under its own options, in chunks of 4 bytes:
// BenchmarkCases/FILE.
func BenchmarkCases(b *testing.B) {
	files, err := dialecttest.ReadDir(os.DirFS(filepath.Join("testdata", "cases")))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		b.Run(strings.TrimSuffix(file, ".jsonl"), func(b *testing.B) {
			var decoders []*dialect.Decoder
			size := 0
			for _, c := range files[file] {
				o, err := c.Options()
				if err != nil {
					b.Fatal(err)
				}
				d, err := dialect.New(o)
				if err != nil {
					b.Fatal(err)
				}
				decoders, size = append(decoders, d), size+len(c.Text)
			}
			buf := make([]chat.Event, 0, 64)
			b.SetBytes(int64(size))
			for b.Loop() {
				for k, c := range files[file] {
					d := decoders[k]
					d.Reset()
					for i := 0; i < len(c.Text); i += 4 {
						buf = d.Feed(buf[:0], c.Text[i:min(i+4, len(c.Text))])
					}
					buf = d.Close(buf[:0])
				}
			}
		})
	}
}

func countCalls(events []chat.Event) (n int) {
	for _, e := range events {
		if e.Kind == chat.KindCallEnd && e.Detail.(*chat.Call).Complete {
			n++
		}
	}
	return n
}

var benchTools = func() []shape.Tool {
	var tools []shape.Tool
	for name, params := range map[string]string{
		"write_file": `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"mode":{"type":"integer"}},"required":["path"]}`,
		"get_time":   `{"type":"object","properties":{"zone":{"type":"string"}}}`,
	} {
		s, err := schema.Compile(json.RawMessage(params))
		if err != nil {
			panic(err)
		}
		tools = append(tools, shape.Tool{Name: name, Args: s.Shape()})
	}
	return tools
}()

// oneCall writes a call of write_file as the dialect does; auto is written as hermes.
func oneCall(d, path, content string) string {
	quoted := func(v any) string {
		var sb strings.Builder
		e := json.NewEncoder(&sb)
		e.SetEscapeHTML(false)
		_ = e.Encode(v) // a string builder does not fail
		return strings.TrimSuffix(sb.String(), "\n")
	}
	args := fmt.Sprintf(`{"path":%s,"content":%s}`, quoted(path), quoted(content))
	switch d {
	case "tool-call-tag":
		return fmt.Sprintf("<TOOL_CALL>\n{\"tool\":\"write_file\",\"args\":%s}\n</TOOL_CALL>", args)
	case "qwen3-coder":
		return fmt.Sprintf(
			"<tool_call>\n<function=write_file>\n<parameter=path>\n%s\n</parameter>\n<parameter=content>\n%s\n</parameter>\n</function>\n</tool_call>", path, content)
	case "cli-block":
		return fmt.Sprintf("``````write_file\n=== FILE: %s\n%s\n``````", path, content)
	case "json-fence":
		return fmt.Sprintf("```json\n{\"name\":\"write_file\",\"arguments\":%s}\n```", args)
	}
	return fmt.Sprintf("<tool_call>\n{\"name\":\"write_file\",\"arguments\":%s}\n</tool_call>", args)
}

// shortCalls returns a hundred calls of 90 to 190 bytes, with a line of text before each. Under auto they
// come in turn in four forms.
func shortCalls(d string) string {
	forms := []string{"hermes", "tool-call-tag", "qwen3-coder", "json-fence"}
	var b strings.Builder
	for i := range 100 {
		form := d
		if d == "auto" {
			form = forms[i%len(forms)]
		}
		fmt.Fprintf(&b, "Step %d.\n%s\n", i,
			oneCall(form, fmt.Sprintf("src/part%d.txt", i), strings.Repeat("word ", 4+i%12)))
	}
	return b.String()
}

func bigArg(d string, size int) string { return oneCall(d, "big.txt", check.Prose(size)) }

func fill(unit string, size int) string { return strings.Repeat(unit, size/len(unit)) }

// jsonAnswer returns a JSON document of about size bytes, laid out as a model does, with line starts that
// look like calls.
func jsonAnswer(size int) string {
	const item = "  {\n    \"name\": \"item %d\",\n    \"type\": \"thing\",\n    \"tags\": [\n      {\"id\": 1},\n      {\"id\": 2}\n    ],\n    \"text\": \"say \\\"hi\\\" {x} [y]\"\n  },\n"
	var b strings.Builder
	b.WriteString("[\n")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, item, i)
	}
	b.WriteString("  {}\n]\n")
	return b.String()
}

// BenchmarkNew measures what a decoder costs before its first byte: a gateway makes one for each request,
// under the same options.
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{1, 20, 40} {
		var tools []shape.Tool
		for i := range n {
			tools = append(tools, shape.Tool{Name: fmt.Sprintf("tool_%d", i), Args: benchTools[0].Args})
		}
		for _, w := range []struct {
			name string
			o    dialect.Options
		}{
			{"auto", dialect.Options{}},
			{"prefer", dialect.Options{Prefer: []string{"qwen3-coder", "hermes"}, Drop: []string{"<end_of_turn>"},
				Cache: new(dialect.Cache)}},
			{"named", dialect.Options{Dialect: "hermes", Cache: new(dialect.Cache)}},
			{"uncached", dialect.Options{Prefer: []string{"qwen3-coder", "hermes"}}},
		} {
			b.Run(fmt.Sprintf("%dtools/%s", n, w.name), func(b *testing.B) {
				w.o.Tools = tools
				b.ReportAllocs()
				for b.Loop() {
					if _, err := dialect.New(w.o); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
