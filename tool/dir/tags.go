package dir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// An Error says where a file of tools is wrong.
type Error struct {
	File string
	Line int // from 1; 0: the file as a whole
	Msg  string

	cause error
}

// Unwrap returns what went wrong below, if it is known.
func (e *Error) Unwrap() error { return e.cause }

// Error names the file and the line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// Limits of what is read of a file for its tags.
const (
	maxTagLines = 200
	maxTagLine  = 4 << 10
)

// A parameter is one argument of a tool.
type parameter struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
}

var types = []string{"string", "integer", "number", "boolean", "array", "object"}

// A reader reads tags.
type reader struct {
	file     string
	line     int
	t        *tool.Tool
	params   []string // names in the order of the file
	schema   map[string]parameter
	required []string
	batch    bool // several calls of a turn run at once
}

// readTags makes a tool of the tags of a file; nil if it has none.
func readTags(file, base string, src io.Reader) (*tool.Tool, error) {
	r := &reader{file: file, t: &tool.Tool{Definition: chat.Tool{Name: base}}, schema: map[string]parameter{}}
	found := false
	scan := bufio.NewScanner(io.LimitReader(src, maxTagLines*maxTagLine))
	scan.Buffer(nil, maxTagLine)
	for scan.Scan() && r.line < maxTagLines {
		r.line++
		text, ok := comment(scan.Text())
		if !ok {
			if strings.TrimSpace(scan.Text()) == "" || r.line == 1 {
				continue // the line that names the interpreter
			}
			break // the tags stand before everything else
		}
		is, err := r.tag(r.line, text)
		if err != nil {
			return nil, err
		}
		found = found || is
	}
	switch {
	case !found:
		return nil, nil
	case scan.Err() != nil:
		return nil,
			&Error{File: file, Line: r.line + 1, Msg: fmt.Sprintf("the line is longer than %d bytes", maxTagLine)}
	case r.line >= maxTagLines:
		return nil,
			&Error{File: file, Line: r.line, Msg: fmt.Sprintf("the comments at the top go on beyond line %d",
				maxTagLines)}
	}
	return r.finish()
}

// tag reads the text of a comment, and reports whether it is a tag.
func (r *reader) tag(line int, text string) (bool, error) {
	key, value, ok := strings.Cut(text, ":")
	word, rest, _ := strings.Cut(strings.TrimSpace(key), " ")
	read := tags[word]
	if near := nearTag(word); ok && read == nil && near != "" {
		return false,
			&Error{File: r.file, Line: line, Msg: fmt.Sprintf("there is no tag %q; did you mean %q?", word, near)}
	}
	if !ok || read == nil || r.schema == nil && schemaTags[word] {
		return false, nil // a comment
	}
	if msg := read(r, strings.TrimSpace(rest), strings.TrimSpace(value)); msg != "" {
		return false, &Error{File: r.file, Line: line, Msg: msg}
	}
	return true, nil
}

// schemaTags are the tags that say what stands in the file itself where it is in Python.
var schemaTags = map[string]bool{"tool": true, "description": true, "param": true}

// comment returns the text of a comment line.
func comment(line string) (string, bool) {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"#!", "#", "//", "--"} {
		if text, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(text), mark != "#!"
		}
	}
	return "", false
}

// tags reads the tags of a comment. Each takes what stands between its word and the colon, and behind the
// colon, and returns what is wrong.
var tags = map[string]func(r *reader, about, value string) string{
	"tool":        func(r *reader, _, value string) string { r.t.Definition.Name = value; return "" },
	"description": (*reader).description,
	"param":       (*reader).param,
	"path":        (*reader).path,
	"url":         func(r *reader, _, value string) string { return r.fact(&r.t.Facts.URLs, value) },
	"timeout":     (*reader).timeout,
	"cache": func(r *reader, _, value string) string {
		return span(value, func(d time.Duration) { r.t.Cache.TTL = d })
	},
	"debounce": func(r *reader, _, value string) string {
		return span(value, func(d time.Duration) { r.t.Debounce = d })
	},
	"batch": func(r *reader, _, value string) string { return truth(value, func(yes bool) { r.batch = yes }) },
	"changes": func(r *reader, _, value string) string {
		return truth(value, func(yes bool) { r.t.Facts.ReadOnly = !yes })
	},
	"network": func(r *reader, _, value string) string {
		return truth(value, func(yes bool) { r.t.Facts.Network = yes })
	},
	"idempotent": func(r *reader, _, value string) string {
		return truth(value, func(yes bool) { r.t.Idempotent = yes })
	},
	"dangerous": func(r *reader, _, value string) string {
		return truth(value, func(yes bool) { r.t.Dangerous = yes })
	},
}

