package tool

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema"
	"wield/schema/shape"
)

// A LintRule is something that makes a definition hard to use for a model.
type LintRule struct {
	Name string
	Doc  string
}

// lintRules are all rules. Each looks at one definition; report takes the place, which may be empty, and what is wrong.
var lintRules = []struct {
	LintRule
	check func(l *linted, report func(pointer, format string, args ...any))
}{
	{LintRule{"schema", "The schema can be compiled."}, lintSchema},
	{LintRule{"name-case", "The name is snake_case: small letters, digits and single underscores, a letter first."}, lintNameCase},
	{LintRule{"name-unique", "No other tool has the name, letters in any case and points, hyphens and underscores taken for each other."}, lintNameUnique},
	{LintRule{"name-vague", "The name says what the tool does."}, lintNameVague},
	{LintRule{"description", "There is a description of at least 20 characters."}, lintDescription},
	{LintRule{"description-vague", "The description says more than the name."}, lintDescriptionVague},
	{LintRule{"description-example", "The description of a tool with parameters has an example of its arguments as JSON, and it fits the schema."}, lintExample},
	{LintRule{"parameter-description", "Every parameter has a description."}, lintParameters},
	{LintRule{"parameter-type", "Every parameter has a type or an enum."}, lintTypes},
	{LintRule{"required-exists", "Every required parameter is one of the properties."}, lintRequired},
}

// LintRules lists the rules that Lint knows.
func LintRules() []LintRule {
	var list []LintRule
	for _, r := range lintRules {
		list = append(list, r.LintRule)
	}
	return list
}

// A LintFinding is one place that breaks a rule.
type LintFinding struct {
	Tool    string `json:"tool"`
	Rule    string `json:"rule"`
	Pointer string `json:"pointer,omitempty"` // into the schema; empty: name or description
	Message string `json:"message"`
}

// String returns the finding on one line.
func (f LintFinding) String() string {
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

// Lint looks for what makes definitions hard to use for a model. They are looked at as a set that is offered together.
func Lint(tools []chat.Tool) []LintFinding {
	var found []LintFinding
	for _, t := range tools {
		l := &linted{Tool: t, all: tools}
		l.schema, l.err = schema.Compile(t.Parameters)
		for _, r := range lintRules {
			r.check(l, func(pointer, format string, args ...any) {
				found = append(found, LintFinding{Tool: t.Name, Rule: r.Name, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
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
	if _, rest, ok := strings.Cut(name, Separator); ok {
		name = rest
	}
	if !snakeCase.MatchString(name) {
		report("", "%q is not snake_case; write it like read_file", l.Name)
	}
}

func lintNameUnique(l *linted, report reporter) {
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
var vagueNames = []string{"tool", "run", "do", "do_it", "exec", "execute", "process", "handle", "helper", "util", "utils", "misc", "func",
	"function", "action", "task", "call", "data", "get", "set", "test", "main", "my_tool", "do_something", "do_stuff", "stuff", "thing", "foo", "bar"}

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
		report("", "the description has %d characters; say what the tool does, when to use it and what it gives back", n)
	}
}

// vagueWords say nothing in a description.
var vagueWords = []string{"a", "an", "the", "this", "that", "is", "it", "and", "or", "for", "to", "of", "in", "on", "with", "some", "any", "all",
	"tool", "tools", "function", "does", "do", "things", "thing", "stuff", "something", "useful", "helper", "utility", "various", "etc", "data",
	"handles", "handle", "processes", "process", "performs", "perform", "operation", "operations", "action", "actions", "general", "purpose"}

var words = regexp.MustCompile(`[\p{L}\p{N}]+`)

func lintDescriptionVague(l *linted, report reporter) {
	known := words.FindAllString(strings.ToLower(strings.ReplaceAll(l.Name, "_", " ")), -1)
	telling := 0
	for _, w := range words.FindAllString(strings.ToLower(l.Description), -1) {
		if !slices.Contains(vagueWords, w) && !slices.Contains(known, w) && !slices.Contains(known, strings.TrimSuffix(w, "s")) {
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
	example, ok := Example(l.Description)
	if !ok {
		report("", `the description has no example of the arguments, such as {"%s":..}`, properties(l.schema)[0].Name)
		return
	}
	if found := l.schema.Validate(example); found != nil {
		report("", "the example %s does not fit the schema: %s", cut(example, 80), found[0])
	}
}

// Example returns the first JSON object in a description.
func Example(description string) (string, bool) {
	for i := 0; i < len(description); i++ {
		if description[i] != '{' {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(description[i:]))
		var raw json.RawMessage
		if dec.Decode(&raw) == nil {
			return string(raw), true
		}
	}
	return "", false
}

func properties(s *schema.Schema) []shape.Prop {
	if s.Shape() == nil {
		return nil
	}
	return s.Shape().Props
}

// maxLintDepth is how deep in a schema parameters are looked at.
const maxLintDepth = 8

// eachParameter calls f for every property that the schema declares, by its pointer into the schema.
func eachParameter(raw json.RawMessage, pointer string, depth int, f func(pointer string, p parameter)) {
	var s parameter
	if depth == maxLintDepth || json.Unmarshal(raw, &s) != nil {
		return
	}
	for _, m := range members(s.Properties) {
		at := pointer + "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(m.name)
		var p parameter
		if json.Unmarshal(m.value, &p) == nil {
			f(at, p)
		}
		eachParameter(m.value, at, depth+1, f)
	}
	if len(s.Items) > 0 && s.Items[0] == '{' {
		eachParameter(s.Items, pointer+"/items", depth+1, f)
	}
}

// A parameter is what is looked at in the schema of one.
type parameter struct {
	Description string          `json:"description"`
	Type        json.RawMessage `json:"type"`
	Enum        json.RawMessage `json:"enum"`
	Const       json.RawMessage `json:"const"`
	Ref         string          `json:"$ref"`
	AnyOf       json.RawMessage `json:"anyOf"`
	OneOf       json.RawMessage `json:"oneOf"`
	AllOf       json.RawMessage `json:"allOf"`
	Properties  json.RawMessage `json:"properties"`
	Items       json.RawMessage `json:"items"`
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
