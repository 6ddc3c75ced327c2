package dialect_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/schema"
	"wield/schema/shape"
)

// TestUsual reads calls behind one that teaches the decoder what their arguments are: whether it has all of them at once and compares
// them with the last ones, or reads them byte by byte, the same comes out, and the same as from a decoder that saw no call before.
func TestUsual(t *testing.T) {
	var cache dialect.Cache
	for _, repair := range []dialect.Repair{dialect.RepairFull, dialect.RepairSafe, dialect.RepairOff} {
		for _, form := range usualForms() {
			o := dialect.Options{Dialect: form.dialect, Tools: usualTools(t), Repair: repair, Cache: &cache}
			for k, first := range form.args {
				if k > 0 && k%7 != 4 {
					continue
				}
				for _, then := range form.args {
					text := form.before + form.call(first) + form.between + form.call(then) + form.after
					whole := feedMerged(decoder(t, o), text, len(text))
					for _, size := range []int{1, 3, 16} {
						if got := feedMerged(decoder(t, o), text, size); !reflect.DeepEqual(got, whole) {
							t.Fatalf("%s %v: %q in chunks of %d: %s, whole %s", form.dialect, repair, text, size, told(got), told(whole))
						}
					}
					d := decoder(t, o)
					alone := form.before + form.call(then) + form.after
					want := feedMerged(d, alone, len(alone))
					feedMerged(d, form.before+form.call(first)+form.after, len(text))
					if got := feedMerged(d, alone, len(alone)); !reflect.DeepEqual(got, want) {
						t.Fatalf("%s %v: %q behind %q: %s, alone %s", form.dialect, repair, then, first, told(got), told(want))
					}
				}
			}
		}
	}
}

// A usualForm is a dialect and the arguments of calls in it.
type usualForm struct {
	dialect, before, between, after string
	call                            func(args string) string
	args                            []string
}

