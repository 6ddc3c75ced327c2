package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"wield/chat"
	"wield/dialect"
	"wield/schema/near"
)

// Parse reads a scenario from data. name stands in errors. Files that it includes are not looked for: LoadFS does that.
// The error joins one *FileError for each thing that is wrong.
func Parse(name string, data []byte) (*Scenario, error) {
	l := &loader{read: func(p string) ([]byte, error) {
		if p != name {
			return nil, fmt.Errorf("include needs a scenario that is loaded from a file")
		}
		return data, nil
	}, join: func(_, rel string) string { return rel }}
	return l.load(name)
}

// LoadFS reads the scenario in the file named by name, and the files that it includes.
func LoadFS(fsys fs.FS, name string) (*Scenario, error) { return fsLoader(fsys).load(name) }

// ParseFault reads one fault, as an element of a scenario's list faults would be written.
func ParseFault(s string) (Fault, error) {
	r := &reader{file: "fault"}
	var f Fault
	if n := r.parseYAML([]byte(s)); n != nil {
		f = r.fault(n)
	}
	return f, errors.Join(r.errs...)
}

// ParseFaults reads a list of faults, or a single one.
func ParseFaults(name string, data []byte) ([]Fault, error) {
	r := &reader{file: name}
	var list []Fault
	if n := r.parseYAML(data); n != nil {
		if _, ok := r.plain(n).(*ast.SequenceNode); ok {
			r.sequence(n, "faults", func(v ast.Node) { list = append(list, r.fault(v)) })
		} else {
			list = append(list, r.fault(n))
		}
	}
	return list, errors.Join(r.errs...)
}

// loader reads files and what they include.
type loader struct {
	read func(name string) ([]byte, error)
	join func(from, rel string) string
}

func osLoader() *loader {
	return &loader{read: os.ReadFile, join: func(from, rel string) string {
		if filepath.IsAbs(rel) {
			return rel
		}
		return filepath.Join(filepath.Dir(from), rel)
	}}
}

func fsLoader(fsys fs.FS) *loader {
	return &loader{
		read: func(name string) ([]byte, error) { return fs.ReadFile(fsys, name) },
		join: func(from, rel string) string { return path.Join(path.Dir(from), rel) },
	}
}

