package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"wield/agent"
	"wield/journal"
	"wield/journal/record"
)

// mixedStory is a run whose tools are in part its client's, and which has a question for a person on its way.
var mixedStory = story{name: "mixed", calls: 11, config: servedConfig, scenario: `
  - {id: both, when: {turn: 0}, reply: [{text: "First.\n"}, {call: {name: look, args: {n: 1}}}, {call: {name: press, args: {n: 2}}}, {call: {name: save, args: {n: 3}}}, {call: {name: again, args: {n: 4}}}]}
  - {id: the client's, when: {turn: 1}, reply: [{call: {name: press, args: {n: 5}}}, {call: {name: press, args: {n: 6}}}]}
  - {id: one fails, when: {turn: 2}, reply: [{call: {name: save, args: {n: 7}}}, {call: {name: press, args: {n: 8}}}, {call: {name: fails, args: {n: 9}}}]}
  - {id: asked, when: {turn: 3}, reply: [{call: {name: asks, args: {n: 10}}}, {call: {name: press, args: {n: 11}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`}

// A spoken thing is one of a conversation as its client keeps it: what the user says, what the answer was, or a result.
type spoken struct {
	role, text string
	calls      []asked // of an answer
	id         string  // of a response, or of the call that a result is of
}

// An asked is a call that the client is to run.
type asked struct{ id, name, args string }

// A front is a protocol as a client speaks it.
type front struct {
	name, path string
	request    func(talk []spoken) any
	answer     func(body io.Reader) (spoken, error) // an error: the answer did not come whole
}

type object = map[string]any

var pressSchema = object{"type": "object", "properties": object{"n": object{"type": "integer"}},
	"required": []string{"n"}}

var fronts = []front{
	{"chat completions, streamed", "/v1/chat/completions", chatRequest, chatAnswer},
	{"Responses, streamed, each on top of the one before", "/v1/responses", responsesRequest, responsesAnswer},
	{"Messages, whole", "/v1/messages", messagesRequest, messagesAnswer},
}

