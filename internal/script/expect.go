package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"sort"
	"strings"

	"wield/chat"
)

// A DriveOutcome holds the result of a conversation with a scenario, seen from the client's side.
type DriveOutcome struct {
	Calls    []chat.Call
	Events   []chat.Event // of all requests, in order
	Final    string       // the text of the last answer
	Seen     string       // all that was shown to the client: text, reasoning, names and arguments of calls
	Requests int          // that reached the scenario
	Err      error        // that the last stream ended with; nil: none
}

// Check returns what of the expectations does not hold.
func (e *Expect) Check(o *DriveOutcome) []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if e.HasCalls {
		errs = append(errs, e.checkCalls(o.Calls)...)
	}
	names := eventNames(o)
	for _, want := range e.Events {
		if !names[normalName(want)] {
			fail("events_include: no event %s; there were %s", want, strings.Join(sortedNames(names), ", "))
		}
	}
	if e.final != nil && !e.final.match(o.Final) {
		fail("final: %q is not %s", o.Final, e.final.src)
	}
	if e.MaxTurns > 0 && o.Requests > e.MaxTurns {
		fail("max_turns: %d requests reached the backend, more than %d", o.Requests, e.MaxTurns)
	}
	for _, p := range e.neverSees {
		if p.within(o.Seen) {
			fail("client_never_sees: the client saw %s", p.src)
		}
	}
	return errs
}

// checkCalls compares in order. With Subset, other calls may stand between.
func (e *Expect) checkCalls(calls []chat.Call) []error {
	next := 0
	for i, want := range e.Calls {
		var why error
		found := false
		for next < len(calls) && !found {
			why = want.matches(&calls[next])
			found = why == nil
			next++
			if !e.Subset {
				break
			}
		}
		switch {
		case found:
		case why != nil && !e.Subset:
			return []error{fmt.Errorf("calls: call %d: %w", i+1, why)}
		default:
			return []error{fmt.Errorf("calls: call %d, of %s, is missing; there were %d calls", i+1, want.Name,
				len(calls))}
		}
	}
	if !e.Subset && next < len(calls) {
		c := &calls[next]
		return []error{fmt.Errorf("calls: a call too many: %s(%s)", c.Name, c.Arguments)}
	}
	return nil
}

func (w *ExpectCall) matches(c *chat.Call) error {
	if w.Name != "" && w.Name != c.Name {
		return fmt.Errorf("the tool is %s, not %s", c.Name, w.Name)
	}
	if w.Args == nil {
		return nil
	}
	var want, got any
	if err := decodeNumbers(string(w.Args), &want); err != nil {
		return err
	}
	if err := decodeNumbers(c.Arguments, &got); err != nil {
		return fmt.Errorf("the arguments of %s are not JSON: %s", c.Name, c.Arguments)
	}
	if !sameJSON(want, got) {
		return fmt.Errorf("the arguments of %s are %s, not %s", c.Name, c.Arguments, w.Args)
	}
	return nil
}

func decodeNumbers(s string, v *any) error {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	return d.Decode(v)
}

// sameJSON compares by value: numbers as numbers, objects without order, strings between slashes as expressions.
func sameJSON(want, got any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		p, err := parsePattern(w)
		return ok && err == nil && p.match(g)
	case json.Number:
		g, ok := got.(json.Number)
		a, okA := new(big.Rat).SetString(string(w))
		b, okB := new(big.Rat).SetString(string(g))
		return ok && okA && okB && a.Cmp(b) == 0
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(w, g, sameJSON)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, sameJSON)
	}
	return reflect.DeepEqual(want, got)
}

// eventWords gives the words that a scenario has for kinds of events, besides the kinds' own names.
var eventWords = map[chat.Kind]string{
	chat.KindBounce:   "bounced",
	chat.KindNote:     "repaired",
	chat.KindApproval: "approval-requested",
	chat.KindCallEnd:  "call",
	chat.KindUsage:    "usage",
	chat.KindFinish:   "finished",
}

func eventNames(o *DriveOutcome) map[string]bool {
	names := map[string]bool{}
	for i := range o.Events {
		e := &o.Events[i]
		names[normalName(e.Kind.String())] = true
		if w := eventWords[e.Kind]; w != "" {
			names[normalName(w)] = true
		}
		if e.Kind == chat.KindNote {
			names[normalName(string(e.Detail.(*chat.NoteDetail).Kind))] = true
		}
	}
	if o.Err != nil {
		names["error"] = true
		names[normalName(string(chat.AsError(o.Err).Kind))] = true
	}
	return names
}

func normalName(s string) string { return strings.ReplaceAll(s, "_", "-") }

func sortedNames(set map[string]bool) []string {
	var list []string
	for n := range set {
		list = append(list, n)
	}
	sort.Strings(list)
	return list
}