// load reads the main file and checks the whole.
func (l *loader) load(name string) (*Scenario, error) {
	f, err := l.file(name, nil)
	if err != nil {
		return nil, err
	}
	s := &f.scenario
	if errs := s.check(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// loadedFile is a file with its includes taken in; the paces of its turns are still open to the defaults of
// the file that includes it.
type loadedFile struct {
	scenario Scenario
	defaults pace
}

func (l *loader) file(name string, open []string) (*loadedFile, error) {
	data, err := l.read(name)
	if err != nil {
		return nil, err
	}
	r := &reader{file: name}
	f := &loadedFile{scenario: Scenario{Speaks: SpeaksOpenAI, Files: []string{name}}}
	root := r.parseYAML(data)
	if root == nil {
		return nil, errors.Join(r.errs...)
	}
	includes := f.read(r, root)
	open = append(open, name)
	var turns []Turn
	for _, inc := range includes {
		target := l.join(name, inc.name)
		if slices.Contains(open, target) {
			r.fail(inc.node, "include of %s is a cycle", inc.name)
			continue
		}
		sub, err := l.file(target, open)
		if err != nil {
			r.fail(inc.node, "include of %s: %v", inc.name, err)
			continue
		}
		turns = append(turns, sub.scenario.Turns...)
		f.scenario.Files = append(f.scenario.Files, sub.scenario.Files...)
	}
	f.scenario.Turns = append(turns, f.scenario.Turns...)
	for i := range f.scenario.Turns {
		t := &f.scenario.Turns[i]
		t.pace = t.pace.over(f.defaults)
	}
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return f, nil
}

type include struct {
	node ast.Node
	name string
}

// read reads the top level of a file.
func (f *loadedFile) read(r *reader, root ast.Node) (includes []include) {
	s := &f.scenario
	var version string
	var turns bool
	r.mapping(root, "a scenario", fields{
		"wield": func(n ast.Node) {
			if version = r.text(n, "wield"); version != Version {
				r.fail(n, "wield is %q; this program reads %s", version, Version)
			}
		},
		"name": func(n ast.Node) {
			if s.Name = r.text(n, "name"); !slug.MatchString(s.Name) {
				r.fail(n, "name must be letters, digits, - and _, not %q", s.Name)
			}
		},
		"summary":      func(n ast.Node) { s.Summary = r.text(n, "summary") },
		"seed":         func(n ast.Node) { s.Seed = r.integer(n, "seed", -1<<62, 1<<62) },
		"backend":      func(n ast.Node) { r.backend(n, s) },
		"max_requests": func(n ast.Node) { s.MaxRequests = int(r.integer(n, "max_requests", 1, 1<<30)) },
		"defaults":     func(n ast.Node) { r.mapping(n, "defaults", r.paceFields(&f.defaults)) },
		"include": func(n ast.Node) {
			r.sequence(n, "include", func(v ast.Node) { includes = append(includes, include{v, r.text(v, "include")}) })
		},
		"turns": func(n ast.Node) {
			turns = true
			r.sequence(n, "turns", func(v ast.Node) { s.Turns = append(s.Turns, r.turn(v)) })
		},
		"faults": func(n ast.Node) {
			r.sequence(n, "faults", func(v ast.Node) { s.Faults = append(s.Faults, r.fault(v)) })
		},
		"expect": func(n ast.Node) { s.Expect = r.expect(n) },
		"client": func(n ast.Node) { s.Client = r.client(n) },
	})
	for _, missing := range []struct {
		key    string
		absent bool
	}{{"wield", version == ""}, {"name", s.Name == ""}, {"turns", !turns && len(includes) == 0}} {
		if missing.absent && len(r.errs) == 0 {
			r.fail(root, "the key %s is missing", missing.key)
		}
	}
	return includes
}

var slug = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

func (r *reader) backend(n ast.Node, s *Scenario) {
	r.mapping(n, "backend", fields{
		"speaks": func(n ast.Node) {
			s.Speaks = Speaks(r.oneOf(n, "speaks", string(SpeaksOpenAI), string(SpeaksAnthropic),
				string(SpeaksResponses), string(SpeaksOllama), string(SpeaksLumo), string(SpeaksRaw)))
		},
		"native_tools": func(n ast.Node) { s.NativeTools = r.boolean(n, "native_tools") },
	})
}

// oneOf reads a string that must be one of a few.
func (r *reader) oneOf(n ast.Node, what string, allowed ...string) string {
	s := r.text(n, what)
	if !slices.Contains(allowed, s) {
		r.fail(n, "%s is %q, but must be one of %s%s", what, s, strings.Join(allowed, ", "), near.Hint(s, allowed))
	}
	return s
}

func (r *reader) paceFields(p *pace) fields {
	return fields{
		"chunk": func(n ast.Node) { v := int(r.integer(n, "chunk", 0, 1<<30)); p.chunk = &v },
		"ttft":  func(n ast.Node) { v := r.duration(n, "ttft"); p.ttft = &v },
		"tps": func(n ast.Node) {
			v := r.number(n, "tps")
			if v < 0 || v > 1e6 {
				r.fail(n, "tps must be between 0 and 1000000")
				v = 0
			}
			p.tps = &v
		},
		"jitter": func(n ast.Node) { v := r.percent(n, "jitter"); p.jitter = &v },
	}
}

// percent reads 10% or 0.1.
func (r *reader) percent(n ast.Node, what string) float64 {
	s := r.text(n, what)
	num, scaled := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(num, 64)
	if scaled {
		v /= 100
	}
	if err != nil || v < 0 || v > 1 {
		r.fail(n, "%s must be a part such as 10%% or 0.1, not %q", what, s)
		return 0
	}
	return v
}

func (r *reader) turn(n ast.Node) Turn {
	t := Turn{Pos: r.pos(n)}
	known := r.paceFields(&t.pace)
	known["id"] = func(n ast.Node) { t.ID = r.text(n, "id") }
	known["when"] = func(n ast.Node) { t.when = r.when(n) }
	known["need_state"] = func(n ast.Node) { s := r.text(n, "need_state"); t.needState = &s }
	known["set_state"] = func(n ast.Node) { s := r.text(n, "set_state"); t.setState = &s }
	known["reply"] = func(n ast.Node) {
		r.sequence(n, "reply", func(v ast.Node) {
			if it, ok := r.item(v); ok {
				t.reply = append(t.reply, it)
			}
		})
	}
	known["usage"] = func(n ast.Node) {
		t.Usage.Known = true
		r.mapping(n, "usage", fields{
			"in":  func(n ast.Node) { t.Usage.In = int(r.integer(n, "in", 0, 1<<40)) },
			"out": func(n ast.Node) { t.Usage.Out = int(r.integer(n, "out", 0, 1<<40)) },
		})
	}
	known["finish"] = func(n ast.Node) { r.finish(n, &t) }
	r.mapping(n, "a turn", known)
	if t.ID == "" {
		r.fail(n, "a turn has no id")
	}
	return t
}

// failures are the ways in which a backend can end its answer with an error of its own.
var failures = map[string]chat.Error{
	"error":    {Kind: chat.ErrUnavailable, Code: "error", Message: "the backend reports an error"},
	"timeout":  {Kind: chat.ErrTimeout, Code: "timeout", Message: "the backend reports a timeout"},
	"rejected": {Kind: chat.ErrFiltered, Code: "rejected", Message: "the backend rejected the request"},
}

// finish reads a reason to stop, the name of a failure, or a failure with its message.
func (r *reader) finish(n ast.Node, t *Turn) {
	fail := func(n ast.Node, name, message string) {
		f, ok := failures[name]
		if !ok {
			r.fail(n, "finish is %q, but must be one of stop, length, content_filter, error, timeout, rejected%s", name,
				near.Hint(name, []string{"stop", "length", "content_filter", "error", "timeout", "rejected"}))
			return
		}
		if message != "" {
			f.Message = message
		}
		t.Fail = &f
	}
	switch r.plain(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		r.eachPair(n, "finish", func(key ast.Node, name string, v ast.Node) { fail(key, name, r.text(v, "finish")) })
		return
	}
	switch reason := chat.FinishReason(r.text(n, "finish")); reason {
	case chat.FinishStop, chat.FinishLength, chat.FinishFiltered:
		t.Finish = reason
	default:
		fail(n, string(reason), "")
	}
}

func (r *reader) pattern(n ast.Node, what string) *pattern {
	p, err := parsePattern(r.text(n, what))
	if err != nil {
		r.fail(n, "%s: %v", what, err)
		p = &pattern{}
	}
	return p
}

func (r *reader) when(n ast.Node) when {
	var w when
	str := func(dst **string, what string) func(ast.Node) {
		return func(n ast.Node) { s := r.text(n, what); *dst = &s }
	}
	r.mapping(n, "when", fields{
		"user":            func(n ast.Node) { w.user = r.pattern(n, "user") },
		"user_contains":   str(&w.userContains, "user_contains"),
		"system_contains": str(&w.systemContains, "system_contains"),
		"turn":            func(n ast.Node) { v := int(r.integer(n, "turn", 0, 1<<30)); w.turn = &v },
		"last": func(n ast.Node) {
			w.last = chat.Role(r.oneOf(n, "last", string(chat.RoleUser), string(chat.RoleAssistant),
				string(chat.RoleTool), string(chat.RoleSystem)))
		},
		"tool":            func(n ast.Node) { w.tool = r.text(n, "tool") },
		"result_contains": str(&w.resultContains, "result_contains"),
		"tools_offered":   func(n ast.Node) { w.toolsOffered = r.texts(n, "tools_offered") },
		"model":           func(n ast.Node) { w.model = r.pattern(n, "model") },
		"temperature":     func(n ast.Node) { v := r.number(n, "temperature"); w.temperature = &v },
		"header": func(n ast.Node) {
			r.eachPair(n, "header", func(_ ast.Node, name string, v ast.Node) {
				w.header = append(w.header, headerCondition{name, r.pattern(v, "header "+name)})
			})
		},
	})
	return w
}

func (r *reader) template(n ast.Node, what string) template {
	t, err := parseTemplate(r.text(n, what))
	if err != nil {
		r.fail(n, "%s: %v", what, err)
	}
	return t
}

// item reads one element of a reply. It reports false if there was nothing to read.
func (r *reader) item(n ast.Node) (item, bool) {
	it := item{pos: r.pos(n)}
	var kinds []string
	var splitNode, fence ast.Node
	is := func(k itemKind, name string) { it.kind = k; kinds = append(kinds, name) }
	before := len(r.errs)
	r.mapping(n, "a reply item", fields{
		"text": func(n ast.Node) {
			is(itemText, "text")
			it.src, it.text = r.text(n, "text"), r.template(n, "text")
		},
		"think": func(n ast.Node) { is(itemThink, "think"); it.think = r.template(n, "think") },
		"call":  func(n ast.Node) { is(itemCall, "call"); it.call = r.call(n) },
		"raw":   func(n ast.Node) { is(itemRaw, "raw"); it.src = r.text(n, "raw") },
		"target": func(n ast.Node) {
			is(itemTarget, "target")
			r.eachPair(n, "target", func(key ast.Node, name string, v ast.Node) {
				if it.target != "" {
					r.fail(key, "a target item has one target")
				}
				if !slices.Contains(targets, name) {
					r.fail(key, "unknown target %q%s", name, near.Hint(name, targets))
				}
				it.target, it.text = name, r.template(v, "target")
			})
		},
		"pause": func(n ast.Node) { is(itemPause, "pause"); it.pause = r.duration(n, "pause") },
		"echo":  func(n ast.Node) { is(itemEcho, "echo"); r.oneOf(n, "echo", "user") },
		"fence": func(n ast.Node) { fence = n },
		"split": func(n ast.Node) { splitNode = n },
	})
	if len(r.errs) > before {
		return it, false
	}
	if len(kinds) != 1 {
		r.fail(n, "a reply item has one of text, think, call, raw, target, pause, echo, but this one has %s",
			orNone(kinds))
		return it, false
	}
	if fence != nil {
		if it.call == nil {
			r.fail(fence, "fence goes with call")
			return it, false
		}
		it.call.fence, it.call.fenced = r.text(fence, "fence"), true
		if it.call.dialect != "" {
			r.fail(fence, "fence and as exclude each other")
		}
	}
	if splitNode != nil {
		r.split(splitNode, &it)
	}
	return it, true
}

var targets = []string{"message", "reasoning", "tool_call", "tool_result", "title"}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " and ")
}

