package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// TestEcho reads calls behind others that began, went on or ended a little differently, as a decoder that expects more of the same does: each
// comes out as it does alone, in chunks of any size.
func TestEcho(t *testing.T) {
	call := func(name, args string) string {
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"
	}
	action := func(calls string) string { return "<|START_ACTION|>[\n    " + calls + "\n]<|END_ACTION|>" }
	lines := func(args string) string { return "TOOL: write_file\nARGS:\n  " + args + "\n\n" }
	envelope := func(parts ...string) string { // the start of each call, and its arguments
		var calls []string
		for i := 0; i < len(parts); i += 2 {
			calls = append(calls, parts[i]+`"type":"function","function":{"name":"write_file","arguments":`+parts[i+1]+`}}`)
		}
		return `{"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	calls := []string{
		call("write_file", `{"path":"a","content":"b","mode":1}`),
		call("write_file", `{"path":"a","content":"b","mode":1}`),
		call("write_file", `{"path": "a", "content": "b", "mode": 1}`),
		call("write_file", `{"path":"a","content":"b","content":"b"}`),
		call("write_file", `{"path":"a","path":"b","mode":1}`),
		call("write_file", `{"path":"a","content":"b","mode":1,"path":"c"}`),
		call("write_file", `{"content":"b","path":"a","mode":1}`),
		call("write_file", `{"path":"a","mode":1}`),
		call("write_file", `{"path":1,"content":["x","y"],"mode":"7"}`),
		call("write_file", `{"path":{"path":"a","content":"b"},"content":"b","mode":1}`),
		call("write_file", `{"path":"a","con\u0074ent":"b","content":"c"}`),
		call("write_file", `{"path" : "a" , "content" : "b",}`),
		call("write_file", `{'path':'a',content:"b","mode":1}`),
		call("get_time", `{"path":"a","zone":"b"}`),
		call("get_time", `{"zone":"b"}`),
		call("write_file", `"{\"path\":\"a\",\"content\":\"it's b\\nc\",\"mode\":1}"`),
		"<tool_call>\n[{\"name\": \"get_time\", \"arguments\": {\"zone\":\"b\"}}, {\"name\": \"get_time\", \"arguments\": {\"zone\":\"c\"}}]\n</tool_call>",
		"<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}",
		"<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
		"<tool_call>write_file\n<arg_key>path</arg_key><arg_value>a</arg_value>\n<arg_key>mode</arg_key> <arg_value>1</arg_value></tool_call>",
		"<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n\nb\n\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n</parameter>\n<parameter=mode>\n1\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=path>\nb\n</parameter>\n<parameter=mode>\n\"1\"\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=write_file>\n<parameter=path>\na\n<parameter=content>\nb\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content b\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=other>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nb\n</parameter>\n</function>\n</tool_call>",
		"<tool_call>\n<function=get_time>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n{\"b\": 1}\n</parameter>\n</function></tool_call>",
		"<function=write_file><parameter=path>a</parameter><parameter=content>b</parameter></function>",
		"<function_calls>\n<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"mode\">1</parameter></invoke>\n<invoke name=\"write_file\"><parameter name=\"path\"></parameter><parameter name=\"mode\">x</parameter></invoke>\n</function_calls>",
		"<function_calls>\n<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"mode\">1</parameter></invoke>\n<invoke name=\"get_time\"><parameter name=\"path\">b</parameter>",
		"<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"\">b</parameter></invoke>",
		"<invoke name=\"write_file\"><parameter name=\"path\">a</parameter><parameter name=\"\">",
		"write_file(path=\"a\", content='b (c', mode=1)",
		"<function=write_file>{\"path\":\"a\"}</function>",
		"<function=write_file>null</function>",
		"<function=write_file> {\"path\":\"a\"}</functions>",
		"<function=get_time>{\"zone\":\"a\"}",
		"```json\n<function=write_file>{\"path\":\"a\"}</function>\n```",
		"<tool_call>write_file\n{\"path\":\"a\"}</tool_call>",
		"<tool_call>write_file\n{\"path\":\"a\"}",
		"[TOOL_CALLS]write_file[ARGS]{\"path\":\"a\"}[TOOL_CALLS]write_file[ARGS]{\"path\":\"b\"}",
		"[TOOL_CALLS]write_file{\"path\":\"a\"}[TOOL_CALLS]write_file[ARGS]\"{}\"",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{\"path\":\"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"```json\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}}\n```",
		"```json\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}}\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}}\n```",
		"```json\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}, \"x\": [",
		"~~~json\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}}\n~~~",
		"**Tool Call:**\n```json\n{\"name\": \"write_file\", \"arguments\": {\"path\":\"a\"}}\n```",
		action(`{"tool_call_id": "0", "tool_name": "write_file", "parameters": {"path":"a"}}, {"tool_call_id": "12", "tool_name": "write_file", "parameters": {"path":"a"}}`),
		action(`{"tool_call_id": "0", "tool_name": "write_file", "parameters": {"path":"a"}}, {"tool_call_id": "", "tool_name": "get_time", "parameters": {"path":"a"}}`),
		action(`{"id": "3", "tool_call_id": "3", "name": "write_file", "parameters": {"path":"a"}}, {"id": "4", "tool_call_id": "3", "name": "write_file", "parameters": {"path":"a"}}`),
		action(`{"id": "3", "id" : "3", "name": "write_file", "parameters": {"path":"a"}}, {"id": "4", "id" : "3", "name": "write_file", "parameters": {"path":"a"}}`),
		action(`{"id": "3", "\u0069d": "3", "name": "write_file", "parameters": {"path":"a"}}, {"id": "4", "\u0069d": "3", "name": "write_file", "parameters": {"path":"a"}}`),
		lines("path: a\n  content: b\n  mode: 1") + lines("path: a\n  content: b\n  content: c") + lines("path: a\n\tcontent: b"),
		lines("path: a\n  content: b\n\nmode: 1"),
		lines("path: a\n  path: b\n  content: c"),
		lines("path: 'a'\n  'content': b\n  mode: x") + lines("path:  a \n    content: b"),
		lines("path: |\n    a\n  content: b") + lines("path: \n  content:\n    - b\n  mode: 2"),
		lines("path: a\n  content: {\"x\": 1}\n  mode : 1") + lines("path:\n    path: a\n    content: b\n  content: c"),
		envelope(`{"id":"call_1",`, `"{\"path\":\"a\",\"mode\":1}"`),
		envelope(`{"id":"call_1",`, `"{\"path\":\"a\",\"mode\":2}"`, `{"id":"c2",`, `" {\"path\":\"a\" } "`, `{"id":"call_333333",`, `"{\"path\":\"a\",\"mode\":\"x\"}"`),
		envelope(`{"id":"call_1",`, `"{}"`, `{"id":"",`, `"{\"path\":\"a\",\"path\":\"b\"}"`, `{"id":"a\"b",`, `"{\"path\":\"a\"}x"`),
		envelope(`{"id":"call_1",`, `"{\"path\":\"a\"}"`, `{"id":"call_1","id":"call_2",`, `"{\"path\":\"a\"}"`, `{`, `"{\"path\":[\"a\"]}"`),
	}
	o := dialect.Options{Tools: benchTools}
	alone := decoder(t, o)
	read := func(d *dialect.Decoder, text string, size int) (events []chat.Event) {
		d.Reset()
		for i := 0; i < len(text); i += size {
			events = d.Feed(events, text[i:min(i+size, len(text))])
		}
		return d.Close(events)
	}
	for _, first := range calls {
		for _, then := range calls {
			want := outcome(read(decoder(t, o), first, len(first))) + outcome(read(alone, then, len(then)))
			for _, size := range []int{1, 2, 3, 4, 7, 1000} {
				if got := outcome(read(alone, first, size)) + outcome(read(alone, then, size)); got != want {
					t.Errorf("%q behind %q in chunks of %d bytes: %s, want %s", then, first, size, got, want)
				}
				d := decoder(t, o)
				both := read(d, first+"\n"+then, size)
				if whole := read(decoder(t, o), first+"\n"+then, 1000); outcome(both) != outcome(whole) {
					t.Errorf("%q in chunks of %d bytes: %s, whole %s", first+"\n"+then, size, outcome(both), outcome(whole))
				}
			}
		}
	}
}

// outcome writes what became of the calls in a text.
func outcome(events []chat.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e.Kind {
		case chat.KindCallEnd:
			b.WriteString(e.ID + e.Name + e.Detail.Call.Arguments)
			if !e.Detail.Call.Complete {
				b.WriteString(" cut")
			}
		case chat.KindRejected:
			b.WriteString("rejected: " + e.Detail.Rejected.Message)
		case chat.KindNote:
			b.WriteString(string(e.Detail.Note.Kind) + e.Detail.Note.Path)
		case chat.KindText:
			b.WriteString(e.Text)
		default:
			continue
		}
		if e.Kind != chat.KindText {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestEchoID reads calls that differ in their ids, of which the last one counts where there are several.
func TestEchoID(t *testing.T) {
	d := decoder(t, dialect.Options{Tools: benchTools})
	for _, c := range []struct{ first, then, ids string }{
		{`"tool_call_id": "0"`, `"tool_call_id": "12"`, "0 0 12"},
		{`"id": "3", "tool_call_id": "3"`, `"id": "4", "tool_call_id": "3"`, "3 3 3"},
		{`"id": "3", "id" : "3"`, `"id": "4", "id" : "3"`, "3 3 3"},
		{`"id": "3", "\u0069d": "3"`, `"id": "4", "\u0069d": "3"`, "3 3 3"},
		{`"call_id": "3", "type": "3"`, `"call_id": "3", "type": "4"`, "3 3 3"},
		{`"type": "3", "call_id": "3"`, `"type": "4", "call_id": "5"`, "3 3 5"},
	} {
		const rest = `, "name": "write_file", "arguments": {"path":"a"}}`
		text := "<|START_ACTION|>[\n    {" + c.first + rest + ",\n    {" + c.first + rest + ",\n    {" + c.then + rest + "\n]<|END_ACTION|>"
		for _, size := range []int{1, 2, 4, 16, len(text)} {
			d.Reset()
			var ids []string
			for i := 0; i < len(text); i += size {
				for _, e := range d.Feed(nil, text[i:min(i+size, len(text))]) {
					if e.Kind == chat.KindCallStart {
						ids = append(ids, e.ID)
					}
				}
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("%s in chunks of %d bytes: ids %s, want %s", text, size, got, c.ids)
			}
		}
	}
}
