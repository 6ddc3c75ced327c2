package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wield/chat"
)

// write returns events as a stream and as a body.
func write(t *testing.T, notation string) (frames, body string) {
	t.Helper()
	w, r := NewStreamWriter(ResponseOptions{ID: "msg_1", Model: "m"}),
		NewResponse(ResponseOptions{ID: "msg_1", Model: "m"})
	var b []byte
	for _, e := range parseNotation(t, notation) {
		b = w.Append(b, e)
		r.Add(e)
	}
	return frameLines(t, b), string(r.Append(nil))
}

// reencoded decodes a request and writes it again.
func reencoded(t *testing.T, body string) string {
	t.Helper()
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out, err := AppendRequest(nil, req, RequestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestL02L03_IndexPerBlock: each block has an index of its own, which counts over the whole stream.
func TestL02L03_IndexPerBlock(t *testing.T) {
	frames, _ := write(t,
		"text \"a\"\nstart 0 toolu_a f\nargs 0 \"{}\"\nend 0 toolu_a f {} complete\ntext \"b\"\nstart 1 toolu_b g\nargs 1 \"{}\"\nend 1 toolu_b g {} complete\nfinish tool_calls")
	next, open := 0, -1
	for line := range strings.Lines(frames) {
		var f struct {
			Type  string
			Index int
		}
		if !strings.Contains(line, `"index":`) {
			continue
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatal(err)
		}
		if f.Type == "content_block_start" {
			if open >= 0 || f.Index != next {
				t.Errorf("block %d begins while %d is open, %d was next", f.Index, open, next)
			}
			open, next = f.Index, next+1
		} else if f.Index != open {
			t.Errorf("%s of block %d while %d is open", f.Type, f.Index, open)
		}
		if f.Type == "content_block_stop" {
			open = -1
		}
	}
	if next != 4 || open >= 0 {
		t.Errorf("%d blocks, %d is open at the end", next, open)
	}
}

// TestL04L07_IDOnce: a call has its id and its name once, where it begins, and the id is never empty.
func TestL04L07_IDOnce(t *testing.T) {
	frames, body := write(t,
		"start 0 none f\nargs 0 \"{\\\"x\\\":\"\nargs 0 \"1}\"\nend 0 none f {\"x\":1} complete\nfinish tool_calls")
	if n := strings.Count(frames, `"id":"toolu_`); n != 1 || strings.Count(frames, `"name":"f"`) != 1 {
		t.Errorf("%d ids in\n%s", n, frames)
	}
	if !strings.Contains(body, `"id":"toolu_`) {
		t.Error(body)
	}
}

// TestL09_IDsOfEachSide: ids of other servers are shown to a client in the form that it knows, differ if they
// differed, and are themselves again in its next request. A server of the protocol never gets one that it refuses.
func TestL09_IDsOfEachSide(t *testing.T) {
	seen := map[string]string{}
	for _, id := range []string{"call_1", "toolu_01AbC", "functions.f:0", "functions.f_x3a0", "toolu_w_call_1",
		"toolu_w_", "_x", "_x5fx", "_", "", "é", "a b", "9aB3x_x", "toolu_w__x", "toolu_w__xzz"} {
		client, server := clientID(id), serverID(id)
		if other, ok := seen[client]; ok {
			t.Errorf("%q and %q are both %q", id, other, client)
		}
		seen[client] = id
		if !strings.HasPrefix(client, "toolu_") || !isPlainID(client) || !isPlainID(server) {
			t.Errorf("%q is %q to a client and %q to a server", id, client, server)
		}
		if originalID(client) != id || originalID(server) != id {
			t.Errorf("%q comes back as %q and %q", id, originalID(client), originalID(server))
		}
	}
}

// TestL12_CallWithoutArguments: {} is sent, never nothing; nothing that comes in means {}.
func TestL12_CallWithoutArguments(t *testing.T) {
	frames, body := write(t, "start 0 toolu_a f\nend 0 toolu_a f {} complete\nfinish tool_calls")
	if !strings.Contains(frames, `"partial_json":"{}"`) || !strings.Contains(body, `"input":{}`) {
		t.Errorf("%s\n%s", frames, body)
	}
	events, err := readData(
		[]string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
			`{"type":"message_stop"}`})
	if got := notation(events); err != nil || !strings.Contains(got, "end 0 a f {} complete") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestL13L14L16_OneStopReason: exactly one, tool_use exactly when there is a call, and only words that the protocol
// has.
func TestL13L14L16_OneStopReason(t *testing.T) {
	for reason, want := range map[string]string{"stop": "end_turn", "length": "max_tokens",
		"content_filter": "refusal", "tool_calls": "end_turn", "eof": "end_turn", "": "end_turn"} {
		for _, call := range []bool{false, true} {
			events := "text \"a\"\n"
			if call {
				events += "end 0 toolu_a f {} complete\n"
				want = "tool_use"
			}
			frames, body := write(t, events+"finish "+reason+" \"\"")
			if strings.Count(frames, `"stop_reason":"`) != 1 ||
				!strings.Contains(frames, `"stop_reason":"`+want+`"`) ||
				!strings.Contains(body, `"stop_reason":"`+want+`"`) {
				t.Errorf("%s, call %v:\n%s\n%s", reason, call, frames, body)
			}
		}
	}
}

// TestL15_CallsDecide: whether an answer of a server holds calls is decided by the calls.
func TestL15_CallsDecide(t *testing.T) {
	for _, body := range []string{
		`{"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"end_turn"}`,
		`{"content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":null}`,
	} {
		if events, err := DecodeResponse(nil, []byte(body)); err != nil ||
			!strings.HasSuffix(notation(events), `finish tool_calls ""`) {
			t.Errorf("%s: %s, %v", body, notation(events), err)
		}
	}
}

// TestL18_EmptyContent: whatever stands for no text beside calls is read, and a server gets none.
func TestL18_EmptyContent(t *testing.T) {
	for _, text := range []string{`{"type":"text","text":""},`, ``, `"",`} {
		out := reencoded(t, `{"messages":[{"role":"user","content":"w"},{"role":"assistant","content":[`+text+
			`{"type":"tool_use","id":"a","name":"f","input":{}}]},`+
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}]}`)
		if !strings.Contains(out,
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}`) {
			t.Error(out)
		}
	}
	for _, content := range []string{`""`, `[]`, `null`} {
		if out := reencoded(t, `{"messages":[{"role":"user","content":"w"},{"role":"assistant","content":`+content+
			`},{"role":"user","content":"x"}]}`); strings.Contains(out, "assistant") {
			t.Error(out)
		}
	}
}

