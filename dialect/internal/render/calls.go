// Package render writes calls, definitions of tools and results as the text that models of a family know, and reads
// such results back.
package render

import (
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/dialect/internal/form"
)

// A Row says how one dialect is written. The zero values of its fields are right for most dialects, so that a row
// names little more than the text around a call.
type Row struct {
	One    bool   // a message holds one call and nothing else
	Head   string // before all calls of a message
	Open   string // before each call
	Sep    string // between two calls; "": a newline
	Joined bool   // nothing stands between two calls
	End    string // after each call
	Tail   string // after all calls of a message

	// Call writes what stands between open and end. It returns in its second value why it cannot.
	Call func(dst []byte, c *chat.Call) ([]byte, string)
	// Tools writes definitions; nil: a list of JSON objects.
	Tools func(dst []byte, tools []chat.Tool) []byte
	// Results is the frame around each result; nil: ResultsLabel.
	Results *Frame
}

// AppendCalls appends one message's worth of calls. If it cannot, it says of which tool's call, if one is to blame,
// and why.
func (row *Row) AppendCalls(dst []byte, calls []chat.Call) (out []byte, name, why string) {
	if row.One && len(calls) > 1 {
		return dst, "", "one message holds only one call"
	}
	dst = append(dst, row.Head...)
	for i := range calls {
		if i > 0 && !row.Joined {
			dst = append(dst, or(row.Sep, "\n")...)
		}
		dst = append(dst, row.Open...)
		c := calls[i]
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		why := "the arguments are no JSON object"
		if IsObject(c.Arguments) {
			dst, why = row.Call(dst, &c)
		}
		if why == "" && c.Name == "" {
			why = "it has no name"
		}
		if why != "" {
			return dst, c.Name, why
		}
		dst = append(dst, row.End...)
	}
	return append(dst, row.Tail...), "", ""
}

func or(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

func IsObject(raw string) bool {
	return strings.HasPrefix(strings.TrimLeft(raw, " \t\r\n"), "{") && json.Valid([]byte(raw))
}

// The JSON shapes. The arguments stay as they are, byte for byte: the JSON grammar decides where they end.

// object writes the rest of an object with the name and the arguments of a call.
func object(dst []byte, before string, c *chat.Call, between string) []byte {
	dst = append(dst, before...)
	dst = Quote(dst, c.Name)
	dst = append(dst, between...)
	dst = append(dst, c.Arguments...)
	return append(dst, '}')
}

// CallObject returns a writer of an object, from what stands before the name and between that and the arguments.
func CallObject(before, between string) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) { return object(dst, before, c, between), "" }
}

// CallName writes the object that most families write.
func CallName(dst []byte, c *chat.Call) ([]byte, string) {
	return object(dst, `{"name": `, c, `, "arguments": `), ""
}

func CallCohere(dst []byte, c *chat.Call) ([]byte, string) {
	dst = append(dst, '{')
	if c.ID != "" {
		dst = append(dst, `"tool_call_id": `...)
		dst = Quote(dst, c.ID)
		dst = append(dst, `, `...)
	}
	return object(dst, `"tool_name": `, c, `, "parameters": `), ""
}

func CallOpenAI(dst []byte, c *chat.Call) ([]byte, string) {
	dst = append(dst, '{')
	if c.ID != "" {
		dst = append(dst, `"id":`...)
		dst = Quote(dst, c.ID)
		dst = append(dst, ',')
	}
	dst = append(dst, `"type":"function","function":{"name":`...)
	dst = Quote(dst, c.Name)
	dst = append(dst, `,"arguments":`...)
	dst = Quote(dst, c.Arguments)
	return append(dst, `}}`...), ""
}

// CallTag keeps the layout of the Tool Calling Protocol: one key a line.
func CallTag(dst []byte, c *chat.Call) ([]byte, string) {
	dst = append(dst, "{\n  \"tool\": "...)
	dst = Quote(dst, c.Name)
	dst = append(dst, ",\n  \"args\": "...)
	dst = append(dst, c.Arguments...)
	if c.Reasoning != "" {
		dst = append(dst, ",\n  \"reasoning\": "...)
		dst = Quote(dst, c.Reasoning)
	}
	return append(dst, "\n}"...), ""
}

