package dir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// A Line is a tool that is one line of shell. {NAME} in its command is the place of a parameter, and
// {NAME:TYPE} that of one with a type. A value never becomes text of the shell: it is handed over in the
// variable ARG_NAME, or as arguments if it is a list, and what stands in the place is the expansion of that,
// in quotes.
type Line struct {
	Name        string
	Description string // empty: what it runs
	Command     string
	Params      map[string]LineParam // those without an entry are required texts
	Network     bool
	ReadOnly    bool // it changes nothing
}

// A LineParam is one parameter of a Line.
type LineParam struct {
	Type        string // string, integer, number, boolean, path, url, list (of texts), paths; empty: string
	Description string
	Required    bool
	Enum        []string
}

// lineTypes are the types with their schemas. A text is bounded, since a system starts no program with more,
// and does not begin as an option does where it could be taken for one.
var lineTypes = map[string]string{
	"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "path": "string",
	"url": "string", "list": "array", "paths": "array",
}

// place matches a parameter in a command.
var place = regexp.MustCompile(`\{([a-z][a-z0-9_]*)(?::([a-z]+))?\}`)

var toolName = regexp.MustCompile(`\A[a-z][a-z0-9_]*\z`)

// ParseLine reads "NAME: COMMAND # DESCRIPTION"; the description may be missing.
func ParseLine(text string) (Line, error) {
	name, command, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || !toolName.MatchString(name) {
		return Line{}, fmt.Errorf("%q: a tool of one line is written as NAME: COMMAND, such as \"disk: df -h\"", text)
	}
	l := Line{Name: name, Command: strings.TrimSpace(command)}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX),
		syntax.KeepComments(true)).Parse(strings.NewReader(l.Command), "")
	if err != nil {
		return Line{}, lineError(err)
	}
	for _, c := range f.Last {
		l.Description = strings.TrimSpace(strings.TrimPrefix(c.Text, "#"))
		l.Command = strings.TrimSpace(l.Command[:c.Pos().Offset()])
	}
	for _, s := range f.Stmts {
		for _, c := range s.Comments {
			if c.Pos().Offset() > s.Pos().Offset() {
				l.Description = strings.TrimSpace(c.Text)
				l.Command = strings.TrimSpace(l.Command[:c.Pos().Offset()])
			}
		}
	}
	return l, nil
}

// lineError says where in a command something is wrong.
func lineError(err error) error {
	var e syntax.ParseError
	if errors.As(err, &e) {
		return fmt.Errorf("the command cannot be read at column %d: %s", e.Pos.Col(), e.Text)
	}
	return err
}

// Tool makes the tool.
func (l Line) Tool() (*tool.Tool, error) {
	if !toolName.MatchString(l.Name) {
		return nil, fmt.Errorf("%q is no name for a tool: small letters, digits and underscores", l.Name)
	}
	for name, p := range l.Params {
		if !isName(name) || lineTypes[p.Type] == "" && p.Type != "" {
			return nil, fmt.Errorf("the parameter %s of type %q: a name is made of letters, digits and underscores, "+
				"and the types are string, integer, number, boolean, path, url, list and paths", name, p.Type)
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX),
		syntax.KeepComments(true)).Parse(strings.NewReader(l.Command), "")
	if err != nil {
		return nil, lineError(err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("there is no command")
	}
	e := &expansion{line: l, params: map[string]*lineParam{}}
	e.walk(file)
	script := e.script()
	if e.err != nil {
		return nil, e.err
	}
	t := &tool.Tool{Source: "sh: " + l.Command,
		Definition: chat.Tool{Name: l.Name, Description: cmp.Or(l.Description, "Runs: "+l.Command)}}
	if t.Definition.Parameters, err = e.schema(); err != nil {
		return nil, err
	}
	t.Facts = e.facts()
	t.Handler = &shellLine{script, l.Name, e.list}
	return t, nil
}

// An expansion finds the places in a command.
type expansion struct {
	line   Line
	params map[string]*lineParam
	edits  []lineEdit
	list   string // the parameter that is handed over as arguments
	err    error
}

// A lineParam is a parameter as its places need it.
type lineParam struct {
	LineParam
	option bool // it stands where a word could be an option
	writes bool // what it names is written to
}

// A lineEdit puts text in the place of a part of the command.
type lineEdit struct {
	from, to uint
	text     string
}

func (e *expansion) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// interpreters take text that they run, so that a value in it would be run as well. Those that are false do
// so only with what stands in a text with more.
var interpreters = map[string]bool{"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true,
	"fish": true, "eval": true, "ssh": true, "su": true, "sudo": true, "source": true, ".": true, "trap": true,
	"alias": true, "xargs": false, "awk": false, "gawk": false, "mawk": false, "sed": false, "perl": false,
	"python": false, "python3": false, "node": false, "ruby": false, "php": false, "jq": false, "psql": false,
	"sqlite3": false}

// walk looks at all words below a node.
func (e *expansion) walk(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			if strings.HasSuffix(n.Text, "\n") { // the parser takes the next line for one that shells do not run
				e.fail("the comment #%s ends in a backslash: take it out", strings.TrimSuffix(n.Text, "\\\n"))
			}
		case *syntax.CallExpr:
			e.call(n)
			for _, a := range n.Assigns {
				if a.Value != nil {
					e.word(a.Value, wordUse{})
				}
			}
		case *syntax.Redirect:
			if n.Word != nil {
				e.word(n.Word,
					wordUse{redirect: true,
						writes: !slices.Contains([]syntax.RedirOperator{syntax.RdrIn, syntax.DplIn}, n.Op)})
			}
		case *syntax.ForClause:
			if iter, ok := n.Loop.(*syntax.WordIter); ok {
				for _, w := range iter.Items {
					e.word(w, wordUse{})
				}
			}
		case *syntax.CaseClause:
			e.word(n.Word, wordUse{})
		}
		return e.err == nil
	})
}

