package api

import (
	"encoding/json"
	"slices"
	"strconv"

	"wield/internal/capture"
	"wield/internal/shorten"
	"wield/tool/runner"
)

// Captures is a page of captured exchanges, the latest first, without their bodies.
type Captures struct {
	Items []capture.Record `json:"items"`
	Next  string           `json:"next,omitempty" jsonschema:"the before of the next page; without it there is none"`
}

// listCaptures answers GET /captures.
func (x *exchange) listCaptures() (any, error) {
	ring, err := x.ring()
	if err != nil {
		return nil, err
	}
	page := &Captures{Items: []capture.Record{}}
	before := x.number("before", 0)
	for _, r := range ring.List() {
		at := r.Time.UnixMicro()
		if before > 0 && at >= before {
			continue
		}
		if len(page.Items) == x.limit() {
			page.Next = strconv.FormatInt(page.Items[len(page.Items)-1].Time.UnixMicro(), 10)
			break
		}
		page.Items = append(page.Items, r)
	}
	return page, nil
}

// showCapture answers GET /captures/{capture}.
func (x *exchange) showCapture() (any, error) {
	return x.captured()
}

// captured returns the exchange of the path.
func (x *exchange) captured() (*capture.Record, error) {
	ring, err := x.ring()
	if err != nil {
		return nil, err
	}
	r := ring.Get(x.arg("capture"))
	if r == nil {
		return nil, fault(KindNotFound, "no exchange of the id %s is kept", shorten.Quoted(x.arg("capture"))).
			with("only the last ones are")
	}
	return r, nil
}

func (x *exchange) ring() (*capture.Ring, error) {
	if x.s.o.Captures == nil {
		return nil, fault(KindNotFound, "nothing is captured").with("set capture.requests in the configuration")
	}
	return x.s.o.Captures, nil
}

// A Tool is one that wield runs.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty" jsonschema:"JSON Schema of its arguments"`
	State       string          `json:"state" jsonschema:"enabled, auto or disabled"`
	Source      string          `json:"source,omitempty" jsonschema:"where its definition comes from"`
	ReadOnly    bool            `json:"read_only" jsonschema:"it changes nothing"`
	Network     bool            `json:"network" jsonschema:"it reaches for the network"`
	Dangerous   bool            `json:"dangerous" jsonschema:"what it does cannot be taken back"`
	Idempotent  bool            `json:"idempotent" jsonschema:"running it twice is as good as once"`
	App         bool            `json:"app,omitempty" jsonschema:"its results have an app"`
}

// Tools are the tools that wield runs.
type Tools struct {
	Items []Tool `json:"items"`
}

func toolOf(e *runner.Entry) Tool {
	t := e.Tool
	return Tool{Name: t.Name(), Description: t.Definition.Description, Parameters: t.Definition.Parameters,
		State: e.State.String(), Source: t.Source, ReadOnly: t.Facts.ReadOnly, Network: t.Facts.Network,
		Dangerous: t.Dangerous, Idempotent: t.Idempotent, App: t.App != ""}
}

// listTools answers GET /tools.
func (x *exchange) listTools() (any, error) {
	list := &Tools{Items: []Tool{}}
	if x.s.o.Tools != nil {
		for _, e := range x.s.o.Tools() {
			list.Items = append(list.Items, toolOf(e))
		}
	}
	return list, nil
}

// A Model is one on offer.
type Model struct {
	Name  string   `json:"name"`
	Agent bool     `json:"agent" jsonschema:"wield runs tools for it"`
	Tools []string `json:"tools,omitempty" jsonschema:"names of the tools that it has here"`
	Try   []string `json:"try,omitempty" jsonschema:"what can be said to it to begin with"`
}

// Models are the models on offer.
type Models struct {
	Items   []Model `json:"items"`
	Connect bool    `json:"connect,omitempty" jsonschema:"none of them is configured, they are those of the demo, and the caller may connect one"`
}

// listModels answers GET /models.
func (x *exchange) listModels() (any, error) {
	list := &Models{Items: []Model{}, Connect: x.wantsModel()}
	if x.s.o.Models != nil {
		for _, m := range x.s.o.Models() {
			if x.caller.sees(m.Name) {
				list.Items = append(list.Items, m)
			}
		}
	}
	return list, nil
}

// showDocument answers GET /openapi.json.
func (x *exchange) showDocument() error {
	x.w.Header().Set("Content-Type", "application/json")
	x.begun = true
	x.deadline()
	_, _ = x.w.Write(x.s.document)
	return nil
}

// sorted returns names in order.
func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