func usualForms() []usualForm {
	function := func(args string) string { return "f(" + args + ")" }
	keywords := []string{
		`path="a", content="b c", mode=1`, `path="a", content="b c"`, `path="a"`, ``, `path="a", content="b c", mode=1, more="x"`,
		`path="a",content="b",mode=1`, `path = "a", content="b", mode=1`, `path="a", mode=1, content="b"`, `path='a', content='b', mode=1`,
		`path="", content="b", mode=1`, `path="""a""", content="b", mode=1`, `path="a\n", content="b\"", mode=1`, "path=\"a\nb\", content=\"b\", mode=1",
		`path="a", content="b)", mode=1`, `path="a", content="b" "c", mode=1`, `path="a"b, content="b", mode=1`, `path="a", path="b", mode=1`,
		`path="a", path="a", mode=1`, `path="a", content="b", mode=01`, `path="a", content="b", mode=1.5`, `path="a", content="b", mode="1"`,
		`path=1, content="b", mode=1`, `path="a", content="b", mode=1234567890123456`, `path="a", content="b", mode=1 `, `path="a", content="b", mode=1, `,
		`path="a", content="b", mode=-1`, `path=="a", content="b", mode=1`, `kind="one", free=1`, `kind="other", free="1"`, `free="x", kind="one"`, `kind="two"`,
		`"a", "b", 1`, `"a", content="b", mode=1`, `{"path":"a","mode":1}`, `arguments={"path":"a"}`, `path="ä", content="ö ` + "\u2028" + `", mode=1`,
		`pa\_th="a", content="b", mode=1`, `path="a", content="` + strings.Repeat("long ", 250) + `", mode=1`, `path=a, content=b, mode=c`,
		`path = "a b", path="a b", mode=1`, `path = "a b", path="c", mode=1`,
	}
	object := func(args string) string {
		quoted, _ := json.Marshal(args)
		return `{"id":"x","type":"function","function":{"name":"f","arguments":` + string(quoted) + `}}`
	}
	objects := []string{
		`{"path":"a","content":"b c","mode":1}`, `{"path": "a", "content": "b c", "mode": 1}`, `{"path":"a"}`, `{}`, ``, `{"path":"a","content":"b","mode":1,"more":"x"}`,
		`{"path": "a","content":"b", "mode": 1}`, `{"content":"b","path":"a","mode":1}`, `{"path":"","content":"b","mode":1}`, `{"path":"a\n","content":"b\"","mode":1}`,
		`{"path":"a","path":"b","mode":1}`, `{"path":"a","path":"a"}`, `{"path":"a","content":"b","mode":01}`, `{"path":"a","content":"b","mode":1.5}`,
		`{"path":"a","content":"b","mode":"1"}`, `{"path":1,"content":"b","mode":1}`, `{"path":"a","content":"b","mode":1 }`, `{"path":"a","content":"b","mode":1}x`,
		`{"path":"a","content":"b","mode":1`, `{"path":"a","content":"b","mode":1,}`, `{'path':'a','mode':1}`, `{path:"a",mode:1}`, `{"kind":"one","free":1}`,
		`{"kind":"other","free":"1"}`, `{"free":"x","kind":"one"}`, `{"p\u0061th":"a","content":"b","mode":1}`, `["a"]`, `{"path":{"path":"a"},"mode":1}`, ` {"path":"a"} `,
		`{"path":"a" ,"content":"b","path":"a"}`, `{"path":"a" ,"content":"b","path":"c"}`, `{"path" :"a b","path":"a b"}`, `{"path" : "a b","path":"c"}`,
	}
	literal := func(args string) string { return "<|tool_call>call:f{" + args + "}<tool_call|>" }
	escape := func(args string) string {
		return "<start_function_call>call:f{" + strings.ReplaceAll(args, `<|"|>`, "<escape>") + "}<end_function_call>"
	}
	literals := []string{
		`path:<|"|>a<|"|>,content:<|"|>b c<|"|>,mode:1`, `path:<|"|>a<|"|>,content:<|"|>b c<|"|>`, `path:<|"|>a<|"|>`, ``, `path:<|"|>a<|"|>,more:<|"|>b<|"|>`,
		`path: <|"|>a<|"|>, content: <|"|>b<|"|>, mode: 1`, `path:<|"|><|"|>,content:<|"|>b<|"|>,mode:1`, `path:<|"|>a"b\c<d<|e<|"|>,content:<|"|>b<|"|>`,
		"path:<|\"|>a\nb<|\"|>,content:<|\"|>é<|\"|>,mode:1", `path:<|"|>a<|"|>,path:<|"|>b<|"|>`, `path:<|"|>a<|"|>,path:<|"|>a<|"|>,mode:1`, `mode:1,path:<|"|>a<|"|>`,
		`path:"a",content:'b',mode:1`, `path:a,content:b c,mode:01`, `path:1,content:true,mode:<|"|>1<|"|>`, `path:<|"|>a<|"|>,content:<|"|>b<|"|>,mode:1 `,
		`"path":<|"|>a<|"|>,<|"|>content<|"|>:<|"|>b<|"|>`, `path:{a:1},content:[<|"|>b<|"|>],mode:1`, `kind:<|"|>one<|"|>,free:1`, `kind:<|"|>other<|"|>,free:<|"|>1<|"|>`,
		`free:<|"|>x<|"|>,kind:<|"|>one<|"|>`, `path:<|"|>a`, `path:<|"|>a<|"|>,`, `path:<|"|>a<|"|>,content`, `path<|"|>a<|"|>,content:<|"|>b<|"|>`, `path:<|"|>a<|"|>;mode:1`,
		`path: <|"|>a b<|"|>,path:<|"|>a b<|"|>`, `path: <|"|>a b<|"|>,path:<|"|>c<|"|>`,
	}
	named := func(args string) string { return "f\n" + args }
	lined := func(args string) string { return "TOOL: f\nARGS:\n" + args }
	lines := []string{
		"  path: a\n  content: b c\n  mode: 1\n", "  path: a\n  content: b c\n", "  path: a\n", "", "\n", "  \n", "  path: a", " path: a\n content: b\n",
		"  path: a\n  path: b\n", "  path: |\n    a\n\n    b\n  content: b\n", "  path: >-\n\n    a\n", "  path: a\n   \n  content: b\n", "\tpath: a\n\tmode: 2\n",
		"  path: a\r\n  content: b\r\n", "  path: \"a\"\n  mode: 01\n", "  path: a # b\n  content: ä\n", "{\"path\":\"a\"}\n", "  nothing\n", "  path:\n    - a\n    - b\n",
		"  path: " + strings.Repeat("long ", 99) + "\n  content: b\n", "  path: a\n  content: " + strings.Repeat("é", 150) + "\n  mode: 1\n",
	}
	keyed := func(args string) string { return `{"f": ` + args + `}` }
	return []usualForm{
		{"apertus", "<|tools_prefix|>[", ", ", "]<|tools_suffix|>", keyed, objects},
		{"apertus", "[", ", ", "]", keyed, objects},
		{"yaml-style", "", "\n", "", lined, lines},
		{"yaml-style", "x\n", "\n", "\nx", lined, lines},
		{"name-json", "", "\n", "", named, objects},
		{"name-json", "", "\n", "\n", func(args string) string { return "f " + args }, objects},
		{"name-json", "```\n", "\n", "\n```\n", named, objects},
		{"name-json", "x\n", "\n\n", "\nx", named, objects},
		{"gemma4", "", "", "", literal, literals},
		{"functiongemma", "", "", "", escape, literals},
		{"functiongemma", "", "\n", "x", escape, literals},
		{"function-style", "", "\n", "\n", function, keywords},
		{"function-style", "", "\n", "", function, keywords},
		{"function-style", "x\n", " ", " x", function, keywords},
		{"pythonic", "[", ", ", "]", function, keywords},
		{"pythonic", "['", "', '", "']", function, keywords},
		{"olmo3", "<function_calls>", "\n", "</function_calls>", function, keywords},
		{"lfm2", "<|tool_call_start|>[", ", ", "]<|tool_call_end|>", function, keywords},
		{"openai-envelope", `{"tool_calls":[`, ",", "]}", object, objects},
	}
}

