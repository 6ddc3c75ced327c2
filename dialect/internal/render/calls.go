// Package render writes calls, definitions of tools and results as the text that models of a family know, and reads such results
// back.
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

// AppendCalls appends one message's worth of calls. If it cannot, it says of which tool's call, if one is to blame, and why.
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

func CallName(dst []byte, c *chat.Call) ([]byte, string) {
	return object(dst, `{"name": `, c, `, "arguments": `), ""
}

func CallParametersKey(dst []byte, c *chat.Call) ([]byte, string) {
	return object(dst, `{"name": `, c, `, "parameters": `), ""
}

func CallKeyed(dst []byte, c *chat.Call) ([]byte, string) {
	return object(dst, `{`, c, `: `), ""
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

func CallFunction(dst []byte, c *chat.Call) ([]byte, string) {
	return object(dst, `{"function": `, c, `, "arguments": `), ""
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
		dst = append(dst, c.Name...)
		dst = append(dst, between...)
		return append(dst, strings.TrimLeft(c.Arguments, " \t\r\n")...), ""
	}
}

// CallCounted writes the id of Kimi's calls, which counts them, and the arguments.
func CallCounted(dst []byte, c *chat.Call) ([]byte, string) {
	if !IsName(c.Name) {
		return dst, "the name cannot stand in a header"
	}
	dst = append(dst, c.Name...)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, int64(c.Index), 10)
	dst = append(dst, "<|tool_call_argument_begin|>"...)
	return append(dst, strings.TrimLeft(c.Arguments, " \t\r\n")...), ""
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

func CallXML(dst []byte, c *chat.Call) ([]byte, string) {
	if !IsName(c.Name) {
		return dst, "the name cannot stand in an attribute"
	}
	dst = append(dst, `<tool name="`...)
	dst = append(dst, c.Name...)
	dst = append(dst, "\">\n"...)
	why := ""
	Each(c.Arguments, func(key, value string) {
		if !IsName(key) {
			why = "the argument's name " + strconv.Quote(key) + " cannot stand in an attribute"
			return
		}
		dst = append(dst, `  <arg name="`...)
		dst = append(dst, key...)
		dst = append(dst, `">`...)
		if s, ok := Unquote(value); ok {
			dst = entities(dst, s)
		} else {
			dst = compact(dst, value, strict)
		}
		dst = append(dst, "</arg>\n"...)
	})
	return append(dst, "</tool>"...), why
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

// parameterTags are what ends a value between parameter tags, which have no escapes.
var parameterTags = [...]string{"</parameter", "</function", "</tool_call", "<parameter", "<function", "<tool_call"}

func CallParameters(dst []byte, c *chat.Call) ([]byte, string) {
	return parameters(dst, c, "\n")
}

// CallVerbatim is CallParameters with nothing but the value between the tags of a parameter.
func CallVerbatim(dst []byte, c *chat.Call) ([]byte, string) { return parameters(dst, c, "") }

// parameters writes parameter tags, with what stands on either side of a value.
func parameters(dst []byte, c *chat.Call, around string) ([]byte, string) {
	if !IsName(c.Name) {
		return dst, "the name cannot stand in a tag"
	}
	dst = append(dst, "<function="...)
	dst = append(dst, c.Name...)
	dst = append(dst, ">\n"...)
	why := ""
	Each(c.Arguments, func(key, value string) {
		if !IsName(key) {
			why = "the argument's name " + strconv.Quote(key) + " cannot stand in a tag"
			return
		}
		dst = append(dst, "<parameter="...)
		dst = append(dst, key...)
		dst = append(append(dst, '>'), around...)
		if s, ok := Unquote(value); ok {
			for _, tag := range parameterTags {
				if strings.Contains(s, tag) {
					why = "the value of " + key + " holds " + tag
				}
			}
			if strings.HasSuffix(s, "\r") {
				why = "the value of " + key + " ends in half of a line break"
			}
			dst = append(dst, s...)
		} else {
			dst = compact(dst, value, strict)
		}
		dst = append(append(dst, around...), "</parameter>\n"...)
	})
	return append(dst, "</function>"...), why
}

// CallInvoke returns a writer of an element for the call and one for each argument.
func CallInvoke(f *form.Tags) func(dst []byte, c *chat.Call) ([]byte, string) {
	param := f.ParamOpen
	if f.Loose {
		param += " name="
	}
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in an attribute"
		}
		dst = append(append(append(dst, f.CallOpen...), '"'), c.Name...)
		dst = append(dst, `">`...)
		why := ""
		Each(c.Arguments, func(key, value string) {
			if !IsName(key) {
				why = "the argument's name " + strconv.Quote(key) + " cannot stand in an attribute"
				return
			}
			dst = append(append(append(append(dst, param...), '"'), key...), '"')
			s, ok := Unquote(value)
			if f.Attributes {
				dst = append(strconv.AppendBool(append(dst, ` string="`...), ok), '"')
			}
			dst = append(dst, '>')
			for _, tag := range [...]string{f.ParamOpen, f.ParamClose, f.CallOpen, f.CallClose} {
				if strings.Contains(s, strings.TrimSuffix(tag, ">")) {
					why = "the value of " + key + " holds " + tag
				}
			}
			if (key == f.Unwrap[0] || key == f.Unwrap[1]) && key != "" {
				why = "an argument named " + key + " would be taken for all of them"
			}
			if f.Cdata && strings.Contains(s, "<![CDATA[") {
				why = "the value of " + key + " holds a CDATA section"
			}
			if ok {
				dst = append(dst, s...)
			} else {
				dst = compact(dst, value, strict)
			}
			dst = append(dst, f.ParamClose...)
		})
		return append(dst, f.CallClose...), why
	}
}

