//lint:file-ignore SA1019 revisions before 2026-07-28 have logging, roots and sampling

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
	"wield/tool/policy"
)

// A server may ask a person something in the middle of a call. In the revision 2026-07-28 the call then ends with
// what is asked, and is sent again with the answers. In the older ones the server waits, and the call goes on here
// while nobody listens to it: it is held until the answer is there.

const (
	maxRounds = 10 // how often one call may ask
	maxHeld   = 100
)

// An asking holds what a call needs to continue with an answer: the state of its form.
type asking struct {
	Rounds int    `json:"rounds,omitempty"`
	State  string `json:"state,omitempty"` // of the server
	Key    string `json:"key,omitempty"`   // of what was asked

	Requests sdk.InputRequestMap          `json:"requests,omitempty"` // still to be asked
	Answers  map[string]*sdk.ElicitResult `json:"answers,omitempty"`
	Held     int                          `json:"held,omitempty"` // the call that waits here; 0: none does
	Task     string                       `json:"task,omitempty"` // that waits at the server; empty: none does
}

// needed asks for what a result of the new kind needs, or a task if one is named, and returns what the call is to be
// sent again with.
func (h *handler) needed(r *sdk.CallToolResult, before *asking, task string) error {
	a := &asking{State: r.RequestState, Requests: r.InputRequests, Task: task}
	if before != nil {
		a.Rounds = before.Rounds
	}
	if a.Rounds++; a.Rounds > maxRounds {
		return h.failed(tool.ErrTool, "asks again and again")
	}
	for _, key := range slices.Sorted(maps.Keys(a.Requests)) {
		switch a.Requests[key].(type) {
		case *sdk.ElicitParams:
		case *sdk.ListRootsParams:
			return h.failed(tool.ErrTool, "asks for directories of the client, which it is not told")
		default:
			return h.failed(tool.ErrTool, "asks for an answer of a model, which it does not get")
		}
	}
	return h.next(a)
}

// next asks for the next thing that is needed. When there is none, it returns nil.
func (h *handler) next(a *asking) error {
	for _, key := range slices.Sorted(maps.Keys(a.Requests)) {
		p := a.Requests[key].(*sdk.ElicitParams) // as needed has seen
		delete(a.Requests, key)
		a.Key = key
		return h.form(p, a)
	}
	return nil
}

// secretWords are in the names of what a form may not ask for, and secretQuestion is in words that ask for one.
var (
	secretWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)passw|passphrase|secret|token|api[ _-]?key|credential|` +
			`private[ _-]?key|\bpin\b|cvv`)
	})
	secretQuestion = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(enter|provide|give|type|paste|send|share|tell|confirm|what is|need)\b` +
			`[^.!?\n]{0,40}\b(passwords?|passphrase|secret|(access|bearer|api|auth|session) token|token:|api[ _-]?keys?|` +
			`credentials?|private[ _-]?key|pin code|cvv)`)
	})
)

