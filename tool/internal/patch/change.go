package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"wield/tool/edit"
)

// A Source reads files. A *files.Root is one.
type Source interface {
	// Rel returns the one name of a path.
	Rel(path string) (string, error)
	// ReadFile returns a file's content. The error of a file that is not there is fs.ErrNotExist.
	ReadFile(path string) ([]byte, error)
	Stat(path string) (fs.FileInfo, error)
}

// A change is a Change while operations are carried out on it.
type change struct{ edit.Change }

// Plan reads the files that operations are about and finds out what becomes of them. Nothing is written. Operations
// on the same file follow one another. The error is a *Failures; it has all that is wrong.
func Plan(src Source, ops []Op) ([]edit.Change, error) {
	p := planner{src: src, byPath: map[string]*change{}, failed: &Failures{}}
	for i := range ops {
		if f := p.op(&ops[i]); f != nil {
			p.failed.List = append(p.failed.List, f)
		}
	}
	if len(p.failed.List) > 0 {
		return nil, p.failed
	}
	var all []edit.Change
	for _, c := range p.order {
		if c.Existed || c.Exists {
			c.Lenient = lenient(c.Steps)
			all = append(all, c.Change)
		}
	}
	return all, nil
}

// A planner makes changes of operations.
type planner struct {
	src    Source
	byPath map[string]*change // by the name that the file has now
	order  []*change
	failed *Failures
}