func (r *reader) call(n ast.Node) *callItem {
	c := new(callItem)
	r.mapping(n, "call", fields{
		"name": func(n ast.Node) { c.name = r.template(n, "name") },
		"args": func(n ast.Node) {
			switch r.plain(n).(type) {
			case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.NullNode:
				c.args = r.jsonTemplate(n, "args")
			default:
				c.args, c.verbatim = r.template(n, "args"), true
			}
		},
		"id": func(n ast.Node) { c.id = r.template(n, "id") },
		"as": func(n ast.Node) { c.dialect = r.dialect(n) },
	})
	if len(c.name) == 0 {
		r.fail(n, "call has no name")
	}
	if len(c.args) == 0 && !c.verbatim {
		c.args.lit("{}")
	}
	return c
}

func (r *reader) dialect(n ast.Node) string {
	name := r.text(n, "dialect")
	if _, ok := dialect.Lookup(name); !ok {
		r.fail(n, "unknown dialect %q%s", name, near.Hint(name, dialect.Names()))
	}
	return name
}

// split reads the cut points of an item and checks the form with bars against its text.
func (r *reader) split(n ast.Node, it *item) {
	if it.kind != itemText && it.kind != itemRaw && it.kind != itemCall {
		r.fail(n, "split goes with text, raw and call")
		return
	}
	if _, ok := r.plain(n).(*ast.SequenceNode); ok {
		it.split.mode = splitAt
		last := 0
		r.sequence(n, "split", func(v ast.Node) {
			at := int(r.integer(v, "split", 1, 1<<30))
			if at != 0 && at <= last {
				r.fail(v, "offsets of split must grow")
			}
			last = at
			it.split.at = append(it.split.at, at)
		})
		return
	}
	switch s := r.text(n, "split"); s {
	case "every":
		it.split.mode = splitEvery
	case "random":
		it.split.mode = splitRandom
	default:
		it.split.mode, it.split.bars = splitBars, strings.Split(s, "|")
		r.checkBars(n, it, s)
	}
}