// TestL19_ResultContent: the content of a result is a string, blocks, or absent.
func TestL19_ResultContent(t *testing.T) {
	for _, content := range []string{`,"content":"1"`, `,"content":[{"type":"text","text":"1"}]`, ``,
		`,"content":null`, `,"content":[]`} {
		req, err := DecodeRequest(
			[]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"` + content +
				`}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if strings.Contains(content, "1") {
			want = "1"
		}
		if m := req.Messages[0]; m.Role != chat.RoleTool || m.Text() != want || len(req.Messages) != 1 {
			t.Errorf("%s: %+v", content, m)
		}
	}
}

// TestL20_TextBeforeCalls: a text is closed before a call begins, and begins as "", not without a text.
func TestL20_TextBeforeCalls(t *testing.T) {
	frames, _ := write(t,
		"text \"a\"\nstart 0 toolu_a f\nargs 0 \"{}\"\nend 0 toolu_a f {} complete\nfinish tool_calls")
	stop, use := strings.Index(frames, `"content_block_stop","index":0`), strings.Index(frames, `"tool_use"`)
	if !strings.Contains(frames, `"content_block":{"type":"text","text":""}`) || stop < 0 || use < stop {
		t.Error(frames)
	}
}

// TestL22_UnknownKeys: what nobody knows is no error, and does not reach a server unless it is on its list.
func TestL22_UnknownKeys(t *testing.T) {
	body := `{"messages":[{"role":"user","content":[{"type":"text","text":"w","glow":1}],"mood":"x"}],"keep_alive":5,"tools":[{"name":"f","aura":{}}],"context_management":{}}`
	if out := reencoded(t, body); strings.Contains(out, "glow") || strings.Contains(out, "mood") ||
		strings.Contains(out, "keep_alive") || strings.Contains(out, "aura") ||
		strings.Contains(out, "context_management") {
		t.Error(out)
	}
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := AppendRequest(nil, req, RequestOptions{Forward: []string{"glow", "mood", "aura", "context_management"}})
	for _, want := range []string{`"glow":1`, `"mood":"x"`, `"aura":{}`, `"context_management":{}`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s is missing: %s", want, out)
		}
	}
}

// TestL23_OrphanResults: a result without its call, and a call without its result, do not reach a server as such.
func TestL23_OrphanResults(t *testing.T) {
	out := reencoded(t,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"lost","content":"0"}]},`+
			`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":"x"}]}`)
	if strings.Contains(out, `"tool_use_id":"lost"`) || !strings.Contains(out, `"text":"0"`) ||
		!strings.Contains(out, `"tool_use_id":"a"`) {
		t.Error(out)
	}
}

// TestL24_ServerTools: tools that the server runs are marked as such, and reach one of this protocol as they are,
// with a choice of them.
func TestL24_ServerTools(t *testing.T) {
	for _, choice := range []string{`{"type":"auto"}`, `{"type":"any"}`, `{"type":"tool","name":"web_search"}`} {
		out := reencoded(t,
			`{"messages":[{"role":"user","content":"w"}],"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"mcp_toolset"}],"tool_choice":`+choice+`}`)
		if !strings.Contains(out,
			`"tools":[{"type":"web_search_20250305","name":"web_search"},{"type":"mcp_toolset"}]`) ||
			strings.Contains(out, "tool_choice") == (choice == `{"type":"auto"}`) {
			t.Error(out)
		}
	}
}

// TestManyBlocks: a server that opens blocks without end costs no more for the last than for the first.
func TestManyBlocks(t *testing.T) {
	var r StreamReader
	for i := range 10_000 {
		events, err := r.Feed(nil,
			fmt.Appendf(nil,
				`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"f","input":{}}}`, i, i))
		if err != nil {
			t.Fatal(err)
		}
		if len(events) > 8 || len(r.blocks) > maxOpen {
			t.Fatalf("%d events, %d blocks are open", len(events), len(r.blocks))
		}
	}
}