// file returns the file of an operation as the operations before left it.
func (p *planner) file(op *Op) (*change, *Failure) {
	name, err := p.src.Rel(op.Path)
	if err != nil {
		return nil, &Failure{Reason: Unusable, Path: op.Path, Line: op.Line, Err: err}
	}
	if c := p.byPath[name]; c != nil {
		return c, nil
	}
	c := &change{edit.Change{Path: name}}
	content, err := p.src.ReadFile(name)
	switch {
	case err == nil:
		c.Existed, c.Exists, c.Before, c.After = true, true, content, content
		if info, err := p.src.Stat(name); err == nil {
			c.Mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, &Failure{Reason: Unusable, Path: op.Path, Line: op.Line, Err: err}
	}
	p.byPath[name] = c
	p.order = append(p.order, c)
	return c, nil
}

func (p *planner) op(op *Op) *Failure {
	c, f := p.file(op)
	if f != nil {
		return f
	}
	switch op.Kind {
	case Create:
		f = c.create(op)
	case Delete:
		f = c.remove(op)
	case Replace:
		f = c.replace(op)
	default:
		if f = p.update(c, op); f == nil && op.To != "" {
			return p.move(c, op)
		}
		return f
	}
	if f == nil {
		p.failed.Good++
	}
	return f
}

func (c *change) fail(op *Op, reason FailureReason, hint string) *Failure {
	return &Failure{Reason: reason, Path: c.Path, Line: op.Line, Hint: hint}
}

func (c *change) create(op *Op) *Failure {
	if op.New && c.Exists && len(bytes.TrimSpace(c.After)) > 0 {
		return c.fail(op, Exists, "To change it, give the lines to look for.")
	}
	if c.Exists && string(c.After) == op.Content {
		c.warn(op.Line, "the file has this content already")
	}
	if !isText([]byte(op.Content)) {
		return c.fail(op, NotText, "")
	}
	c.Exists, c.After = true, []byte(op.Content)
	c.Steps = append(c.Steps, stepWhole)
	return nil
}

func (c *change) remove(op *Op) *Failure {
	if !c.Exists {
		return c.fail(op, NoFile, "")
	}
	c.Exists, c.After = false, nil
	return nil
}

// open returns the text of a file that is to be changed.
func (c *change) open(op *Op) (*document, *Failure) {
	switch {
	case !c.Exists:
		return nil, c.fail(op, NoFile, "To make it, give the whole file.")
	case !isText(c.After):
		return nil, c.fail(op, NotText, "")
	}
	return newDocument(string(c.After)), nil
}

// replace carries out a Replace.
func (c *change) replace(op *Op) *Failure {
	d, f := c.open(op)
	if f != nil {
		return f
	}
	if op.Old == "" {
		return c.fail(op, Empty, "Give the text that goes.")
	}
	old, with := strings.ReplaceAll(op.Old, "\r\n", "\n"), strings.ReplaceAll(op.With, "\r\n", "\n")
	if old == with {
		c.warn(op.Line, "the edit changes nothing")
	}
	places := d.inline(old, with)
	switch {
	case op.All && len(places) > 0:
		c.After = []byte(d.replaceAll(old, with))
		c.Steps = append(c.Steps, stepExact)
		return nil
	case len(places) == 1:
		c.After = []byte(d.apply(places[0].splices).String())
		c.Steps = append(c.Steps, stepExact)
		return nil
	case len(places) > 1:
		f := c.fail(op, Ambiguous, "Give more of the text around it, or set the option that replaces all of them.")
		for _, place := range places {
			f.Lines = append(f.Lines, place.line+1)
		}
		return f
	}
	h := newHunk(splitLines(old), splitLines(with), op.Line)
	place, m := d.place(&h, false, 0)
	if m != nil {
		return d.explain(c.Path, &h, m)
	}
	c.After = []byte(d.apply(place.splices).String())
	c.Steps = append(c.Steps, place.step)
	return nil
}

// replaceAll returns the text with every old replaced. If its line ends are all alike they stay so; if they are
// mixed, a text of several lines is found only where it has line feeds.
func (d *document) replaceAll(old, with string) string {
	end := d.end()
	for i, e := range d.ends {
		if e != end && i < len(d.ends)-1 {
			return strings.ReplaceAll(d.String(), old, with)
		}
	}
	text := strings.ReplaceAll(d.String(), "\r\n", "\n")
	return strings.ReplaceAll(strings.ReplaceAll(text, old, with), "\n", end)
}

// update carries out the hunks of an Update, one behind the other. All that fail are reported.
func (p *planner) update(c *change, op *Op) *Failure {
	if text, ok := op.fresh(); ok && !c.Exists {
		p.failed.Good++
		return c.create(&Op{Kind: Create, Path: op.Path, New: true, Content: text, Line: op.Line})
	}
	d, f := c.open(op)
	if f != nil {
		return f
	}
	from, failed := 0, len(p.failed.List)
	for i := range op.Hunks {
		h := &op.Hunks[i]
		place, m := d.place(h, op.Ordered, from)
		if m != nil {
			p.failed.List = append(p.failed.List, d.explain(c.Path, h, m))
			continue
		}
		if !h.changes() {
			c.warn(h.Line, "the edit changes nothing")
		}
		d = d.apply(place.splices)
		c.Steps = append(c.Steps, place.step)
		last := place.splices[len(place.splices)-1]
		from = last.from
		for _, s := range place.splices {
			from += len(s.lines)
			if s.from != last.from {
				from -= s.to - s.from
			}
		}
		p.failed.Good++
	}
	if len(p.failed.List) == failed {
		c.After = []byte(d.String())
	}
	return nil
}

// fresh returns the text of the hunks if none of them looks for anything: what is put into a file that is not there
// makes it.
func (op *Op) fresh() (string, bool) {
	var text strings.Builder
	for i := range op.Hunks {
		h := &op.Hunks[i]
		if !h.Inline || strings.TrimSpace(strings.Join(h.search(), "")) != "" {
			return "", false
		}
		text.WriteString(joinLines(h.replace()))
	}
	return text.String(), len(op.Hunks) > 0
}

// move gives a file another path.
func (p *planner) move(c *change, op *Op) *Failure {
	name, err := p.src.Rel(op.To)
	if err != nil {
		return &Failure{Reason: Unusable, Path: op.To, Line: op.Line, Err: err}
	}
	if name == c.Path {
		return nil
	}
	there, f := p.file(&Op{Path: op.To, Line: op.Line})
	if f != nil {
		return f
	}
	if there.Exists {
		return there.fail(op, Exists, "")
	}
	// A file that moves is one that goes and one that comes; From says that they are the same.
	there.Exists, there.After, there.Steps, there.Warnings = true, c.After, c.Steps, c.Warnings
	there.From, there.Mode = c.Path, c.Mode
	c.Exists, c.After, c.Steps, c.Warnings = false, nil, nil, nil
	return nil
}

func (c *change) warn(line int, what string) {
	if line > 0 {
		what = fmt.Sprintf("line %d of your text: %s", line, what)
	}
	c.Warnings = append(c.Warnings, what)
}

// lenient returns the steps that overlooked something, each once.
func lenient(steps []edit.Step) []edit.Step {
	var all []edit.Step
	for _, r := range ladder {
		if r.step != stepExact && r.step != stepInline && slices.Contains(steps, r.step) {
			all = append(all, r.step)
		}
	}
	return all
}
