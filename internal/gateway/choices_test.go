package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"wield/chat"
)

// numbered is a model whose answers differ: each says which of them it is, the second with a call.
func numbered() fake {
	var n atomic.Int64
	return func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		i := n.Add(1)
		for _, e := range req.Extra {
			if e.Key == "n" {
				return chat.Errorf(chat.ErrBadRequest, "the model was asked for %s", e.Value)
			}
		}
		emit(text("answer " + string(rune('0'+i))))
		if i == 2 {
			for _, e := range call(0, "c", "f", `{"a":1}`) {
				emit(e)
			}
		}
		emit(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: int(i)}})
		emit(bounced(1))
		return nil
	}
}

// A choices holds the parts of an answer or a chunk that are checked.
type choices struct {
	ID      string
	Choices []struct {
		Index          int
		Message, Delta struct {
			Content string
			Calls   []struct{ ID string } `json:"tool_calls"`
		}
		Reason string `json:"finish_reason"`
	}
	Candidates []struct {
		Index  int
		Reason string `json:"finishReason"`
	}
	Usage *struct {
		In  int `json:"prompt_tokens"`
		Out int `json:"completion_tokens"`
	}
	Counts struct {
		In int `json:"promptTokenCount"`
	} `json:"usageMetadata"`
}

const threeTimes = `{"n":3,"messages":[{"role":"user","content":"hi"}]`

// TestChoices: a request for several answers gets each of them, with the tokens of all.
func TestChoices(t *testing.T) {
	srv := serve(t, one(numbered()))
	resp, got := send(t, srv, http.MethodPost, pathCompletions, threeTimes+"}")
	var c choices
	if err := json.Unmarshal([]byte(got), &c); err != nil || len(c.Choices) != 3 ||
		resp.Header.Get("X-Wield-Bounces") != "3" {
		t.Fatalf("%v, %s, %v", err, got, resp.Header)
	}
	said := map[string]bool{}
	for i, one := range c.Choices {
		said[one.Message.Content] = true
		if want := map[bool]string{true: "tool_calls", false: "stop"}[len(one.Message.Calls) > 0]; one.Index != i ||
			one.Reason != want {
			t.Errorf("choice %d: %+v", i, one)
		}
	}
	if len(said) != 3 || c.Usage == nil || c.Usage.In != 30 || c.Usage.Out != 6 {
		t.Errorf("got %s", got)
	}

	srv = serve(t, one(numbered()))
	_, got = send(t, srv, http.MethodPost, pathGemini+"/m:generateContent",
		`{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"candidateCount":2}}`)
	c = choices{}
	if err := json.Unmarshal([]byte(got), &c); err != nil || len(c.Candidates) != 2 || c.Candidates[1].Index != 1 ||
		c.Candidates[1].Reason != "STOP" || c.Counts.In != 20 {
		t.Errorf("%v: %s", err, got)
	}
}

// TestChoicesStreamed: the frames of several answers say whose they are, and one end is that of the stream.
func TestChoicesStreamed(t *testing.T) {
	srv := serve(t, one(numbered()))
	_, got := send(t, srv, http.MethodPost, pathCompletions,
		threeTimes+`,"stream":true,"stream_options":{"include_usage":true}}`)
	texts, reasons, ids, in := map[int]string{}, map[int]string{}, map[string]bool{}, 0
	frames := strings.Split(strings.TrimSpace(got), "\n\n")
	for _, frame := range frames[:len(frames)-1] {
		var c choices
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &c); err != nil {
			t.Fatalf("%v: %s", err, frame)
		}
		ids[c.ID] = true
		for _, one := range c.Choices {
			texts[one.Index] += one.Delta.Content
			reasons[one.Index] += one.Reason
		}
		if c.Usage != nil {
			in += c.Usage.In
		}
	}
	said := map[string]bool{texts[0]: true, texts[1]: true, texts[2]: true}
	if len(said) != 3 || len(reasons) != 3 || len(ids) != 1 || in != 30 || frames[len(frames)-1] != "data: [DONE]" {
		t.Errorf("texts %v, reasons %v, ids %v, %d tokens:\n%s", texts, reasons, ids, in, got)
	}
}

// TestChoicesFail: what goes wrong with one of several answers goes wrong with the request, and no stream that lacks
// one looks whole.
func TestChoicesFail(t *testing.T) {
	var n atomic.Int64
	srv := serve(t, one(fake(func(_ context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		emit(text("a"))
		emit(idle())
		if n.Add(1)%2 == 0 {
			return &chat.Error{Kind: chat.ErrOverloaded, Message: "full"}
		}
		emit(finish(chat.FinishStop))
		return nil
	})))
	for _, more := range []string{"", `,"stream":true`} {
		resp, got := send(t, srv, http.MethodPost, pathCompletions,
			`{"n":2,"messages":[{"role":"user","content":"hi"}]`+more+"}")
		if more == "" && resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got, "full") ||
			strings.Contains(got, "[DONE]") {
			t.Errorf("%d: %s", resp.StatusCode, got)
		}
	}
	srv = serve(t, Options{Models: []Model{{Name: "m", Model: says(text("a")), NeedsKey: true}},
		Keys: []Key{{Name: "k", Hash: HashKey("secret"), Role: RoleAdmin}}})
	resp, got := send(t, srv, http.MethodPost, pathCompletions, threeTimes+"}", "Authorization", "Bearer secret")
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, `"param":"n"`) {
		t.Errorf("%d: %s", resp.StatusCode, got)
	}
}
