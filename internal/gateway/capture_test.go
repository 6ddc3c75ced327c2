package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/internal/capture"
)

// TestCapture keeps what was said for those who may see it: whole and streamed answers, failures as well, masked when
// shown.
func TestCapture(t *testing.T) {
	ring, err := capture.New(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := one(fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		if strings.Contains(req.Messages[0].Text(), "fail") {
			return chat.Errorf(chat.ErrTimeout, "late")
		}
		emit(text("the answer sk-abcdefghijklmnop"))
		emit(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 12, Out: 3}})
		emit(finish(chat.FinishStop))
		return nil
	}))
	o.Capture = ring
	o.Keys = []Key{{Name: "ann", Hash: HashKey("a")}, {Name: "root", Hash: HashKey("r"), Role: RoleAdmin},
		{Name: "ok", Hash: HashKey("o"), Role: RoleApprover}}
	srv := serve(t, o)
	say := func(id, body string) { ask(t, srv, body, "Authorization", "Bearer a", "X-Request-Id", id) }
	say("one", hello)
	say("two", helloStream)
	say("three", strings.Replace(hello, "hello", "fail", 1))
	for _, key := range []string{"", "Bearer a", "Bearer o", "Bearer x"} {
		if resp, body := send(t, srv, "GET", pathCaptures, "", "Authorization", key); resp.StatusCode != 401 &&
			resp.StatusCode != 403 || strings.Contains(body, `"captures"`) {
			t.Errorf("%q: %d %s", key, resp.StatusCode, body)
		}
	}
	_, body := send(t, srv, "GET", pathCaptures, "", "Authorization", "Bearer r")
	var list struct{ Captures []capture.Record }
	if err := json.Unmarshal([]byte(body), &list); err != nil || strings.Contains(body, `"request"`) ||
		strings.Contains(body, `"answer"`) {
		t.Fatal(err, body)
	}
	if len(list.Captures) != 3 || list.Captures[0].ID != "three" || list.Captures[0].Error != "timeout" ||
		list.Captures[0].Status != 504 || !list.Captures[1].Streamed || list.Captures[2].Key != "ann" ||
		list.Captures[2].Model != "m" {
		t.Errorf("%s", body)
	}
	for id, wants := range map[string][]string{
		"one":   {`hello`, `the answer [masked]`, `"in":12,"out":3`},
		"two":   {`\"stream\":true`, `data: [DONE]`},
		"three": {`fail`, `late`},
	} {
		_, body := send(t, srv, "GET", pathCaptures+"/"+id, "", "Authorization", "Bearer r")
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %s is missing in %s", id, want, body)
			}
		}
		if strings.Contains(body, "sk-abc") {
			t.Errorf("a key is shown: %s", body)
		}
	}
	if resp, _ := send(t, srv, "GET", pathCaptures+"/four", "", "Authorization", "Bearer r"); resp.StatusCode != 404 {
		t.Errorf("status %d for what is not there", resp.StatusCode)
	}
}

// TestCaptureWithoutKeys is open to whoever sits at the machine, and off unless it is asked for.
func TestCaptureWithoutKeys(t *testing.T) {
	o := one(says(text("hi")))
	if resp, _ := send(t, serve(t, o), "GET", pathCaptures, ""); resp.StatusCode != 404 {
		t.Errorf("status %d without a ring", resp.StatusCode)
	}
	ring, err := capture.New(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Capture = ring
	srv := serve(t, o)
	ask(t, srv, hello)
	if resp, body := send(t, srv, "GET", pathCaptures, ""); resp.StatusCode != 200 ||
		!strings.Contains(body, `"status":200`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, _ := send(t, srv, "GET", pathCaptures, "", "Origin", "https://page.example"); resp.StatusCode != 403 {
		t.Errorf("a web page may look: %d", resp.StatusCode)
	}
}

// TestLogContent puts what is said into the log when it was told to, masked.
func TestLogContent(t *testing.T) {
	var log syncBuilder
	o := one(says(text("the answer")))
	o.Log, o.LogContent = textLog(&log), true
	srv := serve(t, o)
	ask(t, srv, strings.Replace(hello, "hello", "hello sk-abcdefghijklmnop", 1))
	await(t, func() bool { return strings.Contains(log.String(), "msg=content") })
	if s := log.String(); !strings.Contains(s, "hello [masked]") || !strings.Contains(s, "the answer") ||
		strings.Contains(s, "sk-abc") {
		t.Errorf("%s", s)
	}
}

// TestCaptureTurns keeps what the model was sent and wrote behind an answer, and the answer that was sent back to it.
func TestCaptureTurns(t *testing.T) {
	ring, err := capture.New(capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	model := bridge.New(fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		asked++
		args := `{"nonsense":1}`
		if asked > 1 {
			args = `{"city":"Rome"}`
		}
		emit(text(`<tool_call>{"name":"get_weather","arguments":` + args + `}</tool_call>`))
		emit(finish(chat.FinishStop))
		return nil
	}), bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Max: 1}})
	o := one(model)
	o.Capture = ring
	srv := serve(t, o)
	resp, body := ask(t, srv,
		`{"model":"m","messages":[{"role":"user","content":"weather?"}],"tools":[{"type":"function","function":{"name":"get_weather",
		"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}]}`)
	if resp.StatusCode != 200 || !strings.Contains(body, "Rome") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	await(t, func() bool { return len(ring.All()) == 1 })
	r := ring.All()[0]
	if len(r.Turns) != 2 {
		t.Fatalf("%+v", r.Turns)
	}
	first, second := &r.Turns[0], &r.Turns[1]
	if !strings.Contains(string(first.Raw), "nonsense") || first.Bounce == nil ||
		!strings.Contains(string(first.Bounce.Suppressed), "nonsense") || len(first.Tools) != 1 {
		t.Errorf("%+v", first)
	}
	if !strings.Contains(string(second.Raw), "Rome") || len(second.Calls) != 1 ||
		second.Calls[0].Dialect != "hermes" || len(second.Sent) <= len(first.Sent) {
		t.Errorf("%+v", second)
	}
	if ring.List()[0].Turns != nil {
		t.Error("a list holds turns")
	}
}