// wordUse says what a word is for.
type wordUse struct {
	redirect, writes bool
	option           bool // it could be an option
	inText           bool // a place within more text would be run
}

func (e *expansion) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	if place.MatchString(wordText(e.line.Command, c.Args[0])) {
		e.fail("the program itself is no parameter: %s", wordText(e.line.Command, c.Args[0]))
		return
	}
	use := wordUse{option: true}
	for _, w := range c.Args {
		text := wordText(e.line.Command, w)
		if whole, known := interpreters[path.Base(strings.Trim(text, `"'\`))]; known {
			use.inText = true
			if whole &&
				slices.ContainsFunc(c.Args, func(w *syntax.Word) bool {
					return place.MatchString(unquotedText(e.line.Command, w))
				}) {
				e.fail(
					`%s runs what it is given as text, in which a value would be run too: write '.. "$ARG_NAME" ..' in the inner text, and no {NAME}`, text)
				return
			}
		}
		e.word(w, use)
		if text == "--" {
			use.option = false
		}
	}
}

func wordText(command string, w *syntax.Word) string {
	return command[w.Pos().Offset():w.End().Offset()]
}

// unquotedText is the text of a word without what stands in single quotes.
func unquotedText(command string, w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		if _, ok := part.(*syntax.SglQuoted); !ok {
			b.WriteString(command[part.Pos().Offset():part.End().Offset()])
		}
	}
	return b.String()
}

// word puts expansions into the places of a word.
func (e *expansion) word(w *syntax.Word, use wordUse) {
	for i, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			e.lit(part, w, use, i == 0, false)
		case *syntax.DblQuoted:
			for j, inner := range part.Parts {
				if l, ok := inner.(*syntax.Lit); ok {
					e.lit(l, w, use, i == 0 && j == 0, true)
				}
			}
		}
	}
}

// lit puts expansions into the places of a part of a word.
func (e *expansion) lit(l *syntax.Lit, w *syntax.Word, use wordUse, first, quoted bool) {
	from := l.Pos().Offset()
	text := e.line.Command[from:l.End().Offset()]
	for _, m := range place.FindAllStringSubmatchIndex(text, -1) {
		name, kind := text[m[2]:m[3]], ""
		if m[4] >= 0 {
			kind = text[m[4]:m[5]]
		}
		p := e.param(name, kind)
		if p == nil {
			return
		}
		whole := len(w.Parts) == 1 && strings.Trim(wordText(e.line.Command, w), `"`) == text[m[0]:m[1]]
		e.lineEdit(name, p, use, from+uint(m[0]), from+uint(m[1]), whole, quoted)
		p.option = p.option || use.option && first && m[0] == 0
		p.writes = p.writes || use.writes
	}
}

func (e *expansion) lineEdit(name string, p *lineParam, use wordUse, from, to uint, whole, quoted bool) {
	variable := "ARG_" + name
	switch {
	case use.inText && !whole:
		e.fail("{%s} stands in a text that is run, and its value would be run too: give it a word of its own", name)
	case use.redirect && p.Type != "path":
		e.fail("{%s} names a file: write {%s:path}, so that rules can look at it", name, name)
	case lineTypes[p.Type] == "array" && (!whole || use.redirect || e.list != "" && e.list != name):
		e.fail("{%s} is a list: it is a word of its own, and there is one in a command", name)
	case lineTypes[p.Type] == "array":
		e.list = name
		if !quoted {
			e.edits = append(e.edits, lineEdit{from, to, `"$@"`})
		} else {
			e.edits = append(e.edits, lineEdit{from, to, `$@`})
		}
	case quoted:
		e.edits = append(e.edits, lineEdit{from, to, "${" + variable + "}"})
	case whole && !p.Required:
		e.edits = append(e.edits, lineEdit{from, to, "${" + variable + `:+"$` + variable + `"}`})
	default:
		e.edits = append(e.edits, lineEdit{from, to, `"${` + variable + `}"`})
	}
}

// param returns the parameter of a place.
func (e *expansion) param(name, kind string) *lineParam {
	p := e.params[name]
	if p == nil {
		declared, ok := e.line.Params[name]
		if !ok {
			declared.Required = true
		}
		p = &lineParam{LineParam: declared}
		e.params[name] = p
	}
	switch {
	case kind != "" && lineTypes[kind] == "":
		e.fail("{%s:%s}: there is no type %s; there are string, integer, number, boolean, path, url, list and paths",
			name, kind, kind)
	case kind != "" && p.Type != "" && p.Type != kind:
		e.fail("the parameter %s has the types %s and %s", name, p.Type, kind)
	case kind != "":
		p.Type = kind
	}
	if e.err != nil {
		return nil
	}
	return p
}

// script returns the command with the expansions in place. A place that the shell would not fill is refused.
func (e *expansion) script() string {
	if e.err != nil {
		return ""
	}
	command := e.line.Command
	slices.SortFunc(e.edits, func(a, b lineEdit) int { return int(a.from) - int(b.from) })
	var b strings.Builder
	at := uint(0)
	rest := func(text string) string {
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			if _, ok := e.line.Params[m[1]]; ok || e.params[m[1]] != nil || m[2] != "" {
				e.fail("%s stands where nothing is put in, such as in single quotes: write \"$ARG_%s\"", m[0], m[1])
			}
		}
		return text
	}
	for _, edit := range e.edits {
		b.WriteString(rest(command[at:edit.from]) + edit.text)
		at = edit.to
	}
	b.WriteString(rest(command[at:]))
	for name := range e.line.Params {
		if e.params[name] == nil {
			e.params[name] = &lineParam{LineParam: e.line.Params[name]} // the command reads the variable itself
			if lineTypes[e.params[name].Type] == "array" {
				e.fail("the list %s has no place in the command", name)
			}
		}
	}
	for name, p := range e.params {
		if p.writes && e.line.ReadOnly {
			e.fail("the command writes to {%s}, and is said to change nothing", name)
		}
	}
	if len(e.params) > maxLineParams {
		e.fail("the command has %d parameters, and may have %d", len(e.params), maxLineParams)
	}
	return b.String()
}

// Bounds of what a line gets, so that all of it fits into variables.
const (
	maxLineParams = 16
	maxLineText   = 2000 // characters
)

// notOption fits what cannot be taken for an option.
const notOption = `^([^-]|$)`

// schema writes the schema.
func (e *expansion) schema() (json.RawMessage, error) {
	type property struct {
		Type        string    `json:"type"`
		Description string    `json:"description,omitempty"`
		Enum        []string  `json:"enum,omitempty"`
		Pattern     string    `json:"pattern,omitempty"`
		MaxLength   int       `json:"maxLength,omitempty"`
		MaxItems    int       `json:"maxItems,omitempty"`
		Items       *property `json:"items,omitempty"`
	}
	properties, required := map[string]*property{}, []string{}
	for name, p := range e.params {
		kind := lineTypes[p.Type]
		if p.Type == "" {
			kind = "string"
		}
		prop := &property{Type: kind, Description: p.Description}
		text := prop
		if kind == "array" {
			prop.Items, prop.MaxItems = &property{Type: "string"}, 1000
			text = prop.Items
		}
		if text.Type == "string" {
			text.MaxLength, text.Enum = maxLineText, p.Enum
			if p.option && len(p.Enum) == 0 {
				text.Pattern = notOption
			}
		}
		if properties[name] = prop; p.Required {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return json.Marshal(struct {
		Type       string               `json:"type"`
		Properties map[string]*property `json:"properties"`
		Required   []string             `json:"required,omitempty"`
		More       bool                 `json:"additionalProperties"`
	}{"object", properties, required, false})
}

// facts says what rules have to look at.
func (e *expansion) facts() tool.Facts {
	f := tool.Facts{Network: e.line.Network, ReadOnly: e.line.ReadOnly}
	names := make([]string, 0, len(e.params))
	for name := range e.params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch p := e.params[name]; p.Type {
		case "path", "paths":
			op := policy.OpWrite
			if e.line.ReadOnly {
				op = policy.OpRead
			}
			f.Paths = append(f.Paths, tool.PathFact{Argument: name, Op: op})
		case "url":
			f.URLs = append(f.URLs, name)
			f.Network = true
		}
	}
	return f
}

// A shellLine runs a command whose text never changes.
type shellLine struct {
	script, name, list string
}

// Run runs the command.
func (s *shellLine) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		return tool.Result{}, err
	}
	argv, env := []string{"sh", "-c", s.script, s.name}, variables(c.Arguments)
	if raw := args[s.list]; len(raw) > 0 {
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return tool.Result{}, err
		}
		argv = append(argv, list...)
	}
	for name := range args { // one that is missing would be an empty text to the command
		if name != s.list &&
			!slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "ARG_"+name+"=") }) {
			return tool.Result{},
				tool.Errorf(tool.ErrInvalid, "Invalid arguments: /%s holds what no variable can: a NUL, or too much",
					name)
		}
	}
	cmd := c.Command(argv...)
	cmd.Env = slices.Concat(cmd.Env, env, c.Variables(ctx))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := c.Exec(ctx, cmd)
	if err != nil {
		return tool.Result{}, err
	}
	if exit.Code != 0 {
		return failed(exit, stdout.Bytes(), stderr.String())
	}
	return answer(stdout.Bytes()), nil
}
