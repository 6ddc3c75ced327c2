// Package jinja renders chat templates: the part of the Jinja language that templates of models use, with the
// settings that Transformers has (trim_blocks, lstrip_blocks, loop controls, the generation block). Templates come
// from strangers, so rendering reads nothing but its context and is bounded in steps, depth and output.
package jinja

import (
	"fmt"
	"strings"
	"time"
)

// The bounds of one rendering.
const (
	maxSteps  = 200_000
	maxDepth  = 200
	maxOutput = 4 << 20
	maxSource = 4 << 20
)

// An Error is a template that cannot be read or rendered.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// A Raised is the error of a template that refuses its context with raise_exception.
type Raised struct {
	Line int
	Msg  string
}

func (e *Raised) Error() string {
	return fmt.Sprintf("line %d: the template refuses: %s", e.Line, e.Msg)
}

// A Template is one that was parsed. It may be rendered any number of times, also at once.
type Template struct {
	body []node
}

// Parse reads the source of a template.
func Parse(source string) (t *Template, err error) {
	if len(source) > maxSource {
		return nil, &Error{1, fmt.Sprintf("the template has more than %d bytes", maxSource)}
	}
	defer catch(&err)
	p := parser{tokens: lex(source)}
	body := p.statements()
	if tok := p.peek(); tok.kind != tokEOF {
		fail(tok.line, "%s without its beginning", tok)
	}
	return &Template{body}, nil
}

// Render renders the template. The context is a JSON object; its members are the variables. What the template asks
// of the time gets now. The error is a *Raised where the template refuses the context, else an *Error.
func (t *Template) Render(context []byte, now time.Time) (text string, err error) {
	v, err := decode(context)
	if err != nil {
		return "", fmt.Errorf("the context: %w", err)
	}
	vars, ok := v.(*dict)
	if !ok {
		return "", fmt.Errorf("the context is no object")
	}
	defer catch(&err)
	var out strings.Builder
	e := &env{out: &out, now: now, left: new(int), scope: newScope(nil)}
	*e.left = maxSteps
	for _, k := range vars.keys {
		e.scope.vars[k] = vars.values[k]
	}
	e.run(t.body)
	return out.String(), nil
}

// catch turns a panic of this package into an error.
func catch(err *error) {
	switch e := recover().(type) {
	case nil:
	case *Error:
		*err = e
	case *Raised:
		*err = e
	default:
		panic(e)
	}
}

func fail(line int, format string, args ...any) {
	panic(&Error{line, fmt.Sprintf(format, args...)})
}