// form returns the error that asks a person what a server wants to know.
func (h *handler) form(p *sdk.ElicitParams, a *asking) error {
	f := tool.Form{Why: fmt.Sprintf("the MCP server %s asks: %s", h.server.o.Name, policy.Visible(cut(p.Message)))}
	if p.Mode == "url" {
		if wrong := policy.URLProblem(p.URL); wrong != "" && !h.server.serves(p.URL) {
			return h.failed(tool.ErrSecurity, "sends a person to %s: %s", policy.Visible(p.URL), wrong)
		}
		f.Why += " Open " + policy.Visible(p.URL) + " in a browser, and approve when you are done there."
		f.Schema = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	} else {
		if secretQuestion().MatchString(p.Message) {
			return h.failed(tool.ErrSecurity, "asks a person for a secret (%s)", policy.Visible(cut(p.Message)))
		}
		schema, err := json.Marshal(p.RequestedSchema)
		if err != nil || len(schema) > maxSchema {
			return h.failed(tool.ErrTool, "asks with a form that cannot be used")
		}
		var form struct {
			Properties map[string]struct {
				Title   string
				Default json.RawMessage
			}
			Required []string
		}
		if p.RequestedSchema == nil || json.Unmarshal(schema, &form) != nil {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		draft := map[string]json.RawMessage{}
		for name, property := range form.Properties {
			if secretWords().MatchString(name) || secretWords().MatchString(property.Title) {
				return h.failed(tool.ErrSecurity, "asks a person for a secret (%s)", name)
			}
			if property.Default != nil {
				draft[name] = property.Default
			}
		}
		f.Schema = schema
		f.Draft, _ = json.Marshal(draft)
	}
	var err error
	if f.State, err = json.Marshal(a); err != nil {
		return err
	}
	return &tool.InputError{Form: f}
}

// serves reports whether an address is of the server itself.
func (s *Server) serves(address string) bool {
	u, err := url.Parse(address)
	own, wrong := url.Parse(s.o.URL)
	return err == nil && wrong == nil && u.Host != "" && u.Scheme == own.Scheme && u.Host == own.Host
}

// cut shortens a text of a server that a person reads.
func cut(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(s[:maxDescription], "") + ".."
}

// elicited makes the answer for a server of what a person replied.
func elicited(r *tool.Reply) *sdk.ElicitResult {
	if !r.Accepted {
		return &sdk.ElicitResult{Action: "decline"}
	}
	answer := &sdk.ElicitResult{Action: "accept"}
	if json.Unmarshal(r.Content, &answer.Content) != nil {
		answer.Action = "cancel" // the runner has seen to it that it is an object
	}
	return answer
}

// answered returns the state of the form that a person replied to, with the answer in it; nil: there was none. The
// error asks for the next thing.
func (h *handler) answered(r *tool.Reply) (*asking, error) {
	if r == nil {
		return nil, nil
	}
	a := &asking{}
	if err := json.Unmarshal(r.State, a); err != nil {
		return nil, err
	}
	if a.Held != 0 {
		return a, nil
	}
	if a.Answers == nil {
		a.Answers = map[string]*sdk.ElicitResult{}
	}
	a.Answers[a.Key] = elicited(r)
	return a, h.next(a)
}

// follow waits for a call of an older revision, and asks a person what its server wants to know.
func (h *handler) follow(ctx context.Context, call *waitingCall, c *tool.Call) (tool.Result, error) {
	for {
		select {
		case q := <-call.asks:
			var form *tool.InputError
			err := h.form(q.params, &asking{Held: call.id})
			if !c.Asks || !errors.As(err, &form) {
				if form == nil { // the server hears no more than that it gets no answer
					c.Progress(0, 0, err.Error())
				}
				q.answer <- &sdk.ElicitResult{Action: "cancel"}
				continue
			}
			call.asked = q
			return tool.Result{}, err
		case <-call.done:
			return h.ended(ctx, call.conn, call.result, call.err, c, nil)
		case <-ctx.Done():
			call.cancel()
			return tool.Result{}, ctx.Err()
		}
	}
}

// continueCall continues a call that waited for a person.
func (h *handler) continueCall(ctx context.Context, call *waitingCall, c *tool.Call) (tool.Result, error) {
	if call == nil {
		return tool.Result{},
			h.failed(tool.ErrInterrupted,
				"does not wait for the answer any more: wield or the server was started again")
	}
	call.asked.answer <- elicited(c.Reply)
	return h.follow(ctx, call, c)
}

// A waitingCall is one of an older revision: it goes on by itself, so that it can wait for a person.
type waitingCall struct {
	id     int
	conn   *connection
	asks   chan question
	asked  question      // that a person has been asked last
	done   chan struct{} // closed with result and err set
	result *sdk.CallToolResult
	err    error
	cancel context.CancelFunc
}

// A question is one that a server waits for.
type question struct {
	params *sdk.ElicitParams
	answer chan *sdk.ElicitResult
}

// calls are the calls that go on by themselves.
type calls struct {
	mu   sync.Mutex
	last int
	all  []*waitingCall // in the order in which they began
}

// begin starts a call.
func (c *calls) begin(conn *connection, params *sdk.CallToolParams) *waitingCall {
	ctx, cancel := context.WithCancel(context.Background())
	h := &waitingCall{conn: conn, asks: make(chan question), done: make(chan struct{}), cancel: cancel}
	c.mu.Lock()
	c.last++
	h.id = c.last
	c.all = append(c.all, h)
	if len(c.all) > maxHeld {
		c.all[0].cancel() // nobody has answered for long
	}
	c.mu.Unlock()
	go func() {
		h.result, h.err = conn.session.CallTool(ctx, params)
		close(h.done)
		cancel()
		c.mu.Lock()
		c.all = slices.DeleteFunc(c.all, func(o *waitingCall) bool { return o == h })
		c.mu.Unlock()
	}()
	return h
}

// end cancels all calls.
func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.all {
		h.cancel()
	}
}

// find returns a call that goes on; nil: there is none of that number.
func (c *calls) find(id int) *waitingCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.all {
		if h.id == id {
			return h
		}
	}
	return nil
}

// elicit takes a question of the server to the call that began last: the protocol does not say which one it belongs to.
func (c *calls) elicit(ctx context.Context, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	c.mu.Lock()
	var to *waitingCall
	if n := len(c.all); n > 0 {
		to = c.all[n-1]
	}
	c.mu.Unlock()
	if to == nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	q := question{p, make(chan *sdk.ElicitResult, 1)}
	select {
	case to.asks <- q:
	case <-to.done:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-to.done:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