// checkBars compares the item with its bar form.
func (r *reader) checkBars(n ast.Node, it *item, s string) {
	if it.kind == itemCall {
		r.fail(n, "split of a call must be every, random or a list of offsets")
		return
	}
	pieces, ok := cutAtBars(s, it.src)
	if !ok {
		r.fail(n, "split without its bars is not the text of the item; it must be every, random, a list of offsets, "+
			"or the text with bars")
		return
	}
	if it.kind == itemText {
		for _, p := range pieces {
			if _, err := parseTemplate(p); err != nil {
				r.fail(n, "a bar of split stands inside a ${...}")
				return
			}
		}
	}
	it.split.bars = pieces
}

// cutAtBars cuts want where s has a bar that want has not. Where want has bars of its own there may be
// several ways; the first that works is taken.
func cutAtBars(s, want string) ([]string, bool) {
	dead := map[[2]int]bool{}
	var cuts []int
	var fit func(i, w int) bool
	fit = func(i, w int) bool {
		for ; i < len(s) && s[i] != '|'; i, w = i+1, w+1 {
			if w == len(want) || s[i] != want[w] {
				return false
			}
		}
		if i == len(s) {
			return w == len(want)
		}
		if dead[[2]int{i, w}] {
			return false
		}
		if w < len(want) && want[w] == '|' && fit(i+1, w+1) {
			return true
		}
		cuts = append(cuts, w)
		if fit(i+1, w) {
			return true
		}
		cuts = cuts[:len(cuts)-1]
		dead[[2]int{i, w}] = true
		return false
	}
	if !fit(0, 0) {
		return nil, false
	}
	var pieces []string
	start := 0
	for _, c := range append(cuts, len(want)) {
		if c > start {
			pieces = append(pieces, want[start:c])
		}
		start = c
	}
	return pieces, true
}

