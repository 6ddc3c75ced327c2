package policies

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/cli"
	"wield/tool/files"
	"wield/tool/policy"
)

// A policyRecord is one line of the input of policy test --jsonl.
type policyRecord struct {
	ID     json.RawMessage            `json:"id"`
	Kind   string                     `json:"kind"`
	Drive  string                     `json:"drive"`
	Input  json.RawMessage            `json:"input"`
	Policy map[string]json.RawMessage `json:"policy"`
	Setup  *recordSetup               `json:"setup"`
}

// A policyLine is one line of the output.
type policyLine struct {
	ID       json.RawMessage `json:"id"`
	Decision chat.Decision   `json:"decision,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Why      string          `json:"why,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// decisionSkip stands for a record that takes more than a decision.
const decisionSkip chat.Decision = "skip"

// recordKinds judge the records of each kind.
var recordKinds = map[string]func(*recordRun, *policyRecord) (policy.Verdict, error){
	"command": (*recordRun).command,
	"path":    (*recordRun).path,
	"args":    (*recordRun).args,
	"json":    (*recordRun).envelope,
}

// policyRecords judges every record of a file or of the input.
func policyRecords(app *cli.App, f *policyFlags, args []string) error {
	if len(args) > 1 {
		return cli.UsageErrorf("--jsonl reads one file")
	}
	in := app.Stdin
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	run, err := newRecordRun(f.fixtures)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(app.Stdout)
	broken, err := run.lines(in, out)
	if err = errors.Join(err, out.Flush(), run.close()); err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("policy test: %s could not be read", cli.Count(broken, "line"))
	}
	return nil
}

// A recordRun holds the fields that the records of one run share.
type recordRun struct {
	trees map[string]*recordTree
	temp  string // holds the trees of files
	empty string // a workspace without files
	n     int
}

// A recordTree is a tree of files that records about paths name.
type recordTree struct {
	Files     map[string]string `json:"files"`
	Symlinks  map[string]string `json:"symlinks"`
	Hardlinks map[string]string `json:"hardlinks"`
}

// A recordSetup holds what a record changes about its tree.
type recordSetup struct {
	Symlink map[string]string `json:"symlink"`
	Sparse  map[string]int64  `json:"sparse"`
}

func newRecordRun(fixtures string) (*recordRun, error) {
	r := &recordRun{trees: map[string]*recordTree{}}
	if fixtures != "" {
		data, err := os.ReadFile(fixtures)
		if err != nil {
			return nil, cli.UsageErrorf("--fixtures: %w", err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, cli.UsageErrorf("--fixtures %s: %w", fixtures, cli.Mistake("", err))
		}
		for name, text := range all {
			var t recordTree
			if json.Unmarshal(text, &t) == nil && t.Files != nil { // the others are notes for people
				r.trees[name] = &t
			}
		}
	}
	temp, err := os.MkdirTemp("", "wield-policy-")
	if err != nil {
		return nil, err
	}
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return nil, err
	}
	r.temp, r.empty = temp, filepath.Join(temp, "empty")
	return r, os.Mkdir(r.empty, 0o700)
}

func (r *recordRun) close() error { return os.RemoveAll(r.temp) }

// lines judges records until the input ends, and returns how many were broken.
func (r *recordRun) lines(in io.Reader, out io.Writer) (broken int, err error) {
	br := bufio.NewReaderSize(in, 1<<16)
	for {
		text, rerr := br.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			line := r.line(text)
			if line.Error != "" {
				broken++
			}
			b, err := json.Marshal(line)
			if err != nil {
				return broken, err
			}
			if _, err := out.Write(append(b, '\n')); err != nil {
				return broken, err
			}
		}
		if errors.Is(rerr, io.EOF) {
			return broken, nil
		}
		if rerr != nil {
			return broken, rerr
		}
	}
}

// line judges one record. What is wrong with it stands in the line that comes back.
func (r *recordRun) line(text []byte) policyLine {
	var rec policyRecord
	if err := json.Unmarshal(text, &rec); err != nil {
		var id struct {
			ID json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(text, &id) // the id may be readable where another field is not
		return policyLine{ID: id.ID, Error: cli.Mistake("", err).Error()}
	}
	if rec.Drive != "decide" {
		return policyLine{ID: rec.ID, Decision: decisionSkip}
	}
	judge := recordKinds[rec.Kind]
	if judge == nil {
		return policyLine{ID: rec.ID, Error: fmt.Sprintf("no kind %q: there are args, command, json and path",
			rec.Kind)}
	}
	v, err := judge(r, &rec)
	if err != nil {
		return policyLine{ID: rec.ID, Error: err.Error()}
	}
	rule := v.Rule
	if v.File != "" {
		rule = fmt.Sprintf("%s:%d: %s", v.File, v.Line, rule)
	}
	return policyLine{ID: rec.ID, Decision: v.Decision, Rule: rule, Why: v.Why}
}

// A recordText is a text that may be written as parts, {"$cat": [part, ..]}, of which some are repeated, {"$rep":
// [unit, n]}.
type recordText string

// UnmarshalJSON reads either form.
func (t *recordText) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err == nil {
		*t = recordText(s)
		return nil
	}
	var parts struct {
		Cat []json.RawMessage `json:"$cat"`
	}
	if err := json.Unmarshal(data, &parts); err != nil || parts.Cat == nil {
		return errors.New(`a text is a string or {"$cat": [..]}`)
	}
	var b strings.Builder
	for _, p := range parts.Cat {
		var lit string
		if err := json.Unmarshal(p, &lit); err == nil {
			b.WriteString(lit)
			continue
		}
		var rep struct {
			Rep []json.RawMessage `json:"$rep"`
		}
		var unit string
		var n int
		if err := json.Unmarshal(p, &rep); err != nil || len(rep.Rep) != 2 ||
			json.Unmarshal(rep.Rep[0], &unit) != nil || json.Unmarshal(rep.Rep[1], &n) != nil || n < 0 ||
			n*len(unit) > 64<<20 {
			return errors.New(`a part is a string or {"$rep": [TEXT, TIMES]}`)
		}
		b.WriteString(strings.Repeat(unit, n))
	}
	*t = recordText(b.String())
	return nil
}