func chatRequest(talk []spoken) any {
	var messages []object
	for _, s := range talk {
		m := object{"role": s.role, "content": s.text}
		if s.role == "tool" {
			m["tool_call_id"] = s.id
		}
		var calls []object
		for _, c := range s.calls {
			calls = append(calls,
				object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
		if len(calls) > 0 {
			m["tool_calls"] = calls
		}
		messages = append(messages, m)
	}
	return object{"model": "worker", "stream": true, "messages": messages,
		"tools": []object{{"type": "function", "function": object{"name": "press", "description": "Presses a button.",
			"parameters": pressSchema}}}}
}

// frames calls do with the data of each event of a stream.
func frames(body io.Reader, do func(data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			if err := do(data); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

func chatAnswer(body io.Reader) (spoken, error) {
	s, whole := spoken{role: "assistant"}, false
	err := frames(body, func(data []byte) error {
		if string(data) == "[DONE]" {
			whole = true
			return nil
		}
		var chunk struct {
			Error   json.RawMessage
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal(data, &chunk); err != nil || chunk.Error != nil {
			return fmt.Errorf("%w: %s", errors.Join(err, errRefused), data)
		}
		for _, c := range chunk.Choices {
			s.text += c.Delta.Content
			for _, call := range c.Delta.ToolCalls {
				if call.Index == len(s.calls) {
					s.calls = append(s.calls, asked{})
				}
				a := &s.calls[call.Index]
				a.id, a.name, a.args = a.id+call.ID, a.name+call.Function.Name, a.args+call.Function.Arguments
			}
		}
		return nil
	})
	if err == nil && !whole {
		err = io.ErrUnexpectedEOF
	}
	return s, err
}

func responsesRequest(talk []spoken) any {
	req := object{"model": "worker", "stream": true,
		"tools": []object{{"type": "function", "name": "press", "description": "Presses a button.",
			"parameters": pressSchema}}}
	var input []object
	for _, s := range talk {
		switch s.role {
		case "assistant": // what stands before it is known
			input, req["previous_response_id"] = nil, s.id
		case "tool":
			input = append(input, object{"type": "function_call_output", "call_id": s.id, "output": s.text})
		default:
			input = append(input, object{"role": s.role, "content": s.text})
		}
	}
	req["input"] = input
	return req
}

func responsesAnswer(body io.Reader) (spoken, error) {
	s, whole := spoken{role: "assistant"}, false
	err := frames(body, func(data []byte) error {
		var e struct {
			Type     string
			Response struct {
				ID     string
				Output []struct {
					Type, Name, Arguments string
					CallID                string `json:"call_id"`
					Content               []struct{ Text string }
				}
			}
		}
		if err := json.Unmarshal(data, &e); err != nil || e.Type == "error" || e.Type == "response.failed" {
			return fmt.Errorf("%w: %s", errors.Join(err, errRefused), data)
		}
		if e.Type != "response.completed" {
			return nil
		}
		whole, s.id = true, e.Response.ID
		for _, item := range e.Response.Output {
			if item.Type == "function_call" {
				s.calls = append(s.calls, asked{item.CallID, item.Name, item.Arguments})
			}
			for _, c := range item.Content {
				s.text += c.Text
			}
		}
		return nil
	})
	if err == nil && !whole {
		err = io.ErrUnexpectedEOF
	}
	return s, err
}

func messagesRequest(talk []spoken) any {
	type message struct {
		Role    string   `json:"role"`
		Content []object `json:"content"`
	}
	var messages []message
	for _, s := range talk {
		m := message{Role: s.role}
		switch {
		case s.role == "tool":
			m = message{"user", []object{{"type": "tool_result", "tool_use_id": s.id, "content": s.text}}}
		case s.text != "":
			m.Content = append(m.Content, object{"type": "text", "text": s.text})
		}
		for _, c := range s.calls {
			m.Content = append(m.Content, object{"type": "tool_use", "id": c.id, "name": c.name,
				"input": json.RawMessage(c.args)})
		}
		if last := len(messages) - 1; last >= 0 && messages[last].Role == m.Role {
			messages[last].Content = append(messages[last].Content, m.Content...)
		} else {
			messages = append(messages, m)
		}
	}
	return object{"model": "worker", "max_tokens": 999, "messages": messages,
		"tools": []object{{"name": "press", "description": "Presses a button.", "input_schema": pressSchema}}}
}

func messagesAnswer(body io.Reader) (spoken, error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return spoken{}, err
	}
	var answer struct {
		Content []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return spoken{}, fmt.Errorf("%w: %s", err, text)
	}
	s := spoken{role: "assistant"}
	for _, b := range answer.Content {
		s.text += b.Text
		if b.Type == "tool_use" {
			s.calls = append(s.calls, asked{b.ID, b.Name, string(b.Input)})
		}
	}
	return s, nil
}

// errRefused is an answer of a service that lives, and says no; errGone is none.
var (
	errRefused = errors.New("the service refuses")
	errGone    = errors.New("the service is gone")
)

// ask makes the request that continues a conversation. It fails with errGone or errRefused.
func (s *server) ask(t *testing.T, f *front, talk []spoken) (spoken, error) {
	t.Helper()
	resp, err := s.request(t, "POST", f.path, f.request(talk))
	if err != nil {
		return spoken{}, fmt.Errorf("%w: %w", errGone, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20)) // as much as came
		return spoken{}, fmt.Errorf("%w: status %d: %s", errRefused, resp.StatusCode, text)
	}
	answer, err := f.answer(resp.Body)
	if err != nil && !errors.Is(err, errRefused) {
		err = fmt.Errorf("%w: %w", errGone, err)
	}
	return answer, err
}

var waitsFor = regexp.MustCompile(`\(approval (apr_[0-9a-f]+) of run_[0-9a-f]+\)`)

// A client talks to a service, and makes a request again when the service was gone before the answer was there.
type client struct {
	*front
	talk    []spoken
	pressed map[string]string // what the client's tool has given, by the journal's ids of the calls
}

// goOn makes the requests of a conversation until it is over. It fails as ask does, and can be called again then.
func (c *client) goOn(t *testing.T, w *world, s *server) error {
	t.Helper()
	for range 10 {
		if last := c.talk[len(c.talk)-1]; last.role == "assistant" {
			switch found := waitsFor.FindStringSubmatch(last.text); {
			case len(last.calls) > 0:
				c.press(t, w, last.calls)
			case found != nil:
				if !s.decided(t, found[1]) {
					return errGone
				}
				c.talk = append(c.talk, spoken{role: "user", text: "And now?"})
			default:
				if !strings.Contains(last.text, "All done.") {
					t.Errorf("%s: the last answer is %q", c.name, last.text)
				}
				return nil
			}
		}
		answer, err := s.ask(t, c.front, c.talk)
		if err != nil {
			return err
		}
		c.talk = append(c.talk, answer)
	}
	t.Fatalf("%s: the conversation does not come to its end: %+v", c.name, c.talk)
	return nil
}

// press runs the client's calls.
func (c *client) press(t *testing.T, w *world, calls []asked) {
	t.Helper()
	for _, call := range calls {
		own := strings.TrimPrefix(call.id, "toolu_w_") // as the Messages protocol wants them
		run, ok := agent.RunOf(own)
		if !ok || call.name != "press" || w.run != "" && run != w.run || c.pressed[own] != "" {
			t.Errorf("%s: the client is to run %+v of run %s; it knows %v of run %s", c.name, call, run, c.pressed,
				w.run)
		}
		w.run = run
		c.pressed[own] = "pressed " + call.args
		c.talk = append(c.talk, spoken{role: "tool", id: call.id, text: c.pressed[own]})
	}
}

// decided allows what a run asks, unless that was done before.
func (s *server) decided(t *testing.T, id string) bool {
	t.Helper()
	var a struct{ State string }
	if !s.call(t, "GET", "approvals/"+id, nil, &a) {
		return false
	}
	return a.State != "pending" || s.call(t, "POST", "approvals/"+id, map[string]string{"decision": "allow"}, &a)
}

// resumeOthers continues the runs that were begun for requests whose answers never came: as far as that is
// possible without their client, who has begun another one.
func (w *world) resumeOthers(t *testing.T, s *server) {
	t.Helper()
	type run struct{ ID, State string }
	var list struct{ Items []run }
	if !s.call(t, "GET", "runs", nil, &list) {
		t.Fatal("the runs cannot be listed")
	}
	for _, r := range list.Items {
		if r.ID == w.run || r.State == "ended" {
			continue
		}
		if r.State == "open" && !s.call(t, "POST", "runs/"+r.ID+"/resume", object{}, &r) {
			t.Fatalf("run %s cannot go on: %s", r.ID, s.log)
		}
		await(t, "the run without a client stops",
			func() bool { return !s.call(t, "GET", "runs/"+r.ID, nil, &r) || r.State != "open" })
		if r.State != "waiting" {
			t.Errorf("the run %s, which needs results of its client, is %s", r.ID, r.State)
		}
	}
}

// check compares what the client did with what the journal says of it.
func (c *client) check(t *testing.T, w *world) error {
	t.Helper()
	if err := w.check(t.Context()); err != nil {
		return err
	}
	s, err := w.journal(t.Context())
	if err != nil {
		return err
	}
	defer s.Close()
	n := 0
	for e, err := range s.Read(t.Context(), journal.Query{Stream: w.run, Kinds: []record.Kind{record.KindResult}}) {
		if err != nil {
			return err
		}
		r := e.Record.Result
		if r.Tool != "press" {
			continue
		}
		if n++; len(r.Result.Parts) != 1 || r.Result.Parts[0].Text != c.pressed[r.CallID] {
			return fmt.Errorf("the client has given %q for %s, not %+v", c.pressed[r.CallID], r.CallID, r.Result)
		}
	}
	if n != len(c.pressed) {
		return fmt.Errorf("the client ran %d calls, and the journal has %d of its results", len(c.pressed), n)
	}
	return nil
}

// newClient returns a client that is about to begin.
func newClient(f *front) *client {
	return &client{front: f, talk: []spoken{{role: "user", text: "go"}}, pressed: map[string]string{}}
}

// finish brings a conversation to its end at a service that lives, and looks at what is left.
func (c *client) finish(t *testing.T, w *world, s *server) {
	t.Helper()
	if err := c.goOn(t, w, s); err != nil {
		t.Fatalf("%s: %v\nlog: %s", c.name, err, s.log)
	}
	w.resumeOthers(t, s)
	s.end(t)
	if err := c.check(t, w); err != nil {
		t.Errorf("%s: %v", c.name, err)
	}
}

// playMixed plays the story through a front; the n-th service dies the n-th death. It returns the steps of the first
// one.
func playMixed(t *testing.T, f *front, deaths ...death) (steps []string) {
	t.Helper()
	w, c := servedWorld(t, &mixedStory), newClient(f)
	for _, d := range deaths {
		s := w.serve(t, mortalDeath+"="+d.String())
		if s.base != "" && c.goOn(t, w, s) == nil {
			// a service that dies may refuse before: to others its disk fails first
			s.end(t)
			continue
		}
		await(t, "the service dies", s.ended)
	}
	last := w.serve(t)
	c.finish(t, w, last)
	return last.steps()
}

// TestKilledMixed kills wield serve at the steps of runs whose tools are in part those of the client, behind three
// protocols. The client makes the request again that had no answer, and is answered as if nothing had been.
//
// WIELD_KILL says how many of the points are taken, each behind one of the protocols.
func TestKilledMixed(t *testing.T) {
	every, often := killing(t, 85)
	points, kills, kinds := 0, 0, map[string]int{}
	for i := range fronts {
		f := &fronts[i]
		for n, step := range playMixed(t, f) {
			_, step, _ = strings.Cut(step, ": ")
			step, unsynced := strings.CutSuffix(step, unsyncedMark)
			ways := []death{{n + 1, dieBefore, 0}, {n + 1, dieAfter, 0}, {n + 1, dieTorn, 60}}
			if unsynced {
				ways = append(ways, death{n + 1, diePower, 0})
			}
			for _, d := range ways {
				points++
				kind := step + ": " + string(d.how)
				if (points+i)%(every*len(fronts)) != 0 && kinds[kind] >= often {
					continue
				}
				kills++
				kinds[kind]++
				t.Run(fmt.Sprint(f.name, " ", d.step, " ", kind), func(t *testing.T) {
					t.Parallel()
					playMixed(t, f, d)
				})
			}
		}
	}
	t.Logf("%d kills at %d points, %d kinds", kills, points, len(kinds))
	if every == 1 && len(kinds) < 40 {
		t.Error("that are too few kinds")
	}
}
