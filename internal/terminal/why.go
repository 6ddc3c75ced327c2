package terminal

import (
	"fmt"
	"strings"

	"wield/chat"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A trail explains an answer: what the model wrote in each turn, what was read in it, and what was
// decided about it.
type trail struct {
	turns []*footprint
	usage chat.Usage
}

// A footprint is one answer of the model.
type footprint struct {
	turn       chat.TurnDetail
	raw        string
	reasoning  strings.Builder
	text       strings.Builder
	calls      []chat.Call
	candidates []chat.CandidateDetail
	rejected   []chat.RejectedDetail
	notes      []chat.NoteDetail
	bounces    []chat.BounceDetail
	converted  []chat.BounceDetail
	overrun    *chat.OverrunDetail
	policies   map[string]policy.Detail
	approvals  map[string]runner.ApprovalDetail
}

// answers returns how often the model has answered, or begun to.
func (t *trail) answers() int { return len(t.turns) }

func (t *trail) last() *footprint {
	if len(t.turns) == 0 {
		t.turns = append(t.turns, &footprint{policies: map[string]policy.Detail{},
			approvals: map[string]runner.ApprovalDetail{}})
	}
	return t.turns[len(t.turns)-1]
}

// add takes what belongs to it.
func (t *trail) add(e *chat.Event) {
	if e.Kind == chat.KindTurnStart {
		t.turns = append(t.turns, &footprint{turn: *e.Detail.(*chat.TurnDetail), policies: map[string]policy.Detail{},
			approvals: map[string]runner.ApprovalDetail{}})
		return
	}
	if f, ok := trackers[e.Kind]; ok {
		f(t.last(), e)
	}
}

// trackers say what is kept of events.
var trackers = map[chat.Kind]func(f *footprint, e *chat.Event){
	chat.KindText:      func(f *footprint, e *chat.Event) { f.text.WriteString(e.Text) },
	chat.KindReasoning: func(f *footprint, e *chat.Event) { f.reasoning.WriteString(e.Text) },
	chat.KindRaw:       func(f *footprint, e *chat.Event) { f.raw += e.Text },
	chat.KindCallEnd:   func(f *footprint, e *chat.Event) { f.calls = append(f.calls, *e.Detail.(*chat.Call)) },
	chat.KindCandidate: func(f *footprint, e *chat.Event) {
		f.candidates = append(f.candidates, *e.Detail.(*chat.CandidateDetail))
	},
	chat.KindRejected: func(f *footprint, e *chat.Event) {
		f.rejected = append(f.rejected,
			*e.Detail.(*chat.RejectedDetail))
	},
	chat.KindNote: func(f *footprint, e *chat.Event) { f.notes = append(f.notes, *e.Detail.(*chat.NoteDetail)) },
	chat.KindBounce: func(f *footprint, e *chat.Event) {
		f.bounces = append(f.bounces,
			*e.Detail.(*chat.BounceDetail))
	},
	chat.KindConverted: func(f *footprint, e *chat.Event) {
		f.converted = append(f.converted,
			*e.Detail.(*chat.BounceDetail))
	},
	chat.KindOverrun: func(f *footprint, e *chat.Event) { f.overrun = e.Detail.(*chat.OverrunDetail) },
	chat.KindPolicy: func(f *footprint, e *chat.Event) {
		d := e.Detail.(*policy.Detail)
		f.policies[d.CallID] = *d
	},
	chat.KindApproval: func(f *footprint, e *chat.Event) {
		approval := e.Detail.(*runner.ApprovalDetail)
		f.approvals[approval.CallID] = *approval
	},
}

// written returns what the model wrote: all of it if the server told, else what was shown.
func (f *footprint) written() string {
	if f.raw != "" {
		return f.raw
	}
	if f.reasoning.Len() > 0 && f.text.Len() > 0 {
		return f.reasoning.String() + "\n\n" + f.text.String()
	}
	return f.reasoning.String() + f.text.String()
}

// raw shows what the model wrote, byte for byte as far as a terminal can.
func (t *trail) rawRows() []row {
	var rows []row
	for i, f := range t.turns {
		rows = append(rows, styled(styleDim, fmt.Sprintf("── answer %d of %d", i+1, len(t.turns))))
		text := f.written()
		if text == "" {
			rows = append(rows, styled(styleDim, "(nothing)"))
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			rows = append(rows, plainRow(clean(line)))
		}
	}
	return rows
}

// whyRows explains how the answer came about.
func (t *trail) whyRows() []row {
	var rows []row
	add := func(st style, format string, args ...any) {
		for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
			rows = append(rows, styled(st, clean(line)))
		}
	}
	for i, f := range t.turns {
		head := fmt.Sprintf("Answer %d of %d", i+1, len(t.turns))
		if f.turn.Model != "" {
			head += " by " + f.turn.Model
		}
		if f.turn.Dialect != "" {
			head += ", told the dialect " + f.turn.Dialect
		}
		if f.turn.Attempt > 1 {
			head += fmt.Sprintf(", attempt %d", f.turn.Attempt)
		}
		add(styleStrong, "%s", head)
		f.explain(add)
	}
	return rows
}

