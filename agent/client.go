package agent

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// Failures of AddResults.
var (
	ErrNoCall  = errors.New("agent: the run waits for no result of this call")
	ErrMissing = errors.New("agent: a call has no result")
)

// callPrefix begins the id of a call that the client is to run, and runPrefix that of a run in the journal. What
// follows is the same.
const (
	callPrefix = "call_"
	runPrefix  = "run_"
)

// RunOf returns the run that a call belongs to which its client is to run. It is told by the call's id, so that results
// find their run. It reports false for other ids.
func RunOf(callID string) (run string, ok bool) {
	rest, ok := strings.CutPrefix(callID, callPrefix)
	if !ok {
		return "", false
	}
	hex, number, ok := strings.Cut(rest, "_")
	number, _, _ = strings.Cut(number, "_") // an id that was taken gets a suffix
	if _, err := strconv.Atoi(number); !ok || err != nil || len(hex) != runLength ||
		strings.Trim(hex, "0123456789abcdef") != "" {
		return "", false
	}
	return runPrefix + hex, true
}

// runLength counts the characters of a journal's ids behind their prefix.
const runLength = 24

// clientID returns the id of a call that the client is to run.
func (r *Run) clientID(index int) string {
	hex, ok := strings.CutPrefix(r.ID(), runPrefix)
	if !ok {
		return ""
	}
	return callPrefix + hex + "_" + strconv.Itoa(index)
}

// A client has tools of its own, which it runs itself.
type client struct {
	tools map[string]bool // by name
	given []chat.Message  // results that it has handed in
}

// clientOf returns the client whose tools a request brings.
func clientOf(req *chat.Request) client {
	c := client{tools: make(map[string]bool, len(req.Tools))}
	for _, t := range req.Callable() {
		c.tools[t.Name] = true
	}
	return c
}

// runs reports whether calls of a tool are the client's.
func (c *client) runs(name string) bool { return c.tools[name] }

// fromClient returns the client's tools that the journal has kept.
func fromClient(kept []record.Definition) []chat.Tool {
	var list []chat.Tool
	for _, t := range kept {
		list = append(list, chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return list
}

// Awaits returns the calls that the client is to run before the run can go on, if all others have their results.
func (r *Run) Awaits() []chat.Call {
	open := r.state.Open()
	if slices.ContainsFunc(open, func(c chat.Call) bool { return !r.client.runs(c.Name) }) {
		return nil
	}
	return open
}

// AddResults takes the results of the calls that Awaits returns, each of them once and nothing else. It is called
// before the events are ranged over.
func (r *Run) AddResults(results ...chat.Message) error {
	awaited := r.Awaits()
	given := map[string]bool{}
	for i := range results {
		id := results[i].CallID
		if given[id] || !slices.ContainsFunc(awaited, func(c chat.Call) bool { return c.ID == id }) {
			return fmt.Errorf("%w: %q in run %s", ErrNoCall, id, r.ID())
		}
		given[id] = true
	}
	for _, c := range awaited {
		if !given[c.ID] {
			return fmt.Errorf("%w: %s, a call of %s in run %s", ErrMissing, c.ID, c.Name, r.ID())
		}
	}
	r.client.given = results
	return nil
}

// takeGiven returns the records of the results that were handed in, and puts them into the conversation.
func (r *Run) takeGiven() []record.Record {
	var records []record.Record
	for i := range r.client.given {
		m := &r.client.given[i]
		f := runner.FinishRecord{CallID: m.CallID, Tool: r.nameOf(m.CallID), At: time.Now(),
			Result: tool.Result{OK: !m.IsError, Parts: m.Parts}}
		if m.IsError {
			f.Result.Error = m.Text()
		}
		records = append(records, record.Record{Kind: record.KindResult, Result: &f})
		r.state.Add(r.rendered(&f))
	}
	r.client.given = nil
	return records
}

// fromOutside returns a result that the client has handed in as the model reads it: as it is.
func fromOutside(f *runner.FinishRecord) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: f.CallID, Name: f.Tool, Parts: f.Result.Parts,
		IsError: !f.Result.OK}
}

func (r *Run) nameOf(callID string) string {
	for _, c := range r.state.Open() {
		if c.ID == callID {
			return c.Name
		}
	}
	return ""
}