// A recordPolicy is the policy of a record in the making.
type recordPolicy struct {
	policy.Definition
	paths bool // its patterns are of paths, not of commands
}

// add appends a rule.
func (p *recordPolicy) add(d chat.Decision, s policy.Selector) {
	p.Rules = append(p.Rules, policy.Rule{Decision: d, Selector: s})
}

// recordPolicyKeys translates the policies of records, key by key. A key without a function says something that holds
// anyway, or that another part of the record's judge reads.
var recordPolicyKeys = map[string]func(p *recordPolicy, v json.RawMessage) error{
	"default": func(p *recordPolicy, v json.RawMessage) error { return json.Unmarshal(v, &p.Default) },
	"allow":   patterns(chat.DecisionAllow),
	"deny":    patterns(chat.DecisionDeny),
	"deny_paths": func(p *recordPolicy, v json.RawMessage) error {
		var globs []string
		err := json.Unmarshal(v, &globs)
		for _, g := range globs {
			s := policy.Selector{}
			rel, writes := strings.CutSuffix(g, "(w)")
			if writes {
				s.Op = []policy.Op{policy.OpWrite, policy.OpDelete}
			}
			s.Path = []string{strings.TrimPrefix(rel, "$WS/")}
			p.add(chat.DecisionDeny, s)
		}
		return err
	},
	"mode": func(p *recordPolicy, v json.RawMessage) error {
		if string(v) == `"ro"` {
			p.add(chat.DecisionDeny, policy.Selector{Op: []policy.Op{policy.OpWrite, policy.OpDelete}})
		}
		return nil
	},
	"network": func(p *recordPolicy, v json.RawMessage) error {
		if string(v) == `"deny"` {
			p.add(chat.DecisionDeny, policy.Selector{Host: []string{"*"}})
		}
		return nil
	},
	// Which addresses are refused is not a matter of rules: the rule only says that the others are open.
	"egress": func(p *recordPolicy, _ json.RawMessage) error {
		p.add(chat.DecisionAllow, policy.Selector{Host: []string{"*"}})
		return nil
	},
	"root":      nil,              // read by path
	"workspace": nil, "tool": nil, // where the record's files are, and for whom it is
	"schema": nil, "coerce": nil, "stage": nil, // read by args
	"limits": func(p *recordPolicy, v json.RawMessage) error {
		var l struct {
			Bytes, Keys, String int
			Digits              int `json:"number_digits"`
		}
		err := json.Unmarshal(v, &l)
		p.Limits = policy.ArgumentLimits{Bytes: l.Bytes, Keys: l.Keys, String: l.String, Digits: l.Digits}
		return err
	},
	"duplicate_keys": nil, "utf8": nil, "case": nil, // what reading a call holds to anyway
}

// patterns translates a list of commands or of paths. A star behind a name stands for its arguments.
func patterns(d chat.Decision) func(*recordPolicy, json.RawMessage) error {
	return func(p *recordPolicy, v json.RawMessage) error {
		var list []string
		if err := json.Unmarshal(v, &list); err != nil || len(list) == 0 {
			return err
		}
		if p.paths {
			p.add(d, policy.Selector{Path: list})
			return nil
		}
		for i, c := range list {
			list[i] = strings.TrimSuffix(strings.TrimSuffix(c, ":*"), "*")
		}
		p.add(d, policy.Selector{Command: list})
		return nil
	}
}

// translate makes the policy of a record.
func translate(rec *policyRecord) (*policy.Policy, error) {
	p := &recordPolicy{paths: rec.Kind == "path", Definition: policy.Definition{Name: "of the record"}}
	keys := make([]string, 0, len(rec.Policy))
	for key := range rec.Policy {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		read, ok := recordPolicyKeys[key]
		if !ok {
			return nil, fmt.Errorf("policy.%s: no such key", key)
		}
		if read == nil {
			continue
		}
		if err := read(p, rec.Policy[key]); err != nil {
			return nil, cli.Mistake("policy."+key, err)
		}
	}
	return policy.New(p.Definition)
}