func (f *footprint) explain(add func(st style, format string, args ...any)) {
	if f.reasoning.Len() > 0 {
		add(styleText, "  It thought %d words.", len(strings.Fields(f.reasoning.String())))
	}
	for _, k := range f.candidates {
		word := "taken as a call"
		if k.Outcome == chat.OutcomeRefused {
			word = "left as text"
		}
		add(styleText, "  Bytes %d to %d looked like %s: %s%s", k.At, k.End, k.Dialect, word, because(k.Why))
	}
	for i := range f.calls {
		f.call(&f.calls[i], add)
	}
	for _, n := range f.notes {
		add(styleText, "  Repaired (%s)%s: %s -> %s", n.Kind, at(n.Path), shorten(n.Before, 80), shorten(n.After, 80))
	}
	for _, r := range f.rejected {
		add(styleWarn, "  No call (%s): %s%s", r.Reason, shorten(r.Raw, 80), because(r.Message))
	}
	for _, b := range f.bounces {
		add(styleWarn, "  Asked again (%s), told:\n    %s", b.Reason, strings.ReplaceAll(b.Sent, "\n", "\n    "))
	}
	for _, b := range f.converted {
		add(styleWarn, "  Taken over from another channel (%s)", b.Reason)
	}
	if o := f.overrun; o != nil {
		add(styleWarn, "  The model went on past its turn, at byte %d: %s. Nothing behind it is a call.", o.At,
			shorten(strings.TrimSpace(o.Marker), 80))
	}
	if len(f.calls)+len(f.rejected) == 0 {
		add(styleText, "  There is no call in it.")
	}
}

// call explains one call: where it stood, how it was read, and who decided about it.
func (f *footprint) call(k *chat.Call, add func(st style, format string, args ...any)) {
	how := "through the server's function calling"
	if k.Origin == chat.OriginText {
		how = fmt.Sprintf("from bytes %d to %d, as %s", k.At, k.End, k.Dialect)
	}
	add(styleTool, "  %s was read %s", k.Name, how)
	if k.Origin == chat.OriginText && k.At >= 0 && k.End <= len(f.raw) && k.At < k.End {
		for line := range strings.SplitSeq(strings.TrimSpace(f.raw[k.At:k.End]), "\n") {
			add(styleDim, "    | %s", line)
		}
	}
	add(styleText, "    arguments %s", k.Arguments)
	if p, ok := f.policies[k.ID]; ok {
		add(styleText, "    %s by %s%s", decisions[p.Decision], first(p.Rule, "the policy"), because(p.Why))
	}
	if a, ok := f.approvals[k.ID]; ok && a.State != runner.ApprovalPending {
		add(styleText, "    %s by %s%s", a.State, first(a.By, "a person"), because(a.Reason))
	}
}

var decisions = map[chat.Decision]string{
	chat.DecisionAllow: "allowed", chat.DecisionAsk: "asked about", chat.DecisionDeny: "denied",
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
