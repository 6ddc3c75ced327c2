package gemini

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
	"wield/wire/jsonbody"
)

func decode(t *testing.T, body string) *chat.Request {
	t.Helper()
	req, err := DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return req
}

// TestConversation reads a round of calls, in both spellings, with ids and without.
func TestConversation(t *testing.T) {
	req := decode(t, `{"system_instruction":{"parts":[{"text":"Be brief."}]},"contents":[
		{"role":"user","parts":[{"text":"Go."},{"inlineData":{"mimeType":"image/png","data":"AAE="}}]},
		{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"name":"f","args":{"n":12345678901234567890}},"thoughtSignature":"x"},
			{"function_call":{"name":"f"}},{"functionCall":{"id":"own","name":"g","args":{}}}]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"name":"f","response":{"a":1,"b":2}}},
			{"functionResponse":{"id":"own","name":"g","response":{"result":"three"}}},{"text":"And?"}]}],
		"generation_config":{"maxOutputTokens":9,"stopSequences":["x"],"topK":4,"responseMimeType":"application/json"},"safetySettings":[]}`)
	if len(req.Messages) != 7 || req.Messages[0].Role != chat.RoleSystem || req.Messages[0].Text() != "Be brief." {
		t.Fatalf("messages %+v", req.Messages)
	}
	said, called := req.Messages[1], req.Messages[2]
	if said.Parts[1].Kind != chat.PartImage || string(said.Parts[1].Data) != "\x00\x01" {
		t.Errorf("the image is %+v", said.Parts[1])
	}
	if called.Reasoning != "Hm." || called.Text() != "I look." || len(called.Calls) != 3 ||
		called.Calls[0].Arguments != `{"n":12345678901234567890}` || called.Calls[1].Arguments != "{}" {
		t.Errorf("the answer is %+v", called)
	}
	for i, want := range []string{"one", `{"a":1,"b":2}`, "three"} {
		r := req.Messages[3+i]
		if r.Role != chat.RoleTool || r.CallID != called.Calls[i].ID || r.Name != called.Calls[i].Name ||
			r.Text() != want {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if called.Calls[0].ID == called.Calls[1].ID || called.Calls[2].ID != "own" {
		t.Errorf("ids %+v", called.Calls)
	}
	if req.Messages[6].Text() != "And?" || req.MaxTokens != 9 || len(req.Stop) != 1 ||
		req.Format.Kind != chat.FormatJSON {
		t.Errorf("settings %+v", req)
	}
	var extra []string
	for _, x := range req.Extra {
		extra = append(extra, x.Key)
	}
	if !reflect.DeepEqual(extra, []string{"topK", "safetySettings"}) {
		t.Errorf("kept %v", extra)
	}
}

// TestPieces: an answer that a client sends back in the pieces in which it came is one answer.
func TestPieces(t *testing.T) {
	req := decode(t,
		`{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hm","thought":true}]},{"role":"model","parts":[{"text":"Bo"}]},
		{"role":"model","parts":[{"text":"th."}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}}]},
		{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":2}}}]},{"role":"model","parts":[{"text":""}]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"name":"f","response":{"output":"two"}}}]}]}`)
	if len(req.Messages) != 4 {
		t.Fatalf("messages %+v", req.Messages)
	}
	said := req.Messages[1]
	if said.Text() != "Both." || said.Reasoning != "hm" || len(said.Calls) != 2 || said.Calls[1].Index != 1 {
		t.Errorf("the answer is %+v", said)
	}
	for i, want := range []string{"one", "two"} {
		if r := req.Messages[2+i]; r.Text() != want || r.CallID != said.Calls[i].ID {
			t.Errorf("result %d is %+v", i, r)
		}
	}
}

// TestThoughtOfUser: what a user marks as a thought is said all the same.
func TestThoughtOfUser(t *testing.T) {
	req := decode(t, `{"contents":[{"role":"user","parts":[{"text":"hi","thought":true}]}]}`)
	if len(req.Messages) != 1 || req.Messages[0].Text() != "hi" {
		t.Errorf("messages %+v", req.Messages)
	}
}

// TestTools reads functions and what Google's servers run, and makes JSON Schema of OpenAPI's.
func TestTools(t *testing.T) {
	req := decode(t,
		`{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f","description":"d","parameters":
		{"type":"OBJECT","properties":{"type":{"type":"STRING","nullable":true},"list":{"type":"ARRAY","items":{"type":"INTEGER"}},"one":{"any_of":[{"type":"NUMBER"}]}},
		"required":["type"],"propertyOrdering":["type"]}},{"name":"g","parametersJsonSchema":{"type":"object","properties":{"X":{"type":"string"}}}}]},{"google_search":{}}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}}`)
	if len(req.Tools) != 3 || req.Tools[2].Name != "googleSearch" || req.Tools[2].Hosted != chat.HostedRequired {
		t.Fatalf("tools %+v", req.Tools)
	}
	want := `{"type":"object","properties":{"type":{"type":["string","null"]},"list":{"type":"array","items":{"type":"integer"}},"one":{"anyOf":[{"type":"number"}]}},"required":["type"]}`
	if got := string(req.Tools[0].Parameters); got != want {
		t.Errorf("parameters\n%s\nwant\n%s", got, want)
	}
	if got := string(req.Tools[1].Parameters); got != `{"type":"object","properties":{"X":{"type":"string"}}}` {
		t.Errorf("parameters %s", got)
	}
	if c := req.Choice; c.Mode != chat.ChoiceRequired || len(c.Allowed) != 1 || c.Allowed[0] != "g" {
		t.Errorf("choice %+v", c)
	}
}

func TestRefused(t *testing.T) {
	for body, param := range map[string]string{
		`{}`:                           "contents",
		`{"contents":"hi"}`:            "contents",
		`{"contents":[{"role":"it"}]}`: "contents[0].role",
		`{"contents":[{"parts":[{"inlineData":{"data":"-"}}]}]}`:                                                 "contents[0].parts[0].inlineData.data",
		`{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`:                             "contents[0].parts[0].functionResponse",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"candidateCount":17}}`:                       "generationConfig.candidateCount",
		`{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"functionDeclarations":[{"name":"f"},{"name":"f"}]}]}`: "tools[0].functionDeclarations[1].name",
		`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}}`:         "toolConfig.functionCallingConfig.mode",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"text/csv"}}`:             "generationConfig.responseMimeType",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"text/x.enum"}}`:          "generationConfig.responseSchema",
	} {
		_, err := DecodeRequest([]byte(body))
		var field *jsonbody.FieldError
		if !errors.As(err, &field) || field.Param != param {
			t.Errorf("%s: %v, want one about %s", body, err, param)
		}
	}
}

// TestAnswers shows that a whole answer and the frames of a stream come to the same.
func TestAnswers(t *testing.T) {
	events := []chat.Event{{Kind: chat.KindReasoning, Text: "Hm."}, {Kind: chat.KindText, Text: "I lo"},
		{Kind: chat.KindText, Text: "ok."}, {Kind: chat.KindCallStart, ID: "c", Name: "f"},
		{Kind: chat.KindCallEnd, Detail: &chat.Call{ID: "c", Name: "f", Arguments: `{"a": 1}`, Complete: true}},
		{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 5, Out: 3, Reasoning: 1}},
		{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls}}}
	whole, stream := NewResponse(ResponseOptions{ID: "i", Model: "m"}),
		NewStreamWriter(ResponseOptions{ID: "i", Model: "m"})
	var frames []byte
	for _, e := range events {
		whole.Add(e)
		frames = stream.Append(frames, e)
	}
	want := `{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"I look."},{"functionCall":{"id":"c","name":"f","args":{"a": 1}}}],"role":"model"},` +
		`"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":8},"modelVersion":"m","responseId":"i"}`
	if got := string(whole.Append(nil)); got != want {
		t.Errorf("whole\n%s\nwant\n%s", got, want)
	}
	text, calls, reason := "", 0, ""
	for _, frame := range strings.Split(strings.TrimSpace(string(frames)), "\r\n\r\n") {
		var r struct {
			Candidates []struct {
				Content struct {
					Parts []struct {
						Text         string
						Thought      bool
						FunctionCall *struct{ Name string }
					}
				}
				FinishReason string
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &r); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		for _, p := range r.Candidates[0].Content.Parts {
			if !p.Thought {
				text += p.Text
			}
			if p.FunctionCall != nil {
				calls++
			}
		}
		reason += r.Candidates[0].FinishReason
	}
	if text != "I look." || calls != 1 || reason != "STOP" {
		t.Errorf("the stream says %q with %d calls and ends with %q", text, calls, reason)
	}
	if got := string(AppendError(nil,
		&chat.Error{Kind: chat.ErrRateLimit,
			Message: "wait"})); got != `{"error":{"code":429,"message":"wait","status":"RESOURCE_EXHAUSTED"}}` {
		t.Error(got)
	}
}
