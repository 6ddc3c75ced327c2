package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
	"wield/schema"
	"wield/schema/shape"
	"wield/tool"
)

// A lintRule is something that makes a definition hard to use for a model.
type lintRule struct {
	name string
	doc  string
}

// lintRules are all rules. Each looks at one definition; report takes the place, which may be empty, and what is wrong.
var lintRules = []struct {
	lintRule
	check func(l *linted, report func(pointer, format string, args ...any))
}{
	{lintRule{"schema", "The schema can be compiled."}, lintSchema},
	{lintRule{"name-case", "The name is snake_case: small letters, digits and single underscores, a letter first."},
		lintNameCase},
	{lintRule{"name-unique", "No other tool has the name, letters in any case and points, hyphens and underscores " +
		"taken for each other."}, lintNameUnique},
	{lintRule{"name-vague", "The name says what the tool does."}, lintNameVague},
	{lintRule{"description", "There is a description of at least 20 characters."}, lintDescription},
	{lintRule{"description-vague", "The description says more than the name."}, lintDescriptionVague},
	{lintRule{"description-example", "The description of a tool with parameters has an example of its arguments as " +
		"JSON, and it fits the schema."}, lintExample},
	{lintRule{"parameter-description", "Every parameter has a description."}, lintParameters},
	{lintRule{"parameter-type", "Every parameter has a type or an enum."}, lintTypes},
	{lintRule{"required-exists", "Every required parameter is one of the properties."}, lintRequired},
}

// A finding is one place that breaks a rule.
type finding struct {
	Tool    string `json:"tool"`
	Rule    string `json:"rule"`
	Pointer string `json:"pointer,omitempty"` // into the schema; empty: name or description
	Message string `json:"message"`
}

// String returns the finding on one line.
func (f finding) String() string {
	at := f.Tool
	if f.Pointer != "" {
		at += f.Pointer
	}
	return fmt.Sprintf("%s: %s: %s", at, f.Rule, f.Message)
}

// A linted is one definition that is looked at.
type linted struct {
	chat.Tool
	all    []chat.Tool
	schema *schema.Schema // nil if it cannot be compiled
	err    error
}

// lint looks for what makes definitions hard to use for a model. They are looked at as a set that is offered together.
func lint(tools []chat.Tool) []finding {
	var found []finding
	for _, t := range tools {
		l := &linted{Tool: t, all: tools}
		l.schema, l.err = schema.Compile(t.Parameters)
		for _, r := range lintRules {
			r.check(l, func(pointer, format string, args ...any) {
				found = append(found, finding{Tool: t.Name, Rule: r.name, Pointer: pointer,
					Message: fmt.Sprintf(format, args...)})
			})
		}
	}
	return found
}

type reporter = func(pointer, format string, args ...any)

func lintSchema(l *linted, report reporter) {
	if l.err != nil {
		report("", "%v", l.err)
	}
}

var snakeCase = regexp.MustCompile(`\A[a-z][a-z0-9]*(_[a-z0-9]+)*\z`)

func lintNameCase(l *linted, report reporter) {
	name := l.Name
	if _, rest, ok := strings.Cut(name, tool.Separator); ok {
		name = rest
	}
	if !snakeCase.MatchString(name) {
		report("", "%q is not snake_case; write it like read_file", l.Name)
	}
}

func lintNameUnique(l *linted, report reporter) {
	fold := func(name string) string {
		return strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToLower(name))
	}
	n := 0
	for _, t := range l.all {
		if fold(t.Name) == fold(l.Name) {
			n++
		}
	}
	if n > 1 {
		report("", "%d tools have this name or one that a model may take for it", n)
	}
}

// vagueNames say nothing.
var vagueNames = []string{"tool", "run", "do", "do_it", "exec", "execute", "process", "handle", "helper", "util",
	"utils", "misc", "func", "function", "action", "task", "call", "data", "get", "set", "test", "main", "my_tool",
	"do_something", "do_stuff", "stuff", "thing", "foo", "bar"}

// shortNames are those of programs that every model knows.
var shortNames = []string{"sh", "go", "ls", "cp", "mv"}

