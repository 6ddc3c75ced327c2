package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/shorten"
	"wield/tool/policy"
	"wield/tool/runner"
)

// Settings show the configuration, and where each value was set.
type Settings struct {
	File     string    `json:"file,omitempty" jsonschema:"that was read; without it there is none"`
	Version  string    `json:"version,omitempty"`
	Items    []Setting `json:"items" jsonschema:"every value in force"`
	Keys     []Key     `json:"keys" jsonschema:"who may use the service"`
	Warnings []string  `json:"warnings,omitempty"`
}

// A Setting is one value that is in force. Of a secret it is the reference.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Layer string `json:"layer" jsonschema:"default, file, environment or flag"`
	From  string `json:"from,omitempty" jsonschema:"the place in the file, or the name of the variable or flag"`
	Note  string `json:"note,omitempty" jsonschema:"what the value comes to"`
	About string `json:"about,omitempty" jsonschema:"what the key means"`
}

// A Key is one that clients show, without its secret.
type Key struct {
	Name   string   `json:"name"`
	Role   Role     `json:"role"`
	Models []string `json:"models,omitempty" jsonschema:"patterns of the only models that it may use"`
	From   string   `json:"from,omitempty" jsonschema:"where the secret is looked up, or that it was made at the start"`
}

// A KeptRule is one that a person let stand when an approval was decided.
type KeptRule struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent" jsonschema:"whose calls it is about"`
	Text     string    `json:"text" jsonschema:"as lines of a configuration file"`
	Approval string    `json:"approval" jsonschema:"that it was offered with"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
}

// KeptRules are all of them, the oldest first.
type KeptRules struct {
	Items []KeptRule `json:"items"`
}

// A Case is something to decide about. Nothing is run.
type Case struct {
	Agent     string          `json:"agent" jsonschema:"whose rules count"`
	Tool      string          `json:"tool,omitempty" jsonschema:"name of the tool; command_exec if it is left out"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"of the call, an object"`
	Shell     string          `json:"shell,omitempty" jsonschema:"a line that a shell would read"`
	Argv      []string        `json:"argv,omitempty" jsonschema:"a program and its arguments, with no shell between"`
	Path      string          `json:"path,omitempty" jsonschema:"a file that the call would use"`
	Op        Operation       `json:"op,omitempty" jsonschema:"what it would do with the path; read if it is left out"`
	URL       string          `json:"url,omitempty" jsonschema:"an address that it would go to"`
}

// An Operation tells what is done with a file.
type Operation string

// A Trial asks for a tool to be run.
type Trial struct {
	Agent     string          `json:"agent" jsonschema:"whose tools and rules count"`
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"an object"`
	Approved  bool            `json:"approved,omitempty" jsonschema:"run it although the rules ask: whoever sends this has looked at it"`
}