// CallBare writes a name, and the arguments on the next line. Their first key is what shows that the two are a call.
func CallBare(dst []byte, c *chat.Call) ([]byte, string) {
	dst, why := CallHeader("\n")(dst, c)
	first := true
	Each(c.Arguments, func(key, _ string) {
		if first && len(key) > maxName {
			why = "the name of the first argument is too long"
		}
		first = false
	})
	return dst, why
}

// CallHeader returns a writer of a name, what stands between, and the arguments.
func CallHeader(between string) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in a header"
		}
		dst = append(append(dst, c.Name...), between...)
		return append(dst, strings.TrimLeft(c.Arguments, " \t\r\n")...), ""
	}
}

// CallCounted returns the same for an id that holds the name and counts the calls.
func CallCounted(between string) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		return CallHeader(":"+strconv.Itoa(c.Index)+between)(dst, c)
	}
}

// The forms with one argument a line or an element.

func CallYAML(dst []byte, c *chat.Call) ([]byte, string) {
	if !IsName(c.Name) {
		return dst, "the name cannot stand on a TOOL line"
	}
	dst = append(dst, "TOOL: "...)
	dst = append(dst, c.Name...)
	dst = append(dst, "\nARGS:"...)
	why, empty := "", true
	Each(c.Arguments, func(key, value string) {
		if !IsName(key) {
			why = "the argument's name " + strconv.Quote(key) + " is no plain key"
			return
		}
		empty = false
		dst = append(dst, "\n  "...)
		dst = append(dst, key...)
		dst = append(dst, ": "...)
		if s, ok := Unquote(value); ok && isPlain(s) {
			dst = append(dst, s...)
		} else if ok {
			dst = Quote(dst, s)
		} else {
			dst = compact(dst, value, asWritten)
		}
	})
	if empty {
		dst = append(dst, " {}"...)
	}
	return dst, why
}

// entities writes text so that it stands in an element. Text without the signs of markup stays as it is.
func entities(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}

// CallTags returns a writer of a name and an element for each argument.
func CallTags(f *form.Tags) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in a tag"
		}
		switch end := or(f.TagEnd, f.NameEnd); {
		case f.Bare:
			dst = append(append(dst, c.Name...), f.NameClose...)
		case f.Typed != "":
			dst = append(append(append(dst, f.CallOpen...), '"'), c.Name...)
			dst = append(strconv.AppendInt(append(dst, `" index="`...), int64(c.Index+1), 10), '"')
			dst = append(dst, end...)
		case f.Quoted:
			dst = append(append(append(append(append(dst, f.CallOpen...), '"'), c.Name...), '"'), end...)
		default:
			dst = append(append(append(dst, f.CallOpen...), c.Name...), end...)
		}
		why := ""
		Each(c.Arguments, func(key, value string) {
			if !IsName(key) {
				why = "the argument's name " + strconv.Quote(key) + " cannot stand in a tag"
				return
			}
			s, isText := Unquote(value)
			if tag := endsWithin(s, f); tag != "" {
				why = "the value of " + key + " holds " + tag
			}
			if (key == f.Unwrap[0] || key == f.Unwrap[1]) && key != "" {
				why = "an argument named " + key + " would be taken for all of them"
			}
			dst = keyTag(append(dst, indent(f)...), key, value, isText, f)
			switch {
			case isText && f.Entities:
				dst = entities(dst, s)
			case isText && f.Strings:
				dst = Quote(dst, s)
			case isText:
				dst = append(dst, s...)
			default:
				dst = compact(dst, value, strict)
			}
			if f.Newlines {
				dst = append(dst, '\n')
			}
			if dst = append(dst, f.ParamClose...); f.Elements {
				dst = append(append(dst, key...), '>')
			}
		})
		if indent(f) != "" {
			dst = append(dst, '\n')
		}
		if !f.Bare {
			dst = append(dst, f.CallClose...)
		}
		return dst, why
	}
}