// nearTag returns the tag that a word is one letter away from, or "".
func nearTag(word string) string {
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		if len(word) > 2 && word != tag && oneOff(word, tag) {
			return tag
		}
	}
	return ""
}

// oneOff reports whether one letter more, less, other, or swapped with the next makes b of a.
func oneOff(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 1:
		return a[i:] == b[i+1:]
	case 0:
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i < len(a) && a[i+1:] == b[i+1:] || swapped
	}
	return false
}

func (r *reader) description(_, value string) string {
	d := &r.t.Definition.Description
	*d = strings.TrimSpace(*d + " " + value)
	return ""
}

// param reads "NAME TYPE [required]".
func (r *reader) param(about, value string) string {
	words := strings.Fields(about)
	switch {
	case len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "required":
		return `a parameter is told as "param NAME TYPE: meaning", or "param NAME TYPE required: meaning"`
	case !isName(words[0]):
		return fmt.Sprintf("%q is no name for a parameter: letters, digits and underscores", words[0])
	case !slices.Contains(types, words[1]):
		return fmt.Sprintf("there is no type %q; there are %s", words[1], strings.Join(types, ", "))
	case slices.Contains(r.params, words[0]):
		return fmt.Sprintf("the parameter %q stands twice", words[0])
	}
	r.params = append(r.params, words[0])
	r.schema[words[0]] = parameter{words[1], value}
	if len(words) == 3 {
		r.required = append(r.required, words[0])
	}
	return ""
}

// isName reports whether a name can be part of that of a variable.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || i > 0 && '0' <= c && c <= '9') {
			return false
		}
	}
	return s != ""
}

// path reads "path OP: NAME": an argument that is a path, and what is done to it.
func (r *reader) path(about, value string) string {
	op := policy.Op(about)
	if !slices.Contains([]policy.Op{policy.OpRead, policy.OpWrite, policy.OpList, policy.OpDelete}, op) {
		return `a path is told as "path read: NAME"; there are read, write, list and delete`
	}
	var names []string
	if msg := r.fact(&names, value); msg != "" {
		return msg
	}
	r.t.Facts.Paths = append(r.t.Facts.Paths, tool.PathFact{Argument: value, Op: op})
	return ""
}

// fact adds the name of a parameter that is declared before.
func (r *reader) fact(names *[]string, name string) string {
	if !slices.Contains(r.params, name) {
		return fmt.Sprintf("there is no parameter %q before this line", name)
	}
	*names = append(*names, name)
	return ""
}

func (r *reader) timeout(_, value string) string {
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second || d > 300*time.Second {
		return fmt.Sprintf("timeout %q: it is from 1s to 300s", value)
	}
	r.t.Limits.Timeout = d
	return ""
}

// span reads a time that is more than none.
func span(value string, set func(time.Duration)) string {
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return fmt.Sprintf("%q is no time such as 10m or 500ms", value)
	}
	set(d)
	return ""
}

func truth(value string, set func(bool)) string {
	switch value {
	case "yes", "true":
		set(true)
	case "no", "false":
		set(false)
	default:
		return fmt.Sprintf("%q is neither yes nor no", value)
	}
	return ""
}

// finish writes the schema.
func (r *reader) finish() (*tool.Tool, error) {
	if r.t.Definition.Description == "" {
		return nil,
			&Error{File: r.file, Line: 0,
				Msg: `it has no line "# description: ..", without which no model knows what it is for`}
	}
	raw, err := json.Marshal(struct {
		Type       string               `json:"type"`
		Properties map[string]parameter `json:"properties"`
		Required   []string             `json:"required,omitempty"`
		More       bool                 `json:"additionalProperties"`
	}{"object", r.schema, r.required, false})
	if err != nil {
		return nil, &Error{File: r.file, Line: 0, Msg: err.Error()}
	}
	r.t.Definition.Parameters = raw
	if r.batch {
		r.t.Batch = &program{file: r.file}
	}
	return r.t, nil
}