// command judges a command line, or a program with its arguments.
func (r *recordRun) command(rec *policyRecord) (policy.Verdict, error) {
	var in struct {
		Tool      string       `json:"tool"`
		Command   recordText   `json:"command"`
		Arguments []recordText `json:"arguments"`
	}
	if err := json.Unmarshal(rec.Input, &in); err != nil {
		return policy.Verdict{}, cli.Mistake("input", err)
	}
	p, err := translate(rec)
	if err != nil {
		return policy.Verdict{}, err
	}
	c := policy.Action{Tool: in.Tool, Root: r.empty}
	command := strings.ReplaceAll(string(in.Command), "$WS", r.empty)
	if string(rec.Policy["mode"]) != `"argv"` {
		c.Shell = command
		return p.Decide(c), nil
	}
	c.Argv = []string{command}
	for _, a := range in.Arguments {
		c.Argv = append(c.Argv, strings.ReplaceAll(string(a), "$WS", r.empty))
	}
	return p.Decide(c), nil
}

// path judges the use of a path in a tree that is built for it. What the policy allows is done, as a tool would do
// it: a path that leads nowhere is refused there.
func (r *recordRun) path(rec *policyRecord) (policy.Verdict, error) {
	var in struct {
		Tool      string     `json:"tool"`
		Operation policy.Op  `json:"operation"`
		Path      recordText `json:"path"`
		FS        string     `json:"fs"`
	}
	if err := json.Unmarshal(rec.Input, &in); err != nil {
		return policy.Verdict{}, cli.Mistake("input", err)
	}
	p, err := translate(rec)
	if err != nil {
		return policy.Verdict{}, err
	}
	root, vars, err := r.build(in.FS, rec.Setup)
	if err != nil {
		return policy.Verdict{}, err
	}
	if at := rec.Policy["root"]; at != nil {
		if err := json.Unmarshal(at, &root); err != nil {
			return policy.Verdict{}, cli.Mistake("policy.root", err)
		}
		root = vars.Replace(root)
	}
	name := vars.Replace(string(in.Path))
	v := p.Decide(policy.Action{Tool: in.Tool, Root: root, Paths: []policy.PathUse{{Path: name, Op: in.Operation}}})
	if v.Decision != chat.DecisionAllow {
		return v, nil
	}
	if err := use(root, name, in.Operation); err != nil {
		return policy.Verdict{Decision: chat.DecisionDeny, Rule: "built-in: files", Why: err.Error()}, nil
	}
	return v, nil
}

// use does what was allowed.
func use(root, name string, op policy.Op) error {
	dir, err := files.Open(root, files.Options{})
	if err != nil {
		return err
	}
	defer dir.Close()
	switch op {
	case policy.OpRead:
		_, err = dir.ReadFile(name)
	case policy.OpList:
		for _, e := range dir.List(name) {
			err = errors.Join(err, e)
		}
	case policy.OpWrite:
		err = dir.WriteFile(name, []byte("written\n"), files.WriteOptions{Parents: true})
	default:
		err = dir.Remove(name)
	}
	return err
}

// build makes a tree of files, and returns the workspace in it and the names that stand for its directories.
func (r *recordRun) build(name string, setup *recordSetup) (root string, vars *strings.Replacer, err error) {
	tree := r.trees[name]
	if tree == nil {
		return "", nil, fmt.Errorf("no tree of files %q: give the file that holds it with --fixtures", name)
	}
	r.n++
	base := filepath.Join(r.temp, fmt.Sprint(r.n))
	root = filepath.Join(base, "ws")
	out := filepath.Join(base, "out")
	vars = strings.NewReplacer("$WSX", root+"-x", "$WS", root, "$OUT", out)
	for _, dir := range []string{root, root + "-x", out} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", nil, err
		}
	}
	b := treeBuilder{vars: vars}
	for name, content := range tree.Files {
		b.put(name, func(full string) error { return os.WriteFile(full, []byte(content), 0o600) })
	}
	for name, target := range tree.Symlinks {
		b.put(name, func(full string) error { return os.Symlink(vars.Replace(target), full) })
	}
	for name, target := range tree.Hardlinks {
		b.put(name, func(full string) error { return os.Link(vars.Replace(target), full) })
	}
	if setup != nil {
		for name, target := range setup.Symlink {
			b.put(name, func(full string) error { return os.Symlink(vars.Replace(target), full) })
		}
		for name, size := range setup.Sparse {
			b.put(name, func(full string) error {
				return errors.Join(os.WriteFile(full, nil, 0o600), os.Truncate(full, size))
			})
		}
	}
	return root, vars, b.err
}

// A treeBuilder puts files into a tree, until one of them cannot be put there.
type treeBuilder struct {
	vars *strings.Replacer
	err  error
}

func (b *treeBuilder) put(name string, make func(full string) error) {
	full := b.vars.Replace(name)
	if b.err == nil {
		b.err = os.MkdirAll(filepath.Dir(full), 0o700)
	}
	if b.err == nil {
		b.err = make(full)
	}
}