// A Tried holds the result of a trial.
type Tried struct {
	Review  *Review `json:"review" jsonschema:"what the rules said of it before it ran"`
	Ran     bool    `json:"ran" jsonschema:"false: the arguments do not fit, the rules refuse it, or they ask and it was not approved"`
	Result  *Result `json:"result,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// settingRoutes returns the routes of what is configured, and of what it comes to.
func settingRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/settings", name: "showSettings", doc: "Tell every value of the " +
			"configuration that is in force, and where it comes from, and who has keys. No secret is told.",
			may: onlyAdmin,
			out: of(Settings{}), fails: []Kind{KindNotFound}, serve: (*exchange).showSettings},
		{method: http.MethodGet, path: "/rules", name: "listRules",
			doc: "List the rules that were kept when approvals were decided.", may: deciding, driven: true,
			out: of(KeptRules{}), serve: (*exchange).listRules},
		{method: http.MethodDelete, path: "/rules/{rule}", name: "forgetRule", doc: "Take a kept rule back.",
			may: deciding, driven: true, serve: (*exchange).forgetRule},
		{method: http.MethodPost, path: "/policy/test", name: "testPolicy",
			doc: "Tell what the rules of an agent say of a command, a file, an address or a call. Nothing is run.",
			may: onlyAdmin, driven: true,
			in: of(Case{}), out: of(Review{}), serve: (*exchange).testPolicy},
		{method: http.MethodPost, path: "/tools/{tool}/run", name: "runTool",
			doc: "Run a tool by hand, by the rules of an agent. Nothing of it is recorded.",
			may: onlyAdmin, driven: true,
			in: of(Trial{}), out: of(Tried{}), serve: (*exchange).runTool},
	}
}

// showSettings answers GET /settings.
func (x *exchange) showSettings() (any, error) {
	if x.s.o.Settings == nil {
		return nil, fault(KindNotFound, "this service does not tell how it is configured")
	}
	s := x.s.o.Settings()
	s.Version = x.s.o.Version
	return &s, nil
}

// listRules answers GET /rules.
func (x *exchange) listRules() (any, error) {
	list := &KeptRules{Items: []KeptRule{}}
	for _, r := range x.s.o.Hub.Rules() {
		list.Items = append(list.Items, KeptRule(r))
	}
	return list, nil
}

// forgetRule answers DELETE /rules/{rule}.
func (x *exchange) forgetRule() (any, error) {
	id := x.arg("rule")
	err := x.s.o.Hub.Forget(x.r.Context(), id)
	if errors.Is(err, runs.ErrNoRule) {
		err = notFound("rule", id)
	}
	return nil, err
}

// agent reports a name that is no agent's.
func (x *exchange) agent(name string) error {
	names := sorted(x.s.o.Hub.Agents())
	if slices.Contains(names, name) {
		return nil
	}
	return invalid("/agent", "there is no agent %s", shorten.Quoted(name)).with("there are " +
		strings.Join(names, ", "))
}

// testPolicy answers POST /policy/test.
func (x *exchange) testPolicy() (any, error) {
	in := x.body.(*Case)
	if err := x.agent(in.Agent); err != nil {
		return nil, err
	}
	c := policy.Action{Tool: in.Tool, Arguments: string(in.Arguments), Shell: in.Shell, Argv: in.Argv}
	if c.Tool == "" {
		c.Tool = "command_exec"
	}
	if in.Path != "" {
		op := policy.Op(in.Op)
		if op == "" {
			op = policy.OpRead
		}
		c.Paths = []policy.PathUse{{Path: in.Path, Op: op}}
	}
	if in.URL != "" {
		c.URLs = []string{in.URL}
	}
	v, err := x.s.o.Hub.Judge(in.Agent, c)
	if err != nil {
		return nil, err
	}
	r := &Review{}
	r.explain(&runner.Explanation{Call: chat.Call{Arguments: c.Arguments}, Facts: c, Verdict: v})
	return r, nil
}

// runTool answers POST /tools/{tool}/run.
func (x *exchange) runTool() (any, error) {
	in, name := x.body.(*Trial), x.arg("tool")
	if x.s.tool(name) == nil {
		return nil, notFound("tool", name)
	}
	if err := x.agent(in.Agent); err != nil {
		return nil, err
	}
	review, err := x.s.review(x.r.Context(), "", in.Agent, name, in.Arguments)
	if err != nil {
		return nil, err
	}
	out := &Tried{Review: review}
	if len(review.Problems) > 0 {
		return out, nil
	}
	call := chat.Call{ID: fmt.Sprintf("hand_%d", time.Now().UnixNano()), Name: name,
		Arguments: string(review.Arguments), Complete: true}
	began := time.Now()
	result, err := x.s.o.Hub.Try(x.r.Context(), runs.Trial{Agent: in.Agent, Call: call, By: x.caller.Name,
		Approved: in.Approved})
	switch {
	case errors.Is(err, runner.ErrPending):
		return out, nil
	case err != nil:
		return nil, err
	}
	out.Ran = review.Decision != chat.DecisionDeny
	m := result.Message()
	out.Result = &Result{Text: m.Text(), IsError: m.IsError}
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}
