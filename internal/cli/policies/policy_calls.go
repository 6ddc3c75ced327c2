package policies

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/internal/cli"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// args judges the arguments of a call, or the registration of a tool, on the way that every call goes: schema, then
// policy.
func (r *recordRun) args(rec *policyRecord) (policy.Verdict, error) {
	var in struct {
		Tool       string          `json:"tool"`
		Arguments  json.RawMessage `json:"arguments"`
		Raw        *recordText     `json:"arguments_raw"`
		Definition json.RawMessage `json:"tool_definition"`
	}
	if err := json.Unmarshal(rec.Input, &in); err != nil {
		return policy.Verdict{}, cli.Mistake("input", err)
	}
	if in.Definition != nil {
		return register(in.Definition), nil
	}
	arguments, err := joinTexts(in.Arguments)
	if err != nil {
		return policy.Verdict{}, fmt.Errorf("input.arguments: %w", err)
	}
	if in.Raw != nil {
		arguments = string(*in.Raw)
	}
	t := recordTool(in.Tool, rec.Policy["schema"])
	if rec.Policy["egress"] != nil {
		t.Facts.URLs = []string{"url"}
	} else {
		rec.Policy["default"] = json.RawMessage(`"allow"`) // nothing but the schema decides
	}
	p, err := translate(rec)
	if err != nil {
		return policy.Verdict{}, err
	}
	return plan(p, []*tool.Tool{t}, chat.Call{Name: in.Tool, Arguments: arguments, Complete: true})
}

// register says whether a definition can be used.
func register(definition json.RawMessage) policy.Verdict {
	v := policy.Verdict{Decision: chat.DecisionAllow, Rule: "built-in: registration", Why: "the definition can be used"}
	if err := new(runner.Registry).Add(recordTool("t", definition)); err != nil {
		v.Decision, v.Why = chat.DecisionDeny, err.Error()
	}
	return v
}

// recordTool is a tool that is never run.
func recordTool(name string, schema json.RawMessage) *tool.Tool {
	return tool.Raw(name, "A tool of a record.", schema, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Result{}, nil
	})
}

// plan takes a call through all checks that come before it would run.
func plan(p *policy.Policy, tools []*tool.Tool, call chat.Call) (policy.Verdict, error) {
	reg := new(runner.Registry)
	if err := reg.Add(tools...); err != nil {
		return policy.Verdict{}, err
	}
	r := runner.New(runner.Settings{Tools: reg, Policy: p, Approvals: new(runner.MemoryApprovals)})
	pl, err := r.Plan(context.Background(), call)
	if err != nil {
		return policy.Verdict{}, err
	}
	v := policy.Verdict{Decision: chat.DecisionAllow, Rule: "built-in: arguments", Why: "they fit the schema"}
	if pl.Policy != nil {
		v.Decision, v.Rule, v.Why = pl.Policy.Decision, pl.Policy.Rule, pl.Policy.Why
	}
	if pl.Outcome == runner.OutcomeRejected {
		v.Decision, v.Why = chat.DecisionDeny, pl.Result.Error
	}
	return v, nil
}

// joinTexts replaces texts that are written as parts by the texts.
func joinTexts(v json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if !strings.Contains(string(v), `"$cat"`) || json.Unmarshal(v, &members) != nil {
		return string(v), nil
	}
	for name, m := range members {
		if !strings.HasPrefix(string(m), "{") {
			continue
		}
		var parts recordText
		if err := json.Unmarshal(m, &parts); err != nil {
			return "", err
		}
		members[name] = json.RawMessage(shape.Quote(string(parts)))
	}
	text, err := json.Marshal(members)
	return string(text), err
}

// envelopeTools are the tools that texts of calls may name.
var envelopeTools = []string{"t", "safe", "rm", "delete_all"}

// envelope judges a text that may be a call: what of it would run is decided by the decoder and the checks behind it.
func (r *recordRun) envelope(rec *policyRecord) (policy.Verdict, error) {
	text, err := envelopeText(rec)
	if err != nil {
		return policy.Verdict{}, err
	}
	deny := func(why string) (policy.Verdict, error) {
		return policy.Verdict{Decision: chat.DecisionDeny, Rule: "built-in: text", Why: why}, nil
	}
	var limits struct{ Bytes int }
	if l := rec.Policy["limits"]; l != nil {
		if err := json.Unmarshal(l, &limits); err != nil {
			return policy.Verdict{}, cli.Mistake("policy.limits", err)
		}
	}
	if limits.Bytes > 0 && len(text) > limits.Bytes {
		return deny("the text is too long")
	}
	shapes := make([]shape.Tool, len(envelopeTools))
	tools := make([]*tool.Tool, len(envelopeTools))
	for i, name := range envelopeTools {
		shapes[i] = shape.Tool{Name: name}
		tools[i] = recordTool(name, json.RawMessage(`{"type":"object"}`))
	}
	d, err := dialect.New(dialect.Options{Tools: shapes, Repair: dialect.RepairSafe})
	if err != nil {
		return policy.Verdict{}, err
	}
	var calls []chat.Call
	content := ""
	for _, ev := range d.Close(d.Feed(nil, text)) {
		switch ev.Kind {
		case chat.KindText:
			content += ev.Text
		case chat.KindCallEnd:
			calls = append(calls, *ev.Detail.(*chat.Call))
		}
	}
	switch {
	case len(calls) == 0:
		return deny("there is no call in the text")
	case len(calls) > 1:
		return deny("there is more than one call in the text")
	case !calls[0].Complete:
		return deny("the text ends inside of the call")
	}
	rec.Policy["default"] = json.RawMessage(`"allow"`) // nothing but the reading decides
	p, err := translate(rec)
	if err != nil {
		return policy.Verdict{}, err
	}
	v, err := plan(p, tools, calls[0])
	if err == nil && strings.TrimSpace(content) != "" && v.Decision == chat.DecisionAllow {
		v = policy.Verdict{Decision: chat.DecisionAsk, Rule: "built-in: text", Why: "something stands around the call"}
	}
	return v, err
}

// envelopeText returns the bytes of the text.
func envelopeText(rec *policyRecord) (string, error) {
	var in struct {
		Raw      recordText `json:"raw"`
		Encoding string     `json:"encoding"`
	}
	if err := json.Unmarshal(rec.Input, &in); err != nil {
		return "", cli.Mistake("input", err)
	}
	switch in.Encoding {
	case "", "utf8":
		return string(in.Raw), nil
	case "hex":
		b, err := hex.DecodeString(string(in.Raw))
		if err != nil {
			return "", fmt.Errorf("input.raw: %w", err)
		}
		return string(b), nil
	}
	return "", fmt.Errorf("input.encoding: no encoding %q: there are utf8 and hex", in.Encoding)
}
