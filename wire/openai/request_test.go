package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/wire/jsonbody"
)

func TestRequests(t *testing.T) {
	for _, c := range goldens(t, "requests.txt", 60) {
		t.Run(c.name, func(t *testing.T) {
			req, err := DecodeRequest([]byte(c.sections["in"]))
			if want, ok := c.sections["refused"]; ok {
				checkRefused(t, err, want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o := RequestOptions{Stream: req.Stream, Usage: IncludeUsage(req), Reasoning: "reasoning_content",
				Forward: []string{"keep_alive", "cache_control", "video_url", "model", "stream_options"}}
			out, err := AppendRequest(nil, req, o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.sections["out"], string(out)); diff != "" {
				t.Errorf("written request differs (-want +got):\n%s", diff)
			}
			if !json.Valid(out) {
				t.Error("written request is no JSON")
			}
			again, err := DecodeRequest(out)
			if err != nil {
				t.Fatalf("what was written is refused: %v", err)
			}
			twice, _ := AppendRequest(nil, again, o)
			if diff := cmp.Diff(string(out), string(twice)); diff != "" {
				t.Errorf("second round differs:\n%s", diff)
			}
		})
	}
}

func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	var field *jsonbody.FieldError
	if !errors.As(err, &field) {
		t.Fatalf("error %v, want a FieldError", err)
	}
	f := strings.SplitN(want, "|", 3)
	param, code, message := strings.TrimSpace(f[0]), strings.TrimSpace(f[1]), strings.TrimSpace(f[2])
	if field.Param != param || field.Code != code || !strings.HasPrefix(field.Message, message) {
		t.Errorf("refused with %q, %q, %q, want %q, %q, %q", field.Param, field.Code, field.Message, param, code,
			message)
	}
	e := chat.AsError(err)
	if !errors.Is(err, chat.ErrBadRequest) || e.Kind != chat.ErrBadRequest || e.Param != field.Param ||
		e.Code != field.Code || e.Message != field.Message {
		t.Errorf("as a chat.Error it is %+v", e)
	}
}

func TestRequestFields(t *testing.T) {
	body := `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"user","content":"x","weird":[1]}],"store":true,"stream_options":{"include_usage":true}}`
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if got := req.Messages[1].Name; got != "f" {
		t.Errorf("the result's tool is %q, want f", got)
	}
	if c := req.Messages[0].Calls[0]; !c.Complete || c.Origin != chat.OriginFunction {
		t.Errorf("call %+v", c)
	}
	want := []chat.Extra{{Protocol: chat.ProtocolOpenAI, Key: "weird", Value: json.RawMessage("[1]")}}
	if diff := cmp.Diff(want, req.Messages[2].Opaque); diff != "" {
		t.Error(diff)
	}
	want = []chat.Extra{{Protocol: chat.ProtocolOpenAI, Key: "store", Value: json.RawMessage("true")},
		{Protocol: chat.ProtocolOpenAI, Key: "stream_options", Value: json.RawMessage(`{"include_usage":true}`)}}
	if diff := cmp.Diff(want, req.Extra); diff != "" {
		t.Error(diff)
	}
	if !IncludeUsage(req) || IncludeUsage(&chat.Request{}) {
		t.Error("IncludeUsage is wrong")
	}
	// What is appended to a raw piece must not run into the body behind it.
	_ = append(req.Extra[0].Value, "XXXX"...)
	if string(req.Extra[1].Value) != `{"include_usage":true}` {
		t.Error("raw pieces share their capacity with the body")
	}
}

func TestBadUTF8(t *testing.T) {
	_, err := DecodeRequest([]byte("{\"model\":\"é\xff\"}"))
	checkRefused(t, err, " | invalid_json | the body is not UTF-8 at byte 12")
}

func TestRequestOptions(t *testing.T) {
	req := &chat.Request{Model: "m", MaxTokens: 5, Messages: []chat.Message{
		{Role: chat.RoleDeveloper, Parts: chat.Text("d")},
		{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "a", Name: "f"}}, Reasoning: "Hm."},
	}}
	const call = `,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for _, c := range []struct {
		o    RequestOptions
		want string
	}{
		{RequestOptions{Model: "x", Developer: true, MaxCompletionTokens: true},
			`{"model":"x","messages":[{"role":"developer","content":"d"},{"role":"assistant","content":null` + call +
				`],"max_completion_tokens":5}`},
		{RequestOptions{EmptyContent: contentString, Usage: true, Reasoning: "reasoning"},
			`{"model":"m","messages":[{"role":"system","content":"d"},{"role":"assistant","content":"","reasoning":"Hm."` + call + `],"max_tokens":5}`},
		{RequestOptions{EmptyContent: contentAbsent, Stream: true},
			`{"model":"m","messages":[{"role":"system","content":"d"},{"role":"assistant"` + call +
				`],"max_tokens":5,"stream":true}`},
	} {
		got, err := AppendRequest(nil, req, c.o)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v:\n%s\nwant:\n%s\n%v", c.o, got, c.want, err)
		}
	}
	audio := &chat.Request{
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Kind: chat.PartAudio, URL: "http://x"}}}}}
	_, err := AppendRequest(nil, audio, RequestOptions{})
	if e := chat.AsError(err); e == nil || e.Kind != chat.ErrBadRequest || e.Param != "messages[0].content[0]" {
		t.Errorf("audio by address: %v", err)
	}
}

// TestLegacy tells the older form of offering tools from the newer, which counts where both are there.
func TestLegacy(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"f"}}]`
	for body, want := range map[string]bool{`"functions":[{"name":"f"}]`: true, tools: false,
		tools + `,"functions":[{"name":"g"}]`: false, `"functions":null`: false} {
		req, err := DecodeRequest([]byte(`{"messages":[{"role":"user","content":"x"}],` + body + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if Legacy(req) != want || (req.Parallel != nil) != want {
			t.Errorf("%s: legacy %v, parallel %v", body, Legacy(req), req.Parallel)
		}
		out, _ := AppendRequest(nil, req, RequestOptions{Forward: []string{"functions"}})
		if strings.Contains(string(out), `"functions"`) {
			t.Errorf("%s is passed on: %s", body, out)
		}
	}
}

// TestManyTools finds a name that stands twice among many tools.
func TestManyTools(t *testing.T) {
	body := `{"messages":[{"role":"user","content":"x"}],"tools":[`
	for i := range 40 {
		body += fmt.Sprintf(`{"type":"function","function":{"name":"f%d"}},`, i)
	}
	for _, c := range []struct{ last, want string }{
		{"f5", "tools[40].function.name | invalid_value | tools[40].function.name: there is another tool of this name"},
		{"f39",
			"tools[40].function.name | invalid_value | tools[40].function.name: there is another tool of this name"},
		{"f40", ""},
	} {
		_, err := DecodeRequest([]byte(body + `{"type":"function","function":{"name":"` + c.last + `"}}]}`))
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.last, err)
		} else if c.want != "" {
			checkRefused(t, err, c.want)
		}
	}
}

// TestUnknownContent refuses content that would not reach the server, and names it.
func TestUnknownContent(t *testing.T) {
	req, err := DecodeRequest(
		[]byte(
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"video","video":{}}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = AppendRequest(nil, req, RequestOptions{})
	if e := chat.AsError(err); e == nil || e.Kind != chat.ErrBadRequest || e.Param != "messages[0].content[1]" ||
		!strings.Contains(e.Message, `"video"`) {
		t.Errorf("got %+v", e)
	}
	out, err := AppendRequest(nil, req, RequestOptions{Forward: []string{"video"}})
	if want := `{"type":"video","video":{}}`; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("got %s, %v, want %s in it", out, err, want)
	}
}

// TestResultsOfFunctions shows which calls the results of functions belong to, which have names only.
func TestResultsOfFunctions(t *testing.T) {
	req, err := DecodeRequest([]byte(`{"messages":[{"role":"function","name":"f","content":"none yet"},
		{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},
		{"role":"assistant","function_call":{"name":"g","arguments":"{}"}},
		{"role":"function","name":"g","content":"g"},{"role":"function","name":"f","content":"f"},
		{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},
			{"id":"b","function":{"name":"f","arguments":"{}"}}]},
		{"role":"function","name":"f","content":"the last turn's first"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range req.Messages {
		if m.Role == chat.RoleTool {
			got = append(got, m.CallID)
		}
	}
	if want := []string{"call_function_0", "call_function_2", "call_function_1", "a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzRequest checks that what is read of any body is written as a valid one that is read again alike.
func FuzzRequest(f *testing.F) {
	f.Add(
		[]byte(
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[{"type":"function","name":"f"}],"x":{"y":[1,null]}}`))
	f.Add(
		[]byte(
			`{"messages":[{"role":"function","name":"f","content":""},{"role":"assistant","function_call":{"name":"f","arguments":{}}}],"stop":["a"],"n":1.0}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		req, err := DecodeRequest(body)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			var field *jsonbody.FieldError
			if !errors.As(err, &field) || field.Code == "" || field.Message == "" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		out, err := AppendRequest(nil, req, RequestOptions{})
		if err != nil {
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("wrote %q", out)
		}
		again, err := DecodeRequest(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if twice, _ := AppendRequest(nil, again, RequestOptions{}); !bytes.Equal(out, twice) {
			t.Fatalf("second round:\n%s\nfirst:\n%s", twice, out)
		}
	})
}

func bigRequest() []byte {
	req := &chat.Request{Model: "m"}
	for i := range 20 {
		req.Messages = append(req.Messages,
			chat.Message{Role: chat.RoleUser, Parts: chat.Text(strings.Repeat("lorem ipsum \"dolor\"\n", 100))})
		req.Tools = append(req.Tools, chat.Tool{Name: fmt.Sprintf("get_weather_%d", i), Description: "Looks.",
			Parameters: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string","description":"the city"}},"required":["city"]}`)})
	}
	b, _ := AppendRequest(nil, req, RequestOptions{Stream: true})
	return b
}

func BenchmarkDecodeRequest(b *testing.B) {
	body := bigRequest()
	b.Run("wield", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if _, err := DecodeRequest(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var v struct {
				Model    string `json:"model"`
				Messages []struct {
					Role    string          `json:"role"`
					Content json.RawMessage `json:"content"`
				} `json:"messages"`
				Tools []struct {
					Type     string `json:"type"`
					Function struct {
						Name        string          `json:"name"`
						Description string          `json:"description"`
						Parameters  json.RawMessage `json:"parameters"`
					} `json:"function"`
				} `json:"tools"`
				Stream bool `json:"stream"`
			}
			if err := json.Unmarshal(body, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
