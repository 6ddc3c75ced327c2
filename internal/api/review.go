package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/runs"
	"wield/tool"
	"wield/tool/edit"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A Look asks what a call would do.
type Look struct {
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"other arguments than those that are asked about, an object"`
	Refused   []RefusedPart   `json:"refused,omitempty" jsonschema:"in place of other arguments: the parts of the call that would not run"`
}

// A Review tells how a call would be decided now, and what it would change. Nothing was run.
type Review struct {
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"exactly what would run"`
	Text      string          `json:"text,omitempty" jsonschema:"the same as a text, for programs that read numbers with less precision"`
	Problems  []Problem       `json:"problems,omitempty" jsonschema:"why the arguments do not fit the tool; nothing else is told then"`
	Decision  chat.Decision   `json:"decision,omitempty" jsonschema:"what the rules say now: allow, ask or deny"`
	Rule      string          `json:"rule,omitempty" jsonschema:"that decides, or the name of a built-in check"`
	File      string          `json:"file,omitempty" jsonschema:"where the rule stands"`
	Line      int             `json:"line,omitempty"`
	Why       string          `json:"why,omitempty"`
	Always    string          `json:"always,omitempty" jsonschema:"the rule that would have allowed this very call; missing where none would"`
	Findings  []Finding       `json:"findings,omitempty" jsonschema:"everything that was looked at"`
	Command   *Command        `json:"command,omitempty" jsonschema:"of a call that runs one"`
	Files     []FileChange    `json:"files,omitempty" jsonschema:"what would become of files"`
	Parts     []CallPart      `json:"parts,omitempty" jsonschema:"of a call with several that a person can refuse one by one: those that were asked about"`
	Unknown   string          `json:"unknown,omitempty" jsonschema:"why it is not known what would become of files"`
}

// A Problem is one place of arguments that does not fit the schema of a tool.
type Problem struct {
	Field   string `json:"field" jsonschema:"JSON pointer into the arguments"`
	Message string `json:"message"`
}

// A Finding judges one thing that a call touches, by the rules.
type Finding struct {
	Decision chat.Decision `json:"decision"`
	Decides  bool          `json:"decides" jsonschema:"no finding is stricter"`
	Subject  string        `json:"subject" jsonschema:"command, path, host or tool"`
	Text     string        `json:"text" jsonschema:"it, in its normal form"`
	Part     *int          `json:"part,omitempty" jsonschema:"which part of the command it is about"`
	Node     string        `json:"node,omitempty" jsonschema:"type and place in the syntax tree"`
	Rule     string        `json:"rule"`
	File     string        `json:"file,omitempty"`
	Line     int           `json:"line,omitempty"`
	Why      string        `json:"why"`
	Fix      string        `json:"fix,omitempty" jsonschema:"the rule that would make it allow"`
}

// A Command describes a command of a call.
type Command struct {
	Argv  []string `json:"argv,omitempty" jsonschema:"a program and its arguments, with no shell between"`
	Shell string   `json:"shell,omitempty" jsonschema:"a line that a shell reads"`
	Dir   string   `json:"dir,omitempty"`
	Parts []Part   `json:"parts,omitempty" jsonschema:"the syntax tree of the line, each part before those that stand in it"`
	Cut   bool     `json:"cut,omitempty" jsonschema:"there are more parts than are told"`
	Error string   `json:"error,omitempty" jsonschema:"why the line cannot be read to its end"`
}

// A Part is one node of the syntax tree of a command line.
type Part struct {
	Kind  string `json:"kind" jsonschema:"such as CallExpr, BinaryCmd or Redirect"`
	Op    string `json:"op,omitempty"`
	From  int    `json:"from" jsonschema:"in bytes of the line"`
	To    int    `json:"to"`
	Depth int    `json:"depth"`
}

// A FileChange describes what would become of one file.
type FileChange struct {
	Path     string   `json:"path"`
	From     string   `json:"from,omitempty" jsonschema:"its name before, if it moves"`
	Created  bool     `json:"created,omitempty"`
	Deleted  bool     `json:"deleted,omitempty"`
	Added    int      `json:"added" jsonschema:"lines"`
	Removed  int      `json:"removed"`
	Diff     string   `json:"diff,omitempty" jsonschema:"unified"`
	Cut      bool     `json:"cut,omitempty" jsonschema:"the diff is longer than what is told"`
	Warnings []string `json:"warnings,omitempty"`
}

// Bounds of a review.
const (
	maxDiff     = 512 << 10 // bytes, of all files
	maxFindings = 500
	diffAround  = 3 // lines around a change
)

// reviewRoute returns the route of a review. Who may decide may look at what another decision would do.
func reviewRoute() route {
	return route{method: http.MethodPost, path: "/approvals/{approval}/review", name: "reviewApproval", may: deciding,
		link: true, driven: true, doc: "Tell what the rules say of a call now, where they say it, and what it would " +
			"change; of other arguments as well. Nothing is run.",
		in: of(Look{}), out: of(Review{}), fails: []Kind{KindConflict}, serve: (*exchange).reviewApproval}
}

