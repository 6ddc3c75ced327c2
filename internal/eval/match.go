package eval

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A matcher compares the calls of one row.
type matcher struct {
	required map[string]map[string]bool
	loose    bool
}

// readCall is a call with its arguments as a value.
type readCall struct {
	name string
	args any
}

// readCalls decodes the arguments of calls. Text that is not JSON is no arguments.
func readCalls(calls []ComparedCall) []readCall {
	read := make([]readCall, len(calls))
	for i, c := range calls {
		read[i].name = sameName(c.Name)
		read[i].args = decode(c.Arguments)
		if read[i].args == nil {
			read[i].args = map[string]any{}
		}
	}
	return read
}

func decode(text json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// calls reports whether got is what is wanted: in the order of the text or, loose, in any.
func (m matcher) calls(want, got []readCall) bool {
	if len(want) != len(got) {
		return false
	}
	if m.inOrder(want, got) {
		return true
	}
	if !m.loose {
		return false
	}
	left := append([]readCall(nil), got...)
next:
	for _, w := range want {
		for i, g := range left {
			if m.call(w, g) {
				left = append(left[:i], left[i+1:]...)
				continue next
			}
		}
		return false
	}
	return true
}

func (m matcher) inOrder(want, got []readCall) bool {
	for i := range want {
		if !m.call(want[i], got[i]) {
			return false
		}
	}
	return true
}

func (m matcher) call(want, got readCall) bool {
	w, okW := want.args.(map[string]any)
	g, okG := got.args.(map[string]any)
	if want.name != got.name || !okW || !okG {
		return false
	}
	if !m.loose {
		return m.value(want.args, got.args)
	}
	need := m.required[want.name]
	for k, v := range w {
		if x, ok := g[k]; ok {
			if !m.value(v, x) {
				return false
			}
		} else if v != nil || need[k] {
			return false
		}
	}
	for k, v := range g {
		if _, ok := w[k]; !ok && (v != nil || need[k]) {
			return false
		}
	}
	return true
}

// value compares JSON values. A number is never a string nor a boolean.
func (m matcher) value(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b))
	case string:
		b, ok := b.(string)
		return ok && (a == b || m.loose && plain(a) == plain(b))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !m.value(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			x, ok := b[k]
			if !ok || !m.value(v, x) {
				return false
			}
		}
		return true
	}
	return false
}

// sameNumber compares the texts of two numbers as numbers.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

var dropped = strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "", "'", `"`)

// plain returns the form in which the leaderboard compares strings.
func plain(s string) string { return strings.ToLower(dropped.Replace(s)) }