func (r *reader) fault(n ast.Node) Fault {
	f := Fault{On: "*", Pos: r.pos(n)}
	did := false
	r.mapping(n, "a fault", fields{
		"on":  func(n ast.Node) { f.On = r.text(n, "on") },
		"nth": func(n ast.Node) { f.Nth = int(r.integer(n, "nth", 1, 1<<30)) },
		"p":   func(n ast.Node) { f.P, f.HasP = r.percent(n, "p"), true },
		"do":  func(n ast.Node) { did = true; r.do(n, &f.Do) },
	})
	if !did && len(r.errs) == 0 {
		r.fail(n, "a fault has no do")
	}
	return f
}

// do reads what a fault does: a mapping, one name, or a list of names.
func (r *reader) do(n ast.Node, d *Do) {
	known := r.doFields(d)
	name := func(n ast.Node) {
		s := r.text(n, "do")
		if f, ok := flagOf(d, s); ok {
			*f = true
			return
		}
		names := make([]string, 0, len(known))
		for k := range known {
			names = append(names, k)
		}
		if _, ok := known[s]; ok {
			r.fail(n, "the fault %s needs a value", s)
			return
		}
		r.fail(n, "unknown fault %q%s", s, near.Hint(s, names))
	}
	switch r.plain(n).(type) {
	case *ast.StringNode:
		name(n)
	case *ast.SequenceNode:
		r.sequence(n, "do", name)
	default:
		r.mapping(n, "do", known)
	}
}

