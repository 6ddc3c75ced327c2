package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
)

// batch counts the hostile strings that a message is tried with, before each is tried alone.
const batch = 8

// longSize is the size of the one long argument.
const longSize = 16 << 10

// RoundTrip writes calls with s.Calls, reads them back, alone and with prose around them, and compares names and
// arguments. The tools on offer are those of the calls, with the schemas that Offer makes; each name may stand once.
// written is false when the format cannot carry the calls.
func (s *Suite) RoundTrip(calls []chat.Call) (written bool, failures []Failure) {
	text, err := s.Calls(calls)
	if err != nil {
		return false, nil
	}
	id := "a message with " + describe(calls)
	mk, f := s.made(id, offer(calls))
	if f != nil {
		return true, []Failure{*f}
	}
	texts := []string{text}
	if !s.Alone {
		texts = append(texts, "Before.\n"+text+"\n\nAfter.")
	}
	for i, text := range texts {
		content := []string{"", "Before.After."}[i]
		whole, f := s.reader.use(mk).checkText(text, blockChecks[:])
		if f == nil {
			if err := readBack(calls, content, whole); err != nil {
				f = &Failure{Rule: ruleRender, Text: text, Err: err}
			}
		}
		if f != nil {
			f.Case = id
			failures = append(failures, *f)
		}
	}
	return true, failures
}

func describe(calls []chat.Call) string {
	var all []string
	for _, c := range calls {
		all = append(all, c.Name+check.Short(c.Arguments))
	}
	return strings.Join(all, ", ")
}

// readBack compares what was written with what was read.
func readBack(calls []chat.Call, content string, events []chat.Event) error {
	var got dialect.Collector
	for _, e := range events {
		got.Add(e)
	}
	var errs []error
	if len(got.Rejected) > 0 {
		errs = append(errs, fmt.Errorf("a call is rejected: %s", got.Rejected[0].Message))
	}
	if len(got.Calls) != len(calls) {
		return errors.Join(append(errs, fmt.Errorf("%d calls are written and %d read: %s", len(calls), len(got.Calls),
			describe(got.Calls)))...)
	}
	for i, c := range got.Calls {
		if c.Name != calls[i].Name || !c.Complete || !sameArguments(calls[i].Arguments, c.Arguments) {
			errs = append(errs, fmt.Errorf("call %d is read as %s%s, complete=%t", i, c.Name, check.Short(c.Arguments),
				c.Complete))
		}
	}
	errs = append(errs,
		differs("content without white space", content, strings.Join(strings.Fields(got.Content()), "")))
	return errors.Join(errs...)
}

// sameArguments compares JSON values. Whole numbers are the same if their texts are, others if they stand for one
// number.
func sameArguments(a, b string) bool {
	x, errX := check.DecodeJSON(a)
	y, errY := check.DecodeJSON(b)
	return errX == nil && errY == nil && sameValue(x, y)
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b || !strings.ContainsAny(string(a+b), ".eE") {
		return a == b
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// offer returns definitions under which the arguments of calls have the types that they have: what a format without
// types of its own needs to give them back.
func offer(calls []chat.Call) []Tool {
	var tools []Tool
	for _, c := range calls {
		v, err := check.DecodeJSON(c.Arguments)
		if err != nil {
			v = map[string]any{}
		}
		tools = append(tools,
			Tool{Type: "function", Function: Function{Name: c.Name, Parameters: json.RawMessage(schemaOf(v))}})
	}
	return tools
}

// schemaOf returns a schema that says what v is.
func schemaOf(v any) string {
	switch v := v.(type) {
	case string:
		return `{"type":"string"}`
	case bool:
		return `{"type":"boolean"}`
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return `{"type":"number"}`
		}
		return `{"type":"integer"}`
	case []any:
		var items []string
		for _, e := range v {
			items = append(items, schemaOf(e))
		}
		if items = slices.Compact(items); len(items) == 1 {
			return `{"type":"array","items":` + items[0] + `}`
		}
		return `{"type":"array"}`
	case map[string]any:
		var props []string
		for k, e := range v {
			props = append(props, quote(k)+":"+schemaOf(e))
		}
		slices.Sort(props)
		return `{"type":"object","properties":{` + strings.Join(props, ",") + `}}`
	}
	return `{"type":["null","string"]}`
}

// quote writes s as JSON, with no more escapes than it needs.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a buffer does not fail
	return strings.TrimSuffix(b.String(), "\n")
}

// places put hostile strings into arguments.
var places = [...]func(all []string) string{
	func(all []string) string { return object(keyed(all)) },
	func(all []string) string {
		return object([]string{`"list":[` + strings.Join(quoted(all), ",") + `]`, `"last":1`})
	},
	func(all []string) string {
		return object([]string{`"no":5`, `"in":{"deep":` + object(keyed(all)) + `,"list":[]}`})
	},
	func(all []string) string {
		var members []string
		for i, key := range quoted(check.Compact(slices.Clone(all))) {
			members = append(members, fmt.Sprintf("%s:%d", key, i))
		}
		return object([]string{`"keys":` + object(members)})
	},
}

func quoted(all []string) []string {
	var q []string
	for _, s := range all {
		q = append(q, quote(s))
	}
	return q
}

func keyed(all []string) []string {
	var members []string
	for i, s := range all {
		members = append(members, fmt.Sprintf(`"text%d":%s`, i, quote(s)))
	}
	return members
}

func object(members []string) string { return "{" + strings.Join(members, ",") + "}" }