func lintNameVague(l *linted, report reporter) {
	if slices.Contains(vagueNames, strings.ToLower(l.Name)) || len(l.Name) < 3 && !slices.Contains(shortNames, l.Name) {
		report("", "%q does not say what the tool does", l.Name)
	}
}

const minDescription = 20

func lintDescription(l *linted, report reporter) {
	if n := len(strings.TrimSpace(l.Description)); n < minDescription {
		report("",
			"the description has %d characters; say what the tool does, when to use it and what it gives back",
			n)
	}
}

// vagueWords say nothing in a description.
var vagueWords = []string{"a", "an", "the", "this", "that", "is", "it", "and", "or", "for", "to", "of", "in", "on",
	"with", "some", "any", "all", "tool", "tools", "function", "does", "do", "things", "thing", "stuff", "something",
	"useful", "helper", "utility", "various", "etc", "data", "handles", "handle", "processes", "process", "performs",
	"perform", "operation", "operations", "action", "actions", "general", "purpose"}

var words = regexp.MustCompile(`[\p{L}\p{N}]+`)

func lintDescriptionVague(l *linted, report reporter) {
	known := words.FindAllString(strings.ToLower(strings.ReplaceAll(l.Name, "_", " ")), -1)
	telling := 0
	for _, w := range words.FindAllString(strings.ToLower(l.Description), -1) {
		if !slices.Contains(vagueWords, w) && !slices.Contains(known, w) &&
			!slices.Contains(known, strings.TrimSuffix(w, "s")) {
			telling++
		}
	}
	if l.Description != "" && telling < 2 {
		report("", "the description says no more than the name")
	}
}

func lintExample(l *linted, report reporter) {
	if l.schema == nil || len(properties(l.schema)) == 0 {
		return
	}
	example, ok := tool.Example(l.Description)
	if !ok {
		report("", `the description has no example of the arguments, such as {"%s":..}`, properties(l.schema)[0].Name)
		return
	}
	if found := l.schema.Validate(example); found != nil {
		report("", "the example %s does not fit the schema: %s", shorten.Text(example, 80), found[0])
	}
}

func properties(s *schema.Schema) []shape.Prop {
	if s.Shape() == nil {
		return nil
	}
	return s.Shape().Props
}

// maxLintDepth limits how deep in a schema parameters are looked at.
const maxLintDepth = 8

// eachParameter calls f for every property that the schema declares, by its pointer into the schema.
func eachParameter(raw json.RawMessage, pointer string, depth int, f func(pointer string, p parameter)) {
	var s parameter
	if depth == maxLintDepth || json.Unmarshal(raw, &s) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		at := pointer + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		var p parameter
		if json.Unmarshal(s.Properties[name], &p) == nil {
			f(at, p)
		}
		eachParameter(s.Properties[name], at, depth+1, f)
	}
	if len(s.Items) > 0 && s.Items[0] == '{' {
		eachParameter(s.Items, pointer+"/items", depth+1, f)
	}
}

// A parameter holds the part of its schema that is looked at.
type parameter struct {
	Description string                     `json:"description"`
	Type        json.RawMessage            `json:"type"`
	Enum        json.RawMessage            `json:"enum"`
	Const       json.RawMessage            `json:"const"`
	Ref         string                     `json:"$ref"`
	AnyOf       json.RawMessage            `json:"anyOf"`
	OneOf       json.RawMessage            `json:"oneOf"`
	AllOf       json.RawMessage            `json:"allOf"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Items       json.RawMessage            `json:"items"`
}

func lintParameters(l *linted, report reporter) {
	eachParameter(l.Parameters, "", 0, func(pointer string, p parameter) {
		if strings.TrimSpace(p.Description) == "" && p.Ref == "" {
			report(pointer, "the parameter has no description")
		}
	})
}

func lintTypes(l *linted, report reporter) {
	eachParameter(l.Parameters, "", 0, func(pointer string, p parameter) {
		if p.Ref == "" && len(p.Type)+len(p.Enum)+len(p.Const)+len(p.AnyOf)+len(p.OneOf)+len(p.AllOf) == 0 {
			report(pointer, "the parameter has no type")
		}
	})
}

func lintRequired(l *linted, report reporter) {
	var s struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if json.Unmarshal(l.Parameters, &s) != nil {
		return
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			report("/required", "%q is required and is no property", name)
		}
	}
}