// flagOf returns the field of a fault that is just on or off.
func flagOf(d *Do, name string) (*bool, bool) {
	f, ok := map[string]*bool{
		"html_502": &d.HTML502, "reset": &d.Reset, "half_close": &d.HalfClose, "drop_done": &d.DropDone,
		"bad_utf8": &d.BadUTF8, "bad_sse": &d.BadSSE, "no_index": &d.NoIndex, "id_every_delta": &d.IDEveryDelta,
		"empty_id": &d.EmptyID, "no_role": &d.NoRole, "object_args": &d.ObjectArgs, "whole_args": &d.WholeArgs,
		"finish_stop": &d.FinishStop,
	}[name]
	return f, ok
}

var flagNames = []string{"html_502", "reset", "half_close", "drop_done", "bad_utf8", "bad_sse", "no_index",
	"id_every_delta", "empty_id", "no_role", "object_args", "whole_args", "finish_stop"}

func (r *reader) doFields(d *Do) fields {
	known := fields{
		"status":             func(n ast.Node) { d.Status = int(r.integer(n, "status", 100, 599)) },
		"retry_after":        func(n ast.Node) { d.RetryAfter = r.duration(n, "retry_after") },
		"body":               func(n ast.Node) { s := r.text(n, "body"); d.Body = &s },
		"slow_headers":       func(n ast.Node) { d.SlowHeaders = r.duration(n, "slow_headers") },
		"wrong_content_type": func(n ast.Node) { d.ContentType = r.text(n, "wrong_content_type") },
		"cut_after":          func(n ast.Node) { d.Cut = r.cut(n) },
		"stall":              func(n ast.Node) { d.Stall = r.duration(n, "stall") },
		"drip":               func(n ast.Node) { d.Drip = r.duration(n, "drip") },
		"dup_chunk":          func(n ast.Node) { d.Dup = int(r.integer(n, "dup_chunk", 1, 1<<30)) },
		"reorder":            func(n ast.Node) { d.Reorder = int(r.integer(n, "reorder", 1, 1<<30)) },
		"huge_line":          func(n ast.Node) { d.HugeLine = int(r.integer(n, "huge_line", 1, 1<<30)) },
	}
	for _, name := range flagNames {
		f, _ := flagOf(d, name)
		known[name] = func(n ast.Node) { *f = r.boolean(n, name) }
	}
	return known
}

// cut reads 37b, 4chunks or 120ms.
func (r *reader) cut(n ast.Node) *Cut {
	s := r.text(n, "cut_after")
	if num, ok := strings.CutSuffix(s, "chunks"); ok || strings.HasSuffix(s, "chunk") {
		v, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(num, "chunk")))
		if err == nil && v >= 0 {
			return &Cut{Unit: CutChunks, N: v}
		}
	} else if num, ok := strings.CutSuffix(s, "b"); ok {
		if v, err := strconv.Atoi(strings.TrimSpace(num)); err == nil && v >= 0 {
			return &Cut{Unit: CutBytes, N: v}
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return &Cut{Unit: CutTime, After: d}
	}
	r.fail(n, "cut_after must be bytes (37b), chunks (4chunks) or a duration (120ms), not %q", s)
	return nil
}

