package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"wield/chat"
	"wield/prompt"
	"wield/schema"
	"wield/schema/shape"
)

// maxSchemas bounds the schemas of a request, in bytes: one of all the length that a request may have would
// take seconds to compile.
const maxSchemas = 2 << 20

// maxValues bounds the values in them: an enum of a million numbers takes hundreds of bytes for each when it is
// compiled.
const maxValues = 100_000

// tooLarge says what of schemas, which are not compiled yet, is more than is taken; "" if nothing is.
func tooLarge(schemas ...json.RawMessage) string {
	size := 0
	for _, s := range schemas {
		size += len(s)
	}
	if size > maxSchemas {
		return fmt.Sprintf("are %d bytes together, more than the %d that are taken", size, maxSchemas)
	}
	values := 0
	for _, s := range schemas {
		values += valuesIn(s)
	}
	if values > maxValues {
		return fmt.Sprintf("hold %d values together, more than the %d that are taken", values, maxValues)
	}
	return ""
}

// tooLargeIn is tooLarge for the parameters of tools.
func tooLargeIn(tools []chat.Tool) string {
	size := 0
	for i := range tools {
		size += len(tools[i].Parameters)
	}
	var large []json.RawMessage
	for i := 0; i < len(tools) && size/2 > maxValues; i++ { // each value and its comma take two bytes at least
		large = append(large, tools[i].Parameters)
	}
	return tooLarge(large...)
}

// valuesIn counts the values in a text of JSON: what brackets, braces and commas outside of texts begin.
func valuesIn(text []byte) (n int) {
	inside := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == '{' || c == '[' || c == ','):
			n++
		}
	}
	return n
}

// maxPatterns bounds the patterns in them, in instructions: they can be long when they are compiled, however
// short they are written.
const maxPatterns = 200_000

// maxName limits the name of a tool, in bytes: instructions repeat it. Protocols take no more than 128.
const maxName = 1024

// codeInvalidSchema is the [chat.Error] code for a tool whose parameters are no JSON Schema.
const codeInvalidSchema = "invalid_function_parameters"

// A tool is one that the model may call.
type tool struct {
	name   string
	schema *schema.Schema // that arguments are held to
	shape  *shape.Shape   // that they are read by
	hidden bool           // the model is not shown it

	syntax, definition string // of the grammar that the text of a freeform tool follows
}

// hide takes the tools that the model is not shown out of the request. Their calls are read all the same.
func (r *run) hide() {
	if !slices.ContainsFunc(r.req.Tools, isHidden) {
		return
	}
	req := *r.req
	req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), isHidden)
	r.req = &req
}

func isHidden(t chat.Tool) bool { return t.Hidden }

// offered returns the tools whose calls are read, with their schemas: those that the model may call, and with
// Choice.Read those that it may not.
func (r *run) offered() ([]tool, error) {
	offered, err := prompt.Offered(r.req)
	if err != nil {
		return nil, err
	}
	if r.req.Choice.Mode == chat.ChoiceNone && r.req.Choice.Read {
		offered = r.req.Tools
	}
	offered = clientRun(offered)
	what := tooLargeIn(offered)
	if what != "" && slices.ContainsFunc(offered, isHidden) { // those are of no use unless the model guesses one
		offered = slices.DeleteFunc(slices.Clone(offered), isHidden)
		what = tooLargeIn(offered)
	}
	if what != "" {
		return nil, &chat.Error{Kind: chat.ErrBadRequest, Param: "tools",
			Message: "the parameters of the tools " + what + ": offer fewer tools, or smaller schemas"}
	}
	tools := make([]tool, len(offered))
	patterns := 0
	for i := range offered {
		t := &offered[i]
		if err := r.ctx.Err(); err != nil {
			return nil, err // schemas can be large, and nobody waits any more
		}
		if len(t.Name) > maxName {
			return nil, chat.Errorf(chat.ErrBadRequest, "tools: the name %.40s... has %d bytes, and may have %d",
				t.Name, len(t.Name), maxName)
		}
		s, err := r.o.Schemas.Compile(t.Parameters)
		if err == nil {
			tools[i] = tool{name: t.Name, schema: s, shape: s.Shape()}
		} else if tools[i], err = r.relaxed.tool(r, t, err); err != nil {
			return nil, r.schemaError(t.Name, err)
		}
		if patterns += tools[i].schema.Patterns(); patterns > maxPatterns {
			return nil, &chat.Error{Kind: chat.ErrBadRequest, Code: codeInvalidSchema, Param: "tools",
				Message: "the patterns in the parameters of the tools are too large together: offer fewer tools, or " +
					"shorten the patterns and repeat less in them"}
		}
		tools[i].hidden = t.Hidden
	}
	textGrammars(tools, offered)
	return tools, nil
}