// plain are arguments whose text is not what an encoder would write, or holds what strings cannot: surrogates without
// their partner, space, numbers of all forms.
var plain = [...]string{
	`{}`, `{ }`, `{"text":"\ud800"}`, `{"text":"\udc00\ud800 \ud83d"}`, `{"text":"\ud83d\ude00 \u00e9\u0000\/"}`,
	"{\n  \"text\": \"a b\",\n  \"yes\": false\n}", `{"text" : "x" , "list" : [ 1 , 2 ] }`,
	`{"no":12345678901234567890,"price":1.10}`, `{"no":-0,"price":-0.0}`, `{"price":1e3}`, `{"price":2.5E-10}`,
	`{"none":null,"yes":true}`, `{"in":{"a b":[{}]},"list":[]}`, `{"k-1":"v","k.2":"w"}`,
	`{"list":[[1,[true]],{"a":null},"x",-1.5]}`, `{"in":{"in":{"in":{"in":{"text":"x"}}}}}`,
	`{"name":"x","arguments":{"name":"y"},"parameters":{},"function":"z"}`,
}

// render writes calls and reads them back: every hostile string in every place, alone and with others, then random
// messages.
func (s *Suite) render() (failures []Failure) {
	if s.Calls == nil {
		return nil
	}
	done := 0
	try := func(calls []chat.Call) bool {
		written, f := s.RoundTrip(calls)
		failures = append(failures, f...)
		if written {
			done++
		}
		return written && len(f) == 0
	}
	all := s.hostile()
	for _, place := range places {
		for some := range slices.Chunk(all, batch) {
			if before := len(failures); !try(oneCall(place(some))) {
				together := failures[before:]
				failures = failures[:before:before]
				for _, one := range some {
					try(oneCall(place([]string{one})))
				}
				if len(failures) == before {
					failures = append(failures, together...)
				}
			}
		}
	}
	for _, args := range plain {
		try(oneCall(args))
	}
	try(oneCall(object(keyed([]string{check.Repeat(strings.Join(all, " "), longSize)}))))
	rounds := s.Rounds
	if rounds == 0 {
		rounds = defaultRounds
	}
	r := rand.New(rand.NewPCG(uint64(rounds), 1))
	for range rounds {
		try(randomCalls(r, all))
	}
	if done == 0 {
		failures = append(failures, Failure{Rule: ruleRender, Case: "every message",
			Err: errors.New("no call could be written")})
	}
	return failures
}

func oneCall(args string) []chat.Call {
	return []chat.Call{{ID: "call_0", Name: "tool_0", Arguments: args, Complete: true}}
}

// randomCalls returns one to three calls with random arguments.
func randomCalls(r *rand.Rand, words []string) []chat.Call {
	var calls []chat.Call
	for i := range 1 + r.IntN(3) {
		var members []string
		for k := range r.IntN(5) {
			members = append(members, fmt.Sprintf(`"p%d":%s`, k, randomValue(r, words, 3)))
		}
		calls = append(calls, chat.Call{Index: i, ID: fmt.Sprintf("call_%d", i), Name: fmt.Sprintf("tool_%d", i),
			Arguments: object(members), Complete: true})
	}
	return calls
}

// randomValue returns a JSON value, strings more often than others.
func randomValue(r *rand.Rand, words []string, depth int) string {
	switch kind := r.IntN(10); {
	case kind < 5 || depth == 0:
		text := ""
		for range r.IntN(4) {
			text += words[r.IntN(len(words))]
		}
		return quote(text)
	case kind == 5:
		return fmt.Sprint(r.Int64() >> r.IntN(64) * int64(1-2*r.IntN(2)))
	case kind == 6:
		return []string{"0.5", "-1.5", "1e3", "0.10", "2.5E-10", "1e-7"}[r.IntN(6)]
	case kind == 7:
		return []string{"true", "false", "null"}[r.IntN(3)]
	case kind == 8:
		var items []string
		for range r.IntN(4) {
			items = append(items, randomValue(r, words, depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	var members []string
	for k := range r.IntN(4) {
		members = append(members, fmt.Sprintf(`"k%d":%s`, k, randomValue(r, words, depth-1)))
	}
	return object(members)
}

// hostileTools offers the tool that hostile strings call.
var hostileTools = []Tool{{Type: "function",
	Function: Function{Name: check.HostileTool,
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"path":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}}}`)}}}

// results reads results of the hostile tool, as a model may repeat them.
func (s *Suite) results() []Failure {
	if s.Results == nil {
		return nil
	}
	return s.holdsNoCall(ruleResults, func(text string) string {
		return s.Results([]chat.Result{
			{CallID: "call_0", Name: check.HostileTool, Parts: chat.Text(text)},
			{CallID: text, Name: text, Parts: chat.Text(text), IsError: true},
		})
	})
}

// definitions reads the definition of the hostile tool.
func (s *Suite) definitions() []Failure {
	if s.Tools == nil {
		return nil
	}
	return s.holdsNoCall(ruleTools, func(text string) string {
		return s.Tools([]chat.Tool{{Name: check.HostileTool, Description: text,
			Parameters: hostileTools[0].Function.Parameters}})
	})
}

// holdsNoCall reads texts that hold hostile strings: no call may stand in them, nor the attempt at one.
func (s *Suite) holdsNoCall(rule Rule, write func(text string) string) []Failure {
	mk, f := s.made(string(rule), hostileTools)
	if f != nil {
		return []Failure{*f}
	}
	var failures []Failure
	for _, h := range s.hostile() {
		text := write(h)
		whole, f := s.reader.use(mk).checkText(text, blockChecks[:])
		if f == nil {
			for _, e := range whole {
				if e.Kind == chat.KindCallStart || e.Kind == chat.KindRejected {
					f = &Failure{Rule: rule, Text: text, Err: fmt.Errorf("it is read as %s", check.Format(e))}
					break
				}
			}
		}
		if f != nil {
			f.Case = "with " + check.Short(h)
			failures = append(failures, *f)
		}
	}
	return failures
}