func (r *reader) expect(n ast.Node) *Expect {
	e := new(Expect)
	r.mapping(n, "expect", fields{
		"calls": func(n ast.Node) {
			e.HasCalls = true
			r.sequence(n, "calls", func(v ast.Node) {
				var c ExpectCall
				r.mapping(v, "an expected call", fields{
					"name": func(n ast.Node) { c.Name = r.text(n, "name") },
					"args": func(n ast.Node) { c.Args = json.RawMessage(r.jsonText(n, "args")) },
				})
				e.Calls = append(e.Calls, c)
			})
		},
		"calls_subset":   func(n ast.Node) { e.Subset = r.boolean(n, "calls_subset") },
		"events_include": func(n ast.Node) { e.Events = r.texts(n, "events_include") },
		"final":          func(n ast.Node) { e.final = r.pattern(n, "final") },
		"max_turns":      func(n ast.Node) { e.MaxTurns = int(r.integer(n, "max_turns", 1, 1<<20)) },
		"client_never_sees": func(n ast.Node) {
			for _, s := range r.texts(n, "client_never_sees") {
				p, err := parsePattern(s)
				if err != nil {
					r.fail(n, "client_never_sees: %v", err)
					continue
				}
				e.neverSees = append(e.neverSees, p)
			}
		},
	})
	return e
}

// jsonText returns a YAML value as JSON in which ${ has no meaning.
func (r *reader) jsonText(n ast.Node, what string) string {
	var t template
	r.appendJSON(&t, n, what, func(s string) (template, error) { return template{{lit: s}}, nil }, 0)
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.lit)
	}
	return b.String()
}

func (r *reader) client(n ast.Node) *Client {
	c := &Client{Results: map[string][]string{}}
	r.mapping(n, "client", fields{
		"dialect": func(n ast.Node) { c.Dialect = r.dialect(n) },
		"system":  func(n ast.Node) { c.System = r.text(n, "system") },
		"user":    func(n ast.Node) { c.User = r.texts(n, "user") },
		"tools": func(n ast.Node) {
			r.sequence(n, "tools", func(v ast.Node) { c.Tools = append(c.Tools, r.tool(v)) })
		},
		"results": func(n ast.Node) {
			r.eachPair(n, "results", func(_ ast.Node, name string, v ast.Node) {
				if _, ok := r.plain(v).(*ast.SequenceNode); ok {
					r.sequence(v, "results", func(e ast.Node) {
						c.Results[name] = append(c.Results[name], r.result(e))
					})
					return
				}
				c.Results[name] = []string{r.result(v)}
			})
		},
	})
	return c
}

func (r *reader) result(n ast.Node) string {
	switch r.plain(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return r.jsonText(n, "results")
	}
	return r.text(n, "results")
}

// tool reads a definition, or just a name.
func (r *reader) tool(n ast.Node) chat.Tool {
	var t chat.Tool
	switch r.plain(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		t.Name = r.text(n, "a tool")
		return t
	}
	r.mapping(n, "a tool", fields{
		"name":        func(n ast.Node) { t.Name = r.text(n, "name") },
		"description": func(n ast.Node) { t.Description = r.text(n, "description") },
		"parameters":  func(n ast.Node) { t.Parameters = json.RawMessage(r.jsonText(n, "parameters")) },
	})
	if t.Name == "" {
		r.fail(n, "a tool has no name")
	}
	return t
}

// check looks for what only the whole scenario can have wrong.
func (s *Scenario) check() []error {
	var errs []error
	fail := func(p Pos, format string, args ...any) {
		errs = append(errs, &FileError{File: p.File, Line: p.Line, Col: p.Col, Message: fmt.Sprintf(format, args...)})
	}
	seen := map[string]Pos{}
	ids := make([]string, 0, len(s.Turns))
	for i := range s.Turns {
		t := &s.Turns[i]
		if p, ok := seen[t.ID]; ok {
			fail(t.Pos, "the id %q is used twice, first at %s:%d", t.ID, p.File, p.Line)
		}
		seen[t.ID] = t.Pos
		ids = append(ids, t.ID)
	}
	for _, f := range s.Faults {
		if _, ok := seen[f.On]; !ok && f.On != "*" {
			fail(f.Pos, "a fault on %q, but there is no such turn%s", f.On, near.Hint(f.On, ids))
		}
	}
	return errs
}