// A relaxed keeps tools whose schemas have patterns that need backtracking. The zero value is ready, and safe
// for concurrent use.
type relaxed struct {
	mu    sync.Mutex
	tools map[string]relaxedTool // by the text of the schema
}

// A relaxedTool is a tool with the places of the references that lead nowhere.
type relaxedTool struct {
	tool
	open []string
}

// maxRelaxed limits the tools of a relaxed; then it begins anew.
const maxRelaxed = 64

// tool returns t with what can be applied of its schema, which does not compile because of err. What cannot
// is logged when the schema is met for the first time. The error is err if there is more to it than patterns.
func (x *relaxed) tool(r *run, t *chat.Tool, err error) (tool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known, ok := x.tools[string(t.Parameters)]; ok {
		known.name = t.Name
		r.noteOpen(t.Name, known.open)
		return known.tool, nil
	}
	s, skipped := withoutPatterns(r.o.Schemas, t.Parameters, err)
	if s == nil {
		return tool{}, err
	}
	if r.o.Log != nil {
		r.o.Log.LogAttrs(r.ctx, slog.LevelWarn,
			"a tool's arguments are not held to patterns that need backtracking, or references that lead nowhere",
			slog.String("tool", t.Name), slog.Any("places", skipped))
	}
	if x.tools == nil || len(x.tools) >= maxRelaxed {
		x.tools = make(map[string]relaxedTool)
	}
	open := slices.DeleteFunc(skipped, func(place string) bool { return !strings.HasSuffix(place, refEnd) })
	r.noteOpen(t.Name, open)
	made := tool{name: t.Name, schema: s, shape: r.o.Schemas.Shape(t.Parameters)}
	x.tools[string(t.Parameters)] = relaxedTool{made, open}
	return made, nil
}

// noteOpen tells of the places in a tool's parameters at which anything goes.
func (r *run) noteOpen(name string, open []string) {
	for _, place := range open {
		r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: "tools." + name, Before: place})
	}
}

// isOpen reports whether a note is one of noteOpen's.
func isOpen(n chat.NoteDetail) bool { return strings.HasSuffix(n.Before, refEnd) }

// refEnd ends the places of references.
const refEnd = "/$ref"

// schemaError says which schema of the request is broken, and where.
func (r *run) schemaError(name string, err error) error {
	param := "tools"
	for i := range r.req.Tools {
		if r.req.Tools[i].Name == name {
			param = "tools[" + strconv.Itoa(i) + "].function.parameters"
			break
		}
	}
	return &chat.Error{Kind: chat.ErrBadRequest, Code: codeInvalidSchema, Param: param, Cause: err,
		Message: fmt.Sprintf("the parameters of the tool %q are no JSON Schema: %s", name, listProblems(err))}
}

// maxPlaces limits the problems of a schema that an error lists.
const maxPlaces = 16

// listProblems lists what is wrong with a schema.
func listProblems(err error) string {
	found := problems(err)
	if len(found) == 0 {
		return err.Error()
	}
	var places []string
	for _, e := range found[:min(len(found), maxPlaces)] {
		place := e.Message
		if e.Pointer != "" {
			place = "at " + e.Pointer + ": " + place
		}
		places = append(places, place)
	}
	if len(found) > maxPlaces {
		places = append(places, "and more")
	}
	return strings.Join(places, "; ")
}

