package responsetemplate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/dialect"
)

// layout returns how the calls of the field are written.
func (f *field) layout(place string) (*dialect.Layout, error) {
	open, where, err := f.opening(place)
	if err != nil {
		return nil, err
	}
	l := &dialect.Layout{Summary: "as a response template says"}
	closing, err := f.closing(place)
	if err != nil {
		return nil, err
	}
	switch f.Content {
	case "json":
		err = f.json(l, place, where, open, closing)
	case "xml-inline":
		err = f.elements(l, place, where, open, closing)
	default:
		err = &Error{place + ".content", fmt.Sprintf("wield reads calls as json or xml-inline, not as %s",
			orText(f.Content))}
	}
	return l, err
}

func orText(content string) string {
	if content == "" {
		return "text"
	}
	return content
}

// opening returns the parts of what begins a call, and where the template says it.
func (f *field) opening(place string) ([]part, string, error) {
	switch {
	case len(f.Open) > 1:
		return nil, "", &Error{place + ".open", "wield reads one literal there, and there are several"}
	case len(f.Open) == 1:
		return []part{{literal: f.Open[0]}}, place + ".open", nil
	case f.OpenPattern == "":
		return nil, "", &Error{place + ".open", "nothing begins a call"}
	}
	list, err := split(place+".open_pattern", f.OpenPattern)
	return trim(list), place + ".open_pattern", err
}

// closing returns the literals of what ends a call, in order.
func (f *field) closing(place string) (list []string, err error) {
	parts := []part{}
	switch {
	case len(f.Close) > 1:
		return nil, &Error{place + ".close", "wield reads one literal there, and there are several"}
	case len(f.Close) == 1:
		parts = []part{{literal: f.Close[0]}}
	case f.ClosePattern != "":
		if parts, err = split(place+".close_pattern", f.ClosePattern); err != nil {
			return nil, err
		}
	}
	for _, p := range trim(parts) {
		switch {
		case p.literal != "":
			for _, line := range strings.Split(p.literal, "\n") {
				if line = strings.TrimSpace(line); line != "" {
					list = append(list, line)
				}
			}
		case !p.blanks:
			return nil, &Error{place + ".close_pattern", "wield reads literals there"}
		}
	}
	return list, nil
}

// json completes the layout of calls whose arguments are JSON.
func (f *field) json(l *dialect.Layout, place, where string, open []part, closing []string) error {
	if len(closing) > 0 && closing[0] == "```" { // the fence belongs to the object
		closing = closing[1:]
	}
	if len(closing) > 2 {
		return &Error{place + ".close", "wield reads the end of a call and the end of what stands around"}
	}
	if len(open) == 1 && open[0].literal != "" {
		if f.Args.UnquotedKeys || len(f.Args.StringDelims) > 0 {
			return &Error{place + ".content_args", "an object with bare keys needs its name before it"}
		}
		l.Open, l.List = strings.TrimSpace(open[0].literal), f.TransformEach
		if len(closing) > 0 {
			l.Close = closing[len(closing)-1]
		}
		return f.keys(l, place)
	}
	if err := f.named(place); err != nil {
		return err
	}
	before, after, err := around(where, open, "name")
	if err != nil {
		return err
	}
	l.CallClose = strings.Join(closing[:min(1, len(closing))], "")
	for _, p := range before {
		if p.capture != "" || p.digits {
			return &Error{where, "wield needs literals before the name"}
		}
		l.Open += p.literal
	}
	if f.Args.UnquotedKeys || len(f.Args.StringDelims) > 0 {
		if len(f.Args.StringDelims) != 1 || f.Args.StringDelims[0][0] != f.Args.StringDelims[0][1] ||
			len(trim(after)) > 0 {
			return &Error{place + ".content_args",
				"wield reads bare keys with one delimiter of strings, the same at both ends"}
		}
		l.Token, l.Close, l.CallClose = f.Args.StringDelims[0][0], l.CallClose, ""
		l.Open, l.Then = strings.TrimSuffix(l.Open, "call:"), "call:"
		return nil
	}
	if opener, ok := strings.CutSuffix(l.Open, "functions."); ok && len(after) > 1 && after[0].literal == ":" &&
		after[1].digits {
		l.Open, l.Counted, after = opener, true, trim(after[2:])
	}
	if len(after) != 1 || after[0].literal == "" {
		return &Error{where, "wield needs one literal between the name and the object"}
	}
	l.NameEnd, l.Close = after[0].literal, l.CallClose
	return nil
}

// elements completes the layout of calls whose arguments are elements.
func (f *field) elements(l *dialect.Layout, place, where string, open []part, closing []string) error {
	if err := f.named(place); err != nil {
		return err
	}
	before, after, err := around(where, open, "name")
	if err != nil {
		return err
	}
	var lead []string
	for _, p := range before {
		switch {
		case p.literal != "":
			lead = append(lead, p.literal)
		case !p.blanks:
			return &Error{where, "wield needs literals before the name"}
		}
	}
	if len(lead) == 1 {
		if head, tail, ok := strings.Cut(lead[0], "\n"); ok && tail != "" {
			lead = []string{head, tail}
		}
	}
	if len(lead) == 0 || len(lead) > 2 {
		return &Error{where, "wield reads one opener, or one and another behind it"}
	}
	if l.Open = lead[0]; len(lead) == 2 {
		l.Then = lead[1]
	}
	for _, p := range trim(after) {
		l.NameEnd += p.literal
	}
	l.NameEnd = strings.TrimSpace(l.NameEnd)
	if len(closing) == 0 || len(closing) > 2 {
		return &Error{place + ".close", "wield needs the end of a call, and reads one of what stands around"}
	}
	l.CallClose, l.Close = closing[0], closing[len(closing)-1]
	return f.tag(l, place)
}

