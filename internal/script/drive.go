package script

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
)

// maxRounds bounds the requests that Drive makes for one of the user's messages.
const maxRounds = 20

// Drive plays the client of scenario s against front, which is the scenario's own model with whatever is to be tested
// around it, until the user has nothing more to say. Calls are answered with the results that the scenario names. It
// fails only if the scenario has no client and none can be derived from its turns; that a stream ended in an error is
// part of the outcome.
func Drive(ctx context.Context, front chat.Model, s *Scenario, watch func(Exchange)) (*DriveOutcome, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	d := &driver{client: c, front: front, model: s.Name, out: new(DriveOutcome), watch: watch}
	if c.System != "" {
		d.messages = append(d.messages, chat.Message{Role: chat.RoleSystem, Parts: chat.Text(c.System)})
	}
	for _, u := range c.User {
		d.messages = append(d.messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text(u)})
		if !d.answer(ctx) {
			break
		}
	}
	return d.out, nil
}

// An Exchange is one request of the client and what came back.
type Exchange struct {
	Request *chat.Request
	Events  []chat.Event
	Err     error
}

type driver struct {
	client   *Client
	front    chat.Model
	model    string
	messages []chat.Message
	given    map[string]int // results given so far, by tool
	out      *DriveOutcome
	watch    func(Exchange)
}

// answer goes on until the model answers without a call. It reports whether the user can go on.
func (d *driver) answer(ctx context.Context) bool {
	for range maxRounds {
		m, ok := d.request(ctx)
		if !ok {
			return false
		}
		d.messages = append(d.messages, m)
		if len(m.Calls) == 0 {
			return true
		}
		for i := range m.Calls {
			d.messages = append(d.messages, d.result(&m.Calls[i]))
		}
	}
	d.out.Err = fmt.Errorf("the model still calls tools after %d requests", maxRounds)
	return false
}

// request makes one request and returns the model's message.
func (d *driver) request(ctx context.Context) (chat.Message, bool) {
	req := &chat.Request{Model: d.model, Tools: d.client.Tools, Stream: true,
		Messages: append([]chat.Message{}, d.messages...)}
	m := chat.Message{Role: chat.RoleAssistant}
	var text strings.Builder
	x := Exchange{Request: req}
	for e, err := range d.front.Stream(ctx, req) {
		if err != nil {
			x.Err = err
			break
		}
		x.Events = append(x.Events, e)
		switch e.Kind {
		case chat.KindText:
			text.WriteString(e.Text)
			d.out.Seen += e.Text
		case chat.KindReasoning:
			m.Reasoning += e.Text
			d.out.Seen += e.Text
		case chat.KindRejected:
			if e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete {
				text.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
				d.out.Seen += e.Detail.(*chat.RejectedDetail).Raw
			}
		case chat.KindCallEnd:
			if call := e.Detail.(*chat.Call); call.Complete {
				m.Calls = append(m.Calls, *call)
				d.out.Seen += call.Name + call.Arguments
			}
		}
	}
	m.Parts = chat.Text(text.String())
	d.out.Events = append(d.out.Events, x.Events...)
	d.out.Calls = append(d.out.Calls, m.Calls...)
	d.out.Final, d.out.Err = text.String(), x.Err
	if d.watch != nil {
		d.watch(x)
	}
	return m, x.Err == nil
}

func (d *driver) result(c *chat.Call) chat.Message {
	if d.given == nil {
		d.given = map[string]int{}
	}
	text := `{"error": "the scenario has no result for this tool"}`
	if list := d.client.Results[c.Name]; len(list) > 0 {
		text = list[min(d.given[c.Name], len(list)-1)]
	}
	d.given[c.Name]++
	return chat.Message{Role: chat.RoleTool, CallID: c.ID, Name: c.Name, Parts: chat.Text(text)}
}

// client returns the scenario's client, completed from its turns where the file leaves something open.
func (s *Scenario) client() (*Client, error) {
	c := &Client{Results: map[string][]string{}}
	if s.Client != nil {
		*c = *s.Client
	}
	if len(c.User) == 0 {
		u, err := s.deriveUser()
		if err != nil {
			return nil, err
		}
		c.User = []string{u}
	}
	c.Tools = s.deriveTools(c.Tools)
	for name, text := range s.deriveResults() {
		if _, ok := c.Results[name]; !ok {
			if s.Client != nil {
				c.Results = cloneResults(c.Results)
			}
			c.Results[name] = []string{text}
		}
	}
	return c, nil
}

