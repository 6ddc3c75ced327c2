package schema

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"wield/schema/shape"
)

// A library checks documents with github.com/santhosh-tekuri/jsonschema, for the keywords that the validator of this
// package does not know: unevaluated properties and items, dynamic references, references by $id, metaschemas. It
// builds values, so it is slower. Nothing outside this file knows that module.
type library struct {
	schema  *jsonschema.Schema
	printer *message.Printer
}

// location is the address that the library knows the schema by when it has no $id.
const location = "schema:///schema.json"

func newLibrary(t *tape, d draft) (*library, error) {
	if i, ok := t.extreme(); ok {
		return nil, &Error{Message: "the number " + preview(t.text(i)) + " is too large for this schema to be used"}
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(t.src))
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return compilePattern(pattern) })
	switch d {
	case draft7:
		c.DefaultDraft(jsonschema.Draft7)
	case draft2019:
		c.DefaultDraft(jsonschema.Draft2019)
	default:
		c.DefaultDraft(jsonschema.Draft2020)
	}
	if err := c.AddResource(location, doc); err != nil {
		return nil, &Error{Message: err.Error()}
	}
	s, err := c.Compile(location)
	if err != nil {
		return nil, libraryError(err)
	}
	return &library{schema: s, printer: message.NewPrinter(language.English)}, nil
}

// noLoader refuses to load anything. Metaschemas are built into the library and do not come here.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is another document, and none is loaded; copy the schema into $defs", url)
}

// libraryError finds the place in the schema that an error of the library's compiler is about.
func libraryError(err error) error {
	var serr *jsonschema.SchemaValidationError
	if errors.As(err, &serr) {
		var verr *jsonschema.ValidationError
		if errors.As(serr.Err, &verr) {
			for len(verr.Causes) > 0 {
				verr = verr.Causes[0]
			}
			p := message.NewPrinter(language.English)
			return &Error{Pointer: joinPointer(verr.InstanceLocation), Message: verr.ErrorKind.LocalizedString(p)}
		}
	}
	return &Error{Message: strings.ReplaceAll(err.Error(), location, "the schema")}
}

// extreme finds a number that the library would take too long to write out.
func (t *tape) extreme() (tok int, found bool) {
	const most = 4096 // digits
	for i := range t.tokens {
		if t.tokens[i].kind != shape.Number {
			continue
		}
		d := parseDecimal(t.text(i))
		if len(d.digits) > most || d.exp > most || d.exp < -most {
			return i, true
		}
	}
	return 0, false
}

func (l *library) validate(t *tape) []Violation {
	if i, ok := t.extreme(); ok {
		return []Violation{
			{Keyword: "type", Message: "the number " + preview(t.text(i)) + " is too large to be checked"}}
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(t.src))
	if err != nil {
		return []Violation{{Keyword: "false", Message: err.Error()}}
	}
	var verr *jsonschema.ValidationError
	if err := l.schema.Validate(v); !errors.As(err, &verr) {
		if err != nil {
			return []Violation{{Keyword: "false", Message: err.Error()}}
		}
		return nil
	}
	var found []Violation
	l.collect(verr, &found)
	return found
}

// collect flattens the library's tree of errors. Of the alternatives of anyOf and oneOf it keeps the summary alone.
func (l *library) collect(e *jsonschema.ValidationError, found *[]Violation) {
	at := joinPointer(e.InstanceLocation)
	add := func(pointer, text, missing string) {
		if len(*found) < maxViolations {
			*found = append(*found, Violation{Pointer: pointer, Keyword: keywordOf(e.ErrorKind), Message: text,
				Missing: missing})
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			add(at+"/"+escapePointer(name), "missing required property", name)
		}
		return
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			add(at+"/"+escapePointer(name), fmt.Sprintf("missing property, which is required beside %q", k.Prop), name)
		}
		return
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			add(at+"/"+escapePointer(name), "unknown property", "")
		}
		return
	case *kind.FalseSchema:
		add(at, "nothing is allowed here", "")
		return
	case *kind.AnyOf, *kind.OneOf:
		var why []string
		for _, cause := range e.Causes {
			var sub []Violation
			if l.collect(cause, &sub); len(sub) > 0 {
				why = append(why, strings.TrimPrefix(sub[0].String(), at+": "))
			}
		}
		text := "fits none of the forms allowed: " + strings.Join(why, "; or ")
		if len(why) == 0 {
			text = e.ErrorKind.LocalizedString(l.printer)
		}
		add(at, text, "")
		return
	}
	if len(e.Causes) == 0 {
		add(at, e.ErrorKind.LocalizedString(l.printer), "")
	}
	for _, cause := range e.Causes {
		l.collect(cause, found)
	}
}

func keywordOf(k jsonschema.ErrorKind) string {
	path := k.KeywordPath()
	if len(path) == 0 {
		return "false"
	}
	return path[0]
}

func joinPointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(escapePointer(name))
	}
	return b.String()
}