// problems returns what err, of package schema, lists; nil if it is anything else.
func problems(err error) []*schema.Error {
	if e, ok := err.(*schema.Error); ok {
		return []*schema.Error{e}
	}
	var list []*schema.Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			var e *schema.Error
			if !errors.As(err, &e) {
				return nil
			}
			list = append(list, e)
		}
	}
	return list
}

// maxRelaxedBytes limits a schema that is written and compiled once more.
const maxRelaxedBytes = 256 << 10

// withoutPatterns compiles a schema without its patterns that need backtracking, if these are all that is
// wrong with it, and if err lists all of them. They are good schemas that other implementations accept, and refusing
// the request would help nobody. It returns the places of the patterns, and a nil schema if something else is wrong.
func withoutPatterns(schemas *schema.Cache, raw json.RawMessage, err error) (*schema.Schema, []string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var root any
	found := problems(err)
	if len(found) == 0 || len(raw) > maxRelaxedBytes || d.Decode(&root) != nil {
		return nil, nil
	}
	var skipped []string
	for _, e := range found {
		if !dropPattern(root, e.Pointer) {
			return nil, nil
		}
		skipped = append(skipped, e.Pointer)
	}
	rest, err := json.Marshal(root)
	if err != nil {
		return nil, nil
	}
	s, err := schemas.Compile(rest)
	if err != nil {
		return nil, nil
	}
	return s, skipped
}

// dropPattern removes the keyword pattern that pointer leads to, or the row of patternProperties, and reports
// whether it is one that needs backtracking; a reference that leads nowhere goes as well.
func dropPattern(root any, pointer string) bool {
	parts := strings.Split(pointer, "/")
	if len(parts) < 2 {
		return false
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	at, parent := root, ""
	for _, part := range parts[1 : len(parts)-1] {
		parent = unescape.Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[parent]
		case []any:
			n, err := strconv.Atoi(parent)
			if err != nil || n < 0 || n >= len(v) {
				return false
			}
			at = v[n]
		}
	}
	object, ok := at.(map[string]any)
	key := unescape.Replace(parts[len(parts)-1])
	if !ok || object[key] == nil {
		return false
	}
	pattern, isString := object[key].(string)
	if key == "$ref" && isString {
		delete(object, key)
		return true
	}
	if parent == "patternProperties" {
		pattern, isString = key, true
	} else if key != "pattern" {
		return false
	}
	if !isString || !backtracks(pattern) {
		return false
	}
	delete(object, key)
	return true
}

// backtracks reports whether pattern is a regular expression that only a matcher that goes back can match:
// one that looks around, or refers to what a group matched.
func backtracks(pattern string) bool {
	_, err := syntax.Parse(pattern, syntax.Perl)
	var serr *syntax.Error
	if !errors.As(err, &serr) {
		return false
	}
	switch serr.Code {
	case syntax.ErrInvalidPerlOp, syntax.ErrMissingRepeatArgument:
		return strings.Contains(serr.Expr, "(?")
	case syntax.ErrInvalidEscape:
		return len(serr.Expr) == 2 && (serr.Expr[1] >= '1' && serr.Expr[1] <= '9' || serr.Expr[1] == 'k')
	}
	return false
}

// find returns the tool of this name: the one declared so, or the only one that differs in nothing but dots,
// underscores and hyphens.
func (r *run) find(name string) *tool {
	var like *tool
	for i := range r.tools {
		t := &r.tools[i]
		if t.name == name {
			return t
		}
		if len(t.name) == len(name) && joined.Replace(t.name) == joined.Replace(name) {
			if like != nil {
				return nil
			}
			like = t
		}
	}
	return like
}

var joined = strings.NewReplacer(".", "_", "-", "_")