func cloneResults(m map[string][]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// deriveUser makes up a message that the first turn for a new conversation matches.
func (s *Scenario) deriveUser() (string, error) {
	hints := s.hints()
	for i := range s.Turns {
		w := &s.Turns[i].when
		if w.turn != nil && *w.turn != 0 || w.last != "" && w.last != chat.RoleUser || w.tool != "" ||
			w.resultContains != nil {
			continue
		}
		switch {
		case w.user != nil && w.user.re == nil:
			return w.user.plain, nil
		case w.user != nil:
			if text, ok := example(w.user.re, hints); ok {
				return text, nil
			}
			return "", fmt.Errorf("scenario %s: no example is found for user: %s; write client: {user: ...}", s.Name,
				w.user.src)
		case w.userContains != nil:
			return *w.userContains, nil
		}
	}
	return "Hello", nil
}

// hints are the strings that the expected calls have as arguments: what a group of the same name should be.
func (s *Scenario) hints() map[string]string {
	hints := map[string]string{}
	if s.Expect == nil {
		return hints
	}
	for _, c := range s.Expect.Calls {
		var args map[string]json.RawMessage
		if json.Unmarshal(c.Args, &args) != nil {
			continue
		}
		for k, raw := range args {
			var v string
			if json.Unmarshal(raw, &v) == nil && !strings.HasPrefix(v, "/") {
				hints[k] = v
			}
		}
	}
	return hints
}

// deriveTools completes the definitions of the client's tools, and offers every tool that the scenario calls or asks
// for.
func (s *Scenario) deriveTools(given []chat.Tool) []chat.Tool {
	tools := append([]chat.Tool{}, given...)
	find := func(name string) *chat.Tool {
		for i := range tools {
			if tools[i].Name == name {
				return &tools[i]
			}
		}
		return nil
	}
	if len(given) == 0 {
		for _, name := range s.names() {
			tools = append(tools, chat.Tool{Name: name})
		}
	}
	for i := range s.Turns {
		for _, it := range s.Turns[i].reply {
			if it.call == nil || len(it.call.name) != 1 {
				continue
			}
			if t := find(it.call.name[0].lit); t != nil && t.Parameters == nil {
				t.Parameters = it.call.schema()
			}
		}
	}
	return tools
}

// schema makes an object schema that the arguments of the call fit.
func (c *callItem) schema() json.RawMessage {
	text, err := c.args.expand(func(string) (string, bool) { return "x", true })
	var args map[string]any
	if err != nil || json.Unmarshal([]byte(text), &args) != nil {
		return nil
	}
	properties := map[string]any{}
	for k, v := range args {
		properties[k] = map[string]string{"type": typeOf(v)}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		return nil
	}
	return raw
}

func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// deriveResults makes up, for every tool whose result a turn waits for, one that the turn matches and can quote.
func (s *Scenario) deriveResults() map[string]string {
	results := map[string]string{}
	for i := range s.Turns {
		t := &s.Turns[i]
		if t.when.tool == "" {
			continue
		}
		if _, ok := results[t.when.tool]; ok {
			continue
		}
		value := "ok"
		if t.when.resultContains != nil {
			value = *t.when.resultContains
		}
		object := map[string]any{}
		for _, it := range t.reply {
			for _, ref := range it.text.refs() {
				if path, ok := strings.CutPrefix(ref, "result."); ok {
					setPath(object, strings.Split(path, "."), value)
				}
			}
		}
		results[t.when.tool] = value
		if len(object) > 0 {
			if raw, err := json.Marshal(object); err == nil {
				results[t.when.tool] = string(raw)
			}
		}
	}
	return results
}

func setPath(object map[string]any, path []string, value string) {
	for _, key := range path[:len(path)-1] {
		next, ok := object[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	if json.Valid([]byte(value)) {
		object[path[len(path)-1]] = json.RawMessage(value)
		return
	}
	object[path[len(path)-1]] = value
}