// reviewApproval answers POST /approvals/{approval}/review.
func (x *exchange) reviewApproval() (any, error) {
	p, err := x.approval()
	if err != nil {
		return nil, err
	}
	arguments := p.Arguments
	in := x.body.(*Look)
	switch {
	case len(in.Refused) > 0 && len(in.Arguments) > 0:
		return nil, invalid("/refused", "there are either other arguments or refused parts").
			with("leave one of them out")
	case len(in.Refused) > 0:
		if arguments, _, err = without(p.Tool, p.Arguments, in.Refused); err != nil {
			return nil, err
		}
	case len(in.Arguments) > 0:
		arguments = in.Arguments
	}
	r, err := x.s.review(x.r.Context(), p.Run, "", p.Tool, arguments)
	if err == nil {
		r.Parts = partsOf(p.Tool, p.Arguments)
	}
	return r, err
}

// review tells what would be decided about a call of a run, or of an agent.
func (s *Server) review(ctx context.Context, run, agent, name string, arguments json.RawMessage) (*Review, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	r := &Review{Arguments: arguments}
	if r.Problems = s.problems(arguments, name); len(r.Problems) > 0 {
		return r, nil
	}
	e, err := s.o.Hub.Explain(ctx, run, agent, chat.Call{ID: "review", Name: name, Arguments: string(arguments),
		Complete: true})
	var wrong *tool.Error
	switch {
	case errors.As(err, &wrong):
		r.Problems = []Problem{{Message: wrong.Error()}}
		return r, nil
	case errors.Is(err, runs.ErrUnknownAgent):
		return nil, fault(KindConflict,
			"the agent of the call is not there any more, so that nobody knows what it would do")
	case err != nil:
		return nil, err
	}
	r.explain(e)
	return r, nil
}

// problems holds arguments to the schema of a tool.
func (s *Server) problems(raw json.RawMessage, name string) []Problem {
	if raw[0] != '{' {
		return []Problem{{Message: "the arguments must be an object"}}
	}
	e := s.tool(name)
	if e == nil {
		return nil
	}
	compiled, err := s.schemas.Compile(e.Tool.Definition.Parameters)
	if err != nil {
		return nil // the runner knows what it takes
	}
	var list []Problem
	for _, v := range compiled.Validate(string(raw)) {
		list = append(list, Problem{Field: v.Pointer, Message: v.Message})
	}
	return list
}

func (r *Review) explain(e *runner.Explanation) {
	v := &e.Verdict
	r.Arguments, r.Text = json.RawMessage(e.Call.Arguments), e.Call.Arguments
	r.Decision, r.Rule, r.File, r.Line, r.Why, r.Always = v.Decision, v.Rule, v.File, v.Line, v.Why, e.Always
	r.Command = commandOf(&e.Facts)
	r.Findings = findingsOf(v, r.Command, e.Facts.Shell)
	r.Files = filesOf(e.Changes)
	if e.Unknown != nil {
		r.Unknown = e.Unknown.Error()
	}
}

// commandOf returns what a call runs, nil for nothing.
func commandOf(c *policy.Action) *Command {
	if c.Shell == "" && len(c.Argv) == 0 {
		return nil
	}
	cmd := &Command{Argv: c.Argv, Shell: c.Shell, Dir: c.Dir}
	if c.Shell == "" {
		return cmd
	}
	parts, cut, err := policy.Outline(c.Shell)
	cmd.Cut = cut
	for _, p := range parts {
		cmd.Parts = append(cmd.Parts, Part{Kind: p.Kind, Op: p.Op, From: p.From, To: p.To, Depth: p.Depth})
	}
	if err != nil {
		cmd.Error = err.Error()
	}
	return cmd
}

// findingsOf returns the findings of a verdict, each with the part of the command line that it is about.
func findingsOf(v *policy.Verdict, cmd *Command, line string) []Finding {
	byNode := map[string]int{}
	if cmd != nil && line != "" {
		parts, _, _ := policy.Outline(line)
		for i := range slices.Backward(parts) {
			byNode[parts[i].Node] = i
		}
	}
	var list []Finding
	for i := range v.Findings {
		f := &v.Findings[i]
		if len(list) == maxFindings {
			break
		}
		out := Finding{Decision: f.Decision, Decides: f.Decision == v.Decision, Subject: string(f.Subject),
			Text: f.Text, Node: f.Node, Rule: f.Rule, File: f.File, Line: f.Line, Why: f.Why}
		if at, ok := byNode[f.Node]; ok && f.Depth == 1 {
			out.Part = &at
		}
		if f.Fix != nil {
			out.Fix = f.Fix.String()
		}
		list = append(list, out)
	}
	return list
}

// filesOf returns what becomes of files, with as much of the differences as is told.
func filesOf(changes []edit.Change) []FileChange {
	room := maxDiff
	var list []FileChange
	for i := range changes {
		c := &changes[i]
		if !c.Changed() && c.From == "" {
			continue
		}
		f := FileChange{Path: c.Path, From: c.From, Created: !c.Existed, Deleted: !c.Exists, Warnings: c.Warnings}
		f.Removed, f.Added = c.Count()
		f.Diff = c.Diff(diffAround)
		if len(f.Diff) > room {
			f.Diff, f.Cut = f.Diff[:strings.LastIndexByte(f.Diff[:room], '\n')+1], true
		}
		room -= len(f.Diff)
		list = append(list, f)
	}
	return list
}