// CallElements returns a writer of an element for the call, one for each argument, and more inside for objects and lists. Their
// tags have a prefix.
func CallElements(f *form.Tags, prefix string) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in an attribute"
		}
		dst = append(append(append(dst, f.CallOpen...), '"'), c.Name...)
		dst = append(dst, `">`...)
		why := ""
		Each(c.Arguments, func(key, value string) {
			if !IsName(key) {
				why = "the argument's name " + strconv.Quote(key) + " cannot be that of an element"
				return
			}
			dst = append(append(append(dst, f.ParamOpen...), key...), '>')
			if s, ok := Unquote(value); ok {
				if strings.Contains(s, prefix) {
					why = "the value of " + key + " holds the prefix of its tags"
				}
				dst = append(dst, s...)
			} else {
				dst = compact(dst, value, strict) // the reader takes JSON in an element for what it is
			}
			dst = append(append(append(dst, f.ParamClose...), key...), '>')
		})
		return append(dst, f.CallClose...), why
	}
}

// CallPairs returns a writer of a name and elements for each key and value.
func CallPairs(f *form.Tags) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand before a tag"
		}
		dst = append(append(dst, c.Name...), f.NameClose...)
		if f.Alone {
			dst = append(dst, '\n')
		}
		why := ""
		Each(c.Arguments, func(key, value string) {
			if !IsName(key) {
				why = "the argument's name " + strconv.Quote(key) + " cannot stand in an element"
				return
			}
			dst = append(append(append(append(dst, f.ParamOpen...), key...), f.ParamEnd...), f.ValueOpen...)
			s, ok := Unquote(value)
			for _, tag := range [...]string{f.ParamOpen, f.ValueOpen, f.ParamClose, f.CallOpen, f.CallClose} {
				if strings.Contains(s, tag[:len(tag)-1]) {
					why = "the value of " + key + " holds " + tag
				}
			}
			switch {
			case ok && f.Strings:
				dst = Quote(dst, s)
			case ok:
				dst = append(dst, s...)
			default:
				dst = compact(dst, value, strict)
			}
			dst = append(dst, f.ParamClose...)
			if f.Alone {
				dst = append(dst, '\n')
			}
		})
		return dst, why
	}
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

// maxName is how long a name is at most that is written. Readers take no more than maxHeader, with what stands around it.
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

// CallNamed returns a writer of an element for the call and one for each argument, whose names stand in the tags.
func CallNamed(f *form.Tags) func(dst []byte, c *chat.Call) ([]byte, string) {
	around := ""
	if f.Newlines {
		around = "\n"
	}
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in a tag"
		}
		dst = append(append(append(append(dst, f.CallOpen...), c.Name...), f.NameEnd...), '\n')
		why := ""
		Each(c.Arguments, func(key, value string) {
			if !IsName(key) {
				why = "the argument's name " + strconv.Quote(key) + " cannot stand in a tag"
				return
			}
			dst = append(append(append(append(dst, f.ParamOpen...), key...), f.ParamEnd...), around...)
			if s, ok := Unquote(value); ok {
				for _, tag := range [...]string{f.ParamOpen, f.ParamClose, f.CallOpen, f.CallClose} {
					if strings.Contains(s, tag) {
						why = "the value of " + key + " holds " + tag
					}
				}
				dst = append(dst, s...)
			} else {
				dst = compact(dst, value, strict)
			}
			dst = append(append(append(dst, around...), f.ParamClose...), '\n')
		})
		return append(dst, f.CallClose...), why
	}
}

// CallIdentified returns a writer of an id that holds the name and a number, what stands between, and the arguments.
func CallIdentified(between string) func(dst []byte, c *chat.Call) ([]byte, string) {
	return func(dst []byte, c *chat.Call) ([]byte, string) {
		if !IsName(c.Name) {
			return dst, "the name cannot stand in a header"
		}
		dst = append(append(append(dst, "functions."...), c.Name...), ':')
		dst = append(strconv.AppendInt(dst, int64(c.Index), 10), between...)
		return append(dst, strings.TrimLeft(c.Arguments, " \t\r\n")...), ""
	}
}