// tag completes the layout with what the pattern of an element says.
func (f *field) tag(l *dialect.Layout, place string) error {
	where := place + ".content_args.tag_pattern"
	if f.Args.TagPattern == "" {
		return &Error{where, "xml-inline needs it"}
	}
	if err := f.typed(l, place+".content_args.value_parser"); err != nil {
		return err
	}
	list, err := split(where, f.Args.TagPattern)
	if err != nil {
		return err
	}
	before, rest, err := around(where, trim(list), "key")
	if err != nil {
		return err
	}
	between, after, err := around(where, rest, "value")
	if err != nil {
		return err
	}
	if len(before) != 1 || before[0].literal == "" {
		return &Error{where, "wield needs one literal before the key"}
	}
	l.KeyOpen = before[0].literal
	var ends []string
	for _, p := range between {
		if p.literal != "" {
			ends = append(ends, strings.TrimSpace(p.literal))
		}
		l.Newlines = l.Newlines || p.blanks || strings.HasSuffix(p.literal, "\n")
	}
	if len(ends) == 1 { // </arg_key><arg_value> without a gap
		if k := strings.Index(ends[0], "><"); k >= 0 {
			ends = []string{ends[0][:k+1], ends[0][k+1:]}
		}
	}
	switch len(ends) {
	case 2:
		l.KeyEnd, l.ValueOpen, l.Newlines = ends[0], ends[1], false
		if l.NameEnd == "" {
			l.NameEnd = "\n"
		}
	case 1:
		l.KeyEnd = ends[0]
	default:
		return &Error{where, "wield needs one or two literals between the key and the value"}
	}
	if after = trim(after); len(after) != 1 || after[0].literal == "" {
		return &Error{where, "wield needs one literal behind the value"}
	}
	l.ValueClose = strings.TrimSpace(after[0].literal)
	if open, ok := strings.CutSuffix(l.KeyOpen, `"`); ok { // names in attributes
		l.Quoted, l.KeyOpen = true, open
		l.KeyEnd, l.NameEnd = strings.TrimPrefix(l.KeyEnd, `"`), strings.TrimPrefix(l.NameEnd, `"`)
		l.Open, l.Then = strings.TrimSuffix(l.Open, `"`), strings.TrimSuffix(l.Then, `"`)
	}
	if l.NameEnd == "" {
		return &Error{place + ".open_pattern", "nothing ends the name"}
	}
	return nil
}

// typed reads what becomes of a value whose type no schema says.
func (f *field) typed(l *dialect.Layout, where string) error {
	if f.Args.ValueParser == nil {
		return nil
	}
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	if err := strict(where, f.Args.ValueParser, &p); err != nil {
		return err
	}
	switch p.Name {
	case "json":
		l.Typed = true
	case "text", "":
	default:
		return &Error{where, fmt.Sprintf("wield reads values as text or json, not as %s", p.Name)}
	}
	return nil
}

// around parts a list at the capture of this name.
func around(where string, list []part, name string) (before, after []part, err error) {
	k := slices.IndexFunc(list, func(p part) bool { return p.capture == name })
	if k < 0 {
		return nil, nil, &Error{where, fmt.Sprintf("it captures no %s", name)}
	}
	return list[:k], list[k+1:], nil
}

// rawCall is the result of a transform: the shape of the chat completions protocol, or that without its outer part.
type rawCall struct {
	Function  json.RawMessage `json:"function"`
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// made returns where the transform takes the name and the arguments from. A whole object in place of both has them
// as name and arguments.
func (f *field) made(place string) (name, args string, err error) {
	where := place + ".transform"
	if f.Transform == nil {
		return "", "", nil
	}
	raw := f.Transform
	for range 2 {
		var whole string
		if json.Unmarshal(raw, &whole) == nil {
			if whole == "{content}" {
				return "", "", nil
			}
			return "", "", &Error{where, fmt.Sprintf("wield knows no %s there", whole)}
		}
		var c rawCall
		if err := json.Unmarshal(raw, &c); err != nil {
			return "", "", &Error{where, "it makes no call"}
		}
		if c.Function != nil {
			raw = c.Function
			continue
		}
		if json.Unmarshal(c.Name, &name) != nil || json.Unmarshal(c.Arguments, &args) != nil {
			break
		}
		return strings.Trim(name, "{}"), strings.Trim(args, "{}"), nil
	}
	return "", "", &Error{where, "it has no function with a name and arguments"}
}

// keys checks which keys of the JSON are the name and the arguments.
func (f *field) keys(l *dialect.Layout, place string) error {
	name, args, err := f.made(place)
	if err != nil {
		return err
	}
	name, args = strings.TrimPrefix(name, "content."), strings.TrimPrefix(args, "content.")
	if !slices.Contains([]string{"", "name", "tool_name", "function"}, name) {
		return &Error{place + ".transform", fmt.Sprintf("wield reads the name of a tool under name, tool_name or "+
			"function, not under %s", name)}
	}
	if !slices.Contains([]string{"", "arguments", "parameters"}, args) {
		l.Args = args
	}
	return nil
}

// named checks that the name is the captured one, and the content the arguments.
func (f *field) named(place string) error {
	name, args, err := f.made(place)
	if err != nil {
		return err
	}
	if name != "name" || args != "content" {
		return &Error{place + ".transform", "the name has to be the capture of it, and the content the arguments"}
	}
	return nil
}