// indent returns what stands before each parameter, if that has a line of its own.
func indent(f *form.Tags) string {
	switch {
	case f.Entities:
		return "\n  "
	case f.Alone || !f.Bare && !f.Quoted:
		return "\n"
	}
	return ""
}

// keyTag writes what stands before a value.
func keyTag(dst []byte, key, value string, isText bool, f *form.Tags) []byte {
	dst = append(dst, f.ParamOpen...)
	switch end := or(f.TagEnd, f.ParamEnd); {
	case !f.Quoted || f.Elements:
		dst = append(append(append(dst, key...), end...), f.ValueOpen...)
	default:
		if f.Loose {
			dst = append(dst, " name="...)
		}
		dst = append(append(append(dst, '"'), key...), '"')
		if f.Attributes {
			dst = append(strconv.AppendBool(append(dst, ` string="`...), isText), '"')
		}
		if f.Typed != "" {
			dst = append(append(append(dst, ` type="`...), typeOf(value)...), '"')
		}
		dst = append(dst, end...)
	}
	if f.Newlines {
		dst = append(dst, '\n')
	}
	return dst
}

// endsWithin returns a tag in a text that would end the value that it is, or "". Nothing between tags is escaped.
func endsWithin(s string, f *form.Tags) string {
	if f.Entities {
		return ""
	}
	tags := [...]string{f.ParamOpen, f.ParamClose, f.CallOpen, f.CallClose, f.ValueOpen}
	for _, tag := range tags {
		if tag != "" && strings.Contains(s, strings.TrimSuffix(tag, ">")) {
			return tag
		}
	}
	switch {
	case f.Newlines && strings.HasSuffix(s, "\r"):
		return "half of a line break at its end"
	case f.Cdata && strings.Contains(s, "<![CDATA["):
		return "a CDATA section"
	}
	return ""
}

// typeOf returns the name of the type of a JSON value.
func typeOf(value string) string {
	switch strings.TrimSpace(value)[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// The forms of call syntax.

// CallStatement writes f(k=v), or f({..}) where a key is no identifier.
func CallStatement(dst []byte, c *chat.Call) ([]byte, string) {
	out, why := CallKeywords(dst, c)
	if why == "" || !IsName(c.Name) {
		return out, why
	}
	dst = append(dst, c.Name...)
	dst = append(dst, '(')
	dst = compact(dst, c.Arguments, asWritten)
	return append(dst, ')'), ""
}

func CallKeywords(dst []byte, c *chat.Call) ([]byte, string) {
	if !IsName(c.Name) {
		return dst, "the name is no identifier"
	}
	start := len(dst)
	dst = append(dst, c.Name...)
	dst = append(dst, '(')
	why, n := "", 0
	Each(c.Arguments, func(key, value string) {
		if !isIdentifier(key) {
			why = "the argument's name " + strconv.Quote(key) + " is no identifier"
			return
		}
		if n++; n > 1 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, key...)
		dst = append(dst, '=')
		dst = compact(dst, value, python)
	})
	if why != "" {
		return dst[:start], why
	}
	return append(dst, ')'), ""
}

// maxName limits the names that are written. Readers take no more than maxHeader, with what stands around it.
const maxName = 200

// IsName reports whether s can stand bare in a tag, an attribute or before a parenthesis.
func IsName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '_', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && (c == '.' || c == '-' || c == ':' || '0' <= c && c <= '9'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// isIdentifier reports whether s is a Python identifier. Keywords are let through as argument names, since every
// reader of calls takes them.
func isIdentifier(s string) bool { return IsName(s) && !strings.ContainsAny(s, ".-:") }

// isPlain reports whether s is a YAML plain scalar that nothing takes for another type.
func isPlain(s string) bool {
	if s == "" || len(s) > 200 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '/':
		case i > 0 && ('0' <= c && c <= '9' || c == '.' || c == '-'):
		case i > 0 && i < len(s)-1 && c == ' ' && s[i-1] != ' ':
		default:
			return false
		}
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "none", "nil", "nan", "inf", "infinity", "y", "n":
		return false
	}
	return true
}
