package api

import (
	"encoding/json"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
)

// parsedCalls reads a text and returns its calls.
func parsedCalls(t *testing.T, text string, o dialect.Options) []ParsedCall {
	t.Helper()
	r, err := read(t.Context(), text, o, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r.Calls
}

func decoderCases(t *testing.T) (list []dialecttest.Case) {
	t.Helper()
	files, err := dialecttest.ReadDir(os.DirFS("../../dialect/testdata/cases"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cases := range files {
		list = append(list, cases...)
	}
	return list
}

// TestSourcesOfCases holds the sources of every call of every case of the decoder to what they promise.
func TestSourcesOfCases(t *testing.T) {
	keys, values, same := 0, 0, 0
	var cache dialect.Cache
	for i, c := range decoderCases(t) {
		if i%testlevel.Every(3) > 0 {
			continue
		}
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = &cache
		for _, call := range parsedCalls(t, c.Text, o) {
			if err := checkSources(c.Text, call); err != nil {
				t.Errorf("%s: %v\ntext %q\narguments %s", c.ID, err, c.Text, call.Arguments)
			}
			for _, s := range call.Values {
				switch {
				case s.Key:
					keys++
				case s.Same:
					same++
					values++
				default:
					values++
				}
			}
		}
	}
	t.Logf("%d keys, %d values, of which %d stand in the text as they are", keys, values, same)
	if least := 1000 / testlevel.Every(3); keys < least || values < least || same < values/2 {
		t.Error("that is too little to say anything")
	}
}

// above returns how far before a call what belongs to it may stand: the name of a file above a block.
func above(call ParsedCall) int {
	if call.Dialect == "cli-block" {
		return 512
	}
	return 0
}

// checkSources reports a source that is missing, lies elsewhere than the call, or whose bytes do not say what the
// arguments do.
func checkSources(text string, call ParsedCall) error {
	args := call.Arguments
	if call.Complete {
		if got, want := sourcePaths(call.Values), jsonPaths(args); !slices.Equal(got, want) {
			return fmt.Errorf("there are sources of %q, but the arguments have %q", got, want)
		}
	}
	for _, s := range call.Values {
		where := fmt.Sprintf("%s (key %t)", s.Path, s.Key)
		if s.From > s.To || s.To > len(args) || s.At > s.End || s.At < call.At-above(call) || s.End > call.End {
			return fmt.Errorf("%s: %d..%d is read from %d..%d, the call stands at %d..%d", where, s.From, s.To, s.At,
				s.End, call.At, call.End)
		}
		value, raw := args[s.From:s.To], text[s.At:s.End]
		switch {
		case s.Same != (value == raw):
			return fmt.Errorf("%s: same is %t of %q and %q", where, s.Same, value, raw)
		case s.Key && s.At == s.End: // positional: nothing in the text stands for the name
		case value != "" && strings.ContainsAny(value[:1], "{["):
		case !says(raw, value):
			return fmt.Errorf("%s: %q does not say %q", where, raw, value)
		}
	}
	return nil
}

// says reports whether raw is a way to write value: its characters stand in it in order, whatever marks stand between
// them. Sums are written as what they come to.
func says(raw, value string) bool {
	var text string
	if json.Unmarshal([]byte(`"`+value+`"`), &text) != nil {
		text = value
	}
	if other[raw] == value {
		return true
	}
	if strings.ContainsAny(raw, "*/+") && strings.Trim(value, "-0123456789.") == "" {
		return true
	}
	for _, way := range []func(string) string{asIs, html.UnescapeString, unescapeOnce,
		func(s string) string { return unescapeOnce(unescapeOnce(s)) }} {
		if inOrder(strings.ToLower(way(raw)), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

// other are spellings that share no character with what they mean.
var other = map[string]string{"None": "null", "none": "null", "undefined": "null", "": "null", "0x1F": "31",
	"1.": "1.0", "user_name": "user.name", `\u0041\'\q`: `A'\\q`, "\\x41 \\' \\\nz \\q": `\u0041 ' z \\q`,
	"\\x41\\a\\\n\\'b\\0": `\u0041\u0007'b\u0000`}

func asIs(s string) string { return s }

func unescapeOnce(s string) string {
	var out string
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	s = strings.NewReplacer(`\'`, "'", `\_`, "_", "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	if json.Unmarshal([]byte(`"`+s+`"`), &out) != nil {
		return s
	}
	return out
}

func inOrder(raw, text string) bool {
	for _, c := range text {
		k := strings.IndexRune(raw, c)
		if k < 0 {
			return c == '\n' && strings.TrimSpace(raw) == "" // the line break at the end of a block scalar
		}
		raw = raw[k+len(string(c)):]
	}
	return true
}

func sourcePaths(list []ParsedValue) (paths []string) {
	for _, s := range list {
		paths = append(paths, fmt.Sprintf("%s %t", s.Path, s.Key))
	}
	return paths
}

// jsonPaths returns the keys and values of a text of JSON in their order.
func jsonPaths(text string) (paths []string) {
	d := json.NewDecoder(strings.NewReader(text))
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var value func(path string)
	value = func(path string) {
		tok, err := d.Token()
		if err != nil {
			return
		}
		paths = append(paths, path+" false")
		delim, ok := tok.(json.Delim)
		if !ok {
			return
		}
		for n := 0; d.More(); n++ {
			inner := fmt.Sprintf("%s/%d", path, n)
			if delim == '{' {
				key, _ := d.Token()
				inner = path + "/" + escape.Replace(key.(string))
				paths = append(paths, inner+" true")
			}
			value(inner)
		}
		_, _ = d.Token()
	}
	value("")
	return paths
}

// TestSources shows the bytes that values are read from, where other bytes say the same.
func TestSources(t *testing.T) {
	tools := []dialecttest.Tool{
		{Function: dialecttest.Function{Name: "plot", Parameters: []byte(`{"type":"object","properties":{
		"title":{"type":"string"},"width":{"type":"integer"},"marks":{"type":"array","items":{"type":"string"}},"area":{"type":"object","properties":{"w":{"type":"integer"}}}}}`)}}}
	for _, tt := range []struct {
		name, text string
		want       []string // "path=bytes", a key with a star before it
	}{
		{"the same value twice",
			`<tool_call>{"name":"plot","arguments":{"title":"plot","marks":["plot","plot"]}}</tool_call>`,
			[]string{"*/title=title@40", "/title=plot@48", "*/marks=marks@55", "/marks/0=plot@64", "/marks/1=plot@71"}},
		{"escapes", `<tool_call>{"name":"plot","arguments":{"title":"a\"b\u00e9","width":3}}</tool_call>`,
			[]string{`*/title=title@40`, `/title=a\"b\u00e9@48`, `*/width=width@61`, `/width=3@68`}},
		{"arguments first", `<tool_call>{"arguments":{"title":"x","width":"12"},"name":"plot"}</tool_call>`,
			[]string{`*/title=title@26`, `/title=x@34`, `*/width=width@38`, `/width=12@46`}},
		{"arguments in a string", `<tool_call>{"name":"plot","arguments":"{\"title\":\"a\\\"b\"}"}</tool_call>`,
			[]string{`*/title=title@42`, `/title=a\\\"b@52`}},
		{"tags",
			"<tool_call>\n<function=plot>\n<parameter=title>\na \"b\" <c\n</parameter>\n<parameter=area>\n{\"w\": 3}\n</parameter>\n</function>\n</tool_call>",
			[]string{"*/title=title@39", `/title=a "b" <c@46`, "*/area=area@79", "*/area/w=w@87", "/area/w=3@91"}},
		{"Python", `[plot(title='it\'s', width=3, marks=["a", 'b'])]`,
			[]string{`*/title=title@6`, `/title=it\'s@13`, `*/width=width@21`, `/width=3@27`, `*/marks=marks@30`,
				`/marks/0=a@38`, `/marks/1=b@43`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dialecttest.Case{Tools: tools, Text: tt.text}
			o, err := c.Options()
			if err != nil {
				t.Fatal(err)
			}
			calls := parsedCalls(t, tt.text, o)
			if len(calls) != 1 {
				t.Fatalf("%d calls", len(calls))
			}
			var got []string
			for _, s := range calls[0].Values {
				value := calls[0].Arguments[s.From:s.To]
				if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
					continue
				}
				key := ""
				if s.Key {
					key = "*"
				}
				got = append(got, fmt.Sprintf("%s%s=%s@%d", key, s.Path, tt.text[s.At:s.End], s.At))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestSourcesOfAnything feeds texts that are cut short: whatever is left, the sources lie in the call.
func TestSourcesOfAnything(t *testing.T) {
	var cache dialect.Cache
	for i, c := range decoderCases(t) {
		if !strings.HasPrefix(c.ID, "mixed/") || i%testlevel.Every(3) > 0 {
			continue
		}
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = &cache
		for n := range len(c.Text) {
			for _, call := range parsedCalls(t, c.Text[:n], o) {
				if err := checkSources(c.Text[:n], call); err != nil {
					t.Errorf("%s, %d bytes: %v", c.ID, n, err)
				}
			}
		}
	}
}

// TestSourcesTakeLinearTime looks for values in texts that hold nearly all of them everywhere.
func TestSourcesTakeLinearTime(t *testing.T) {
	for name, text := range map[string]string{
		"a value that is not there": strings.Repeat("aaaa ", 20000),
		"tags":                      strings.Repeat("<a", 50000),
		"quotes":                    strings.Repeat(`"`, 100000),
		"keys":                      strings.Repeat(`"key": `, 15000),
	} {
		raw, _ := json.Marshal(strings.Repeat("a", 50000) + "b")
		args := `{"key":` + string(raw) + strings.Repeat(`,"key":"","none":1`, 2000) + "}"
		start := time.Now()
		sources(text, &chat.Call{Name: "x", Arguments: args, End: len(text)})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}