// usualTools are a tool whose arguments are of all the kinds that are told apart.
func usualTools(t *testing.T) []shape.Tool {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},
		"mode":{"type":"integer"},"kind":{"enum":["one","two"]},"free":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return []shape.Tool{{Name: "f", Args: s.Shape()}}
}

// feedMerged reads a text in chunks, with a decoder that may have read others.
func feedMerged(d *dialect.Decoder, text string, size int) []chat.Event {
	d.Reset()
	var events []chat.Event
	for i := 0; i < len(text); i += size {
		events = d.Feed(events, text[i:min(i+size, len(text))])
	}
	return dialecttest.Merge(d.Close(events))
}

// TestUsualArguments holds calls that are compared to what is written of them.
func TestUsualArguments(t *testing.T) {
	for _, form := range usualForms() {
		if form.dialect == "function-style" && form.after == " x" {
			continue // prose about a function
		}
		d := decoder(t, dialect.Options{Dialect: form.dialect, Tools: usualTools(t)})
		text := form.before
		for i, args := range []string{form.args[0], form.args[0], form.args[1]} {
			if i > 0 {
				text += form.between
			}
			text += form.call(args)
		}
		var got []string
		for _, e := range feedMerged(d, text+form.after, 1<<10) {
			if e.Kind == chat.KindCallEnd {
				got = append(got, fmt.Sprint(e.Detail.Call.Arguments, e.Detail.Call.Complete))
			}
		}
		third := `{"path":"a","content":"b c"}true`
		if slices.Contains([]string{"openai-envelope", "name-json", "apertus"}, form.dialect) {
			third = `{"path": "a", "content": "b c", "mode": 1}true`
		}
		usual := `{"path":"a","content":"b c","mode":1}true`
		if want := []string{usual, usual, third}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", form.dialect, got, want)
		}
	}
}
