package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// A Predicate is a condition on the value of an argument. All that is given must hold. The text of a value is the
// string itself, or the JSON text of anything that is no string.
type Predicate struct {
	In      []string // the text is one of these
	NotIn   []string // the text is none of these
	Pattern string   // regular expression (RE2) that the whole text matches
	Min     *int     // a number, and not below
	Max     *int     // a number, and not above
	Present *bool    // whether the argument is given at all
}

// String returns the predicate as it stands in a file.
func (p Predicate) String() string {
	var parts []string
	list := func(key string, values []string) {
		if len(values) > 0 {
			quoted := make([]string, len(values))
			for i, v := range values {
				quoted[i] = yamlWord(v)
			}
			parts = append(parts, key+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	list("in", p.In)
	list("not_in", p.NotIn)
	if p.Pattern != "" {
		parts = append(parts, "pattern: "+strconv.Quote(p.Pattern))
	}
	if p.Min != nil {
		parts = append(parts, fmt.Sprint("min: ", *p.Min))
	}
	if p.Max != nil {
		parts = append(parts, fmt.Sprint("max: ", *p.Max))
	}
	if p.Present != nil {
		parts = append(parts, fmt.Sprint("present: ", *p.Present))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// A condition is a predicate on the values that a name leads to.
type condition struct {
	Predicate
	name []string
	re   *regexp.Regexp
}

func compileCondition(name string, p Predicate) (condition, error) {
	c := condition{Predicate: p, name: strings.Split(name, ".")}
	if slices.Contains(c.name, "") {
		return c, errors.New("write the name of an argument, or names with points between them")
	}
	if len(p.In)+len(p.NotIn) == 0 && p.Pattern == "" && p.Min == nil && p.Max == nil && p.Present == nil {
		return c, errors.New("no condition: give one of in, not_in, pattern, min, max, present")
	}
	if p.Present != nil && !*p.Present && (len(p.In)+len(p.NotIn) > 0 || p.Pattern != "" || p.Min != nil ||
		p.Max != nil) {
		return c, errors.New("what is absent has no value to look at")
	}
	if p.Pattern != "" {
		re, err := regexp.Compile(`\A(?s:` + p.Pattern + `)\z`)
		if err != nil {
			return c, err
		}
		c.re = re
	}
	return c, nil
}

// holds reports whether the condition holds for the arguments. To allow, all values that the name leads to must satisfy
// it; to ask or deny, one is enough.
func (c condition) holds(args any, d chat.Decision) bool {
	values := lookup(nil, args, c.name)
	if c.Present != nil && *c.Present != (len(values) > 0) {
		return false
	}
	if len(values) == 0 {
		return c.Present != nil && !*c.Present
	}
	if d == chat.DecisionAllow {
		return !slices.ContainsFunc(values, func(v any) bool { return !c.fits(v) })
	}
	return slices.ContainsFunc(values, c.fits)
}

func (c condition) fits(v any) bool {
	text := valueText(v)
	if len(c.In) > 0 && !slices.Contains(c.In, text) || slices.Contains(c.NotIn, text) {
		return false
	}
	if c.re != nil && !c.re.MatchString(text) {
		return false
	}
	if c.Min == nil && c.Max == nil {
		return true
	}
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	x, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return false
	}
	return (c.Min == nil || x.Cmp(big.NewRat(int64(*c.Min), 1)) >= 0) &&
		(c.Max == nil || x.Cmp(big.NewRat(int64(*c.Max), 1)) <= 0)
}

// lookup appends the values that name leads to; * stands for every element of a list and every member of an object.
func lookup(to []any, v any, name []string) []any {
	if len(name) == 0 {
		return append(to, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if name[0] == "*" {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				to = lookup(to, v[k], name[1:])
			}
			return to
		}
		if member, ok := v[name[0]]; ok {
			return lookup(to, member, name[1:])
		}
	case []any:
		if name[0] == "*" {
			for _, e := range v {
				to = lookup(to, e, name[1:])
			}
		}
	}
	return to
}

// valueText is the text that predicates see.
func valueText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readArguments reads a text that schema.Check has found to be strict JSON. Numbers keep their text.
func readArguments(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
