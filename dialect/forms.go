package dialect

import (
	"slices"
	"strings"

	"wield/schema/shape"
)

// A blockForm is a form of block whose opening line names no tool. Its first lines tell what it is: the edits
// of a file in one of the notations that models know from elsewhere, or a file. It is a call of a tool as a
// block with the name of that tool would be.
type blockForm struct {
	tool   string     // that is called
	named  nameWanted // which line names the file
	info   []string   // what its opening line may say; nil: anything
	lines  []formLine // that it begins with
	strict bool       // each of its lines has a sign in front, so that a fence at the margin is no part of it
	shown  bool       // it may as well be there to be looked at
}

// nameWanted says where the file of a form must be named.
type nameWanted uint8

const (
	nameInText nameWanted = iota // in the text of the block, as its notation has it
	nameAbove                    // in the line above the block
	nameAlone                    // there, in a line and a paragraph of its own with nothing else
	nameFirst                    // in the first line of the block, and not above
)

// A formLine is a line that a form begins with.
type formLine struct {
	is     func(line string, ended bool) match // more of a line never changes a yes or a no
	many   bool                                // any number of them, and none
	header bool                                // it names the file
}

// maxMany bounds the lines that one row of a form stands for.
const maxMany = 8

// blockForms are the forms. The first that fits is it.
var blockForms = [...]blockForm{
	{tool: "edit", named: nameAbove, lines: []formLine{{is: isSearchLine}}},
	{tool: "edit", named: nameFirst, lines: []formLine{{is: isNameLine}, {is: isSearchLine}}},
	{tool: "edit", lines: []formLine{{is: isHeaderLine, header: true}, {is: isSearchLine}}},
	{tool: "edit", strict: true, lines: []formLine{{is: isLine(patchBegin)}, {is: isSectionLine}}},
	{tool: "edit", strict: true, shown: true, info: []string{"diff", "patch", "udiff", ""},
		lines: []formLine{{is: isGitLine, many: true}, {is: isOldLine}, {is: isNewLine}, {is: isHunkLine}}},
	{tool: "create", lines: []formLine{{is: isHeaderLine, header: true}}},
	{tool: "create", shown: true, named: nameAlone},
}

// The lines that patches are made of.
const (
	patchBegin = "*** Begin Patch"
	patchEnd   = "*** End Patch"
)

var (
	patchSections = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: "}
	gitLines      = []string{"diff --git ", "index ", "new file mode ", "deleted file mode ", "old mode ", "new mode ",
		"similarity index ", "rename from ", "rename to "}
)

// isLine returns the test for a line that says just this.
func isLine(text string) func(string, bool) match {
	return func(line string, ended bool) match {
		switch rest, ok := strings.CutPrefix(line, text); {
		case ok && strings.TrimSpace(rest) == "" && ended:
			return yes
		case ok && strings.TrimSpace(rest) != "", !ok && (ended || !strings.HasPrefix(text, line)):
			return no
		}
		return maybe
	}
}

// begins tests for a line that begins with one of the texts.
func begins(texts []string, line string, ended bool) match {
	result := no
	for _, t := range texts {
		switch {
		case strings.HasPrefix(line, t):
			return yes
		case !ended && strings.HasPrefix(t, line):
			result = maybe
		}
	}
	return result
}

func isSectionLine(line string, ended bool) match { return begins(patchSections, line, ended) }
func isGitLine(line string, ended bool) match     { return begins(gitLines, line, ended) }
func isOldLine(line string, ended bool) match     { return begins([]string{"--- "}, line, ended) }
func isNewLine(line string, ended bool) match     { return begins([]string{"+++ "}, line, ended) }
func isHunkLine(line string, ended bool) match    { return begins([]string{"@@"}, line, ended) }

// leastMarks counts the signs that a line needs to begin a group of search and replace text.
const leastMarks = 5

// isSearchLine tests for <<<<<<< SEARCH, of any length.
func isSearchLine(line string, ended bool) match {
	rest := strings.TrimLeft(line, "<")
	n := len(line) - len(rest)
	switch {
	case rest == "" && !ended:
		return maybe
	case n < leastMarks:
		return no
	}
	return begins([]string{"SEARCH"}, strings.TrimLeft(rest, " "), ended)
}

// isHeaderLine tests for === FILE: with a name behind it.
func isHeaderLine(line string, ended bool) match {
	rest, ok := strings.CutPrefix(line, blockFile)
	switch {
	case ok && strings.TrimSpace(rest) != "":
		return yes
	case !ended && (ok || strings.HasPrefix(blockFile, line)):
		return maybe
	}
	return no
}

// isNameLine tests for a line that names a file, which may be a comment.
func isNameLine(line string, ended bool) match {
	text := uncomment(line)
	switch {
	case line != "" && strings.IndexByte("{[(<=", line[0]) >= 0, strings.ContainsAny(strings.TrimRight(text, " \t\r"),
		" \t<>|\"?"):
		return no
	case !ended:
		return maybe
	case nameIn(text) != "":
		return yes
	}
	return no
}

// uncomment takes the sign of a comment off a line.
func uncomment(line string) string {
	for _, sign := range [...]string{"// ", "# ", "-- "} {
		if rest, ok := strings.CutPrefix(line, sign); ok {
			return rest
		}
	}
	return line
}

// A formTool is the tool that a form calls, as it is on offer.
type formTool struct {
	on   bool
	tool int
	plan blockPlan
}

// findFormTools finds the tools of the forms. A form whose tool is not there, or takes other arguments, is not read.
func (s *set) findFormTools() (all []formTool) {
	for k := range blockForms {
		f := &blockForms[k]
		if s.edits && f.shown {
			continue
		}
		tool, _, ok := s.names.resolve(s.opts.Prefix + f.tool)
		if !ok {
			continue
		}
		args := s.names.tools[tool].Args
		plan := planBlock(args)
		if plan.text == "" || plan.path == "" || f.strict && requires(args, plan.path) {
			continue
		}
		if all == nil {
			all = make([]formTool, len(blockForms))
		}
		all[k] = formTool{on: true, tool: tool, plan: plan}
	}
	return all
}

func requires(s *shape.Shape, name string) bool {
	return s != nil && slices.ContainsFunc(s.Props, func(p shape.Prop) bool { return p.Name == name && p.Required })
}

// A formReader reads the first lines of a fenced block, until it is known whether they are those of a form.
// All that it reads is read again by whoever is meant.
type formReader struct {
	brief
	f      fence
	info   string
	crlf   bool
	indent int
	from   int // behind the opening line
	lineAt int
	at     [len(blockForms)]formAt
}

// A formAt records how far a form fits.
type formAt struct {
	is   match
	row  int    // of its lines, the next
	met  int    // lines that stood for that row
	body int    // where its text begins
	path string // of the file, if the text does not name it
}

// openForm begins to find out whether the fenced block whose opening line ends before i is one of a form, if it may be.
func (d *Decoder) openForm(i int, f fence, info string, crlf bool) bool {
	if d.set.formTools == nil {
		return false
	}
	path, alone := d.nameAbove()
	if path == "" {
		path = nameInInfo(info)
	}
	if _, plan, ok := d.blockTool(info); ok && (plan.text == "" || plan.path != "") {
		return false // it says itself what it is
	} else if _, _, folded := d.blockTool(strings.ToLower(info)); folded && !ok {
		return false // a tool, but in another case, which is none
	}
	r := ready(&d.readers.form)
	*r = formReader{f: f, info: info, crlf: crlf, indent: d.fenceIndent(), from: d.text.at(i), lineAt: d.text.at(i)}
	for k := range blockForms {
		r.at[k] = formAt{is: no, body: r.from}
		if d.set.formTools[k].on {
			r.at[k].begin(&blockForms[k], info, path, alone)
		}
	}
	if k, known := r.choice(); known && k < 0 {
		return false
	}
	d.begin(i, r)
	return true
}

// begin looks at what is known before the first line.
func (a *formAt) begin(form *blockForm, info, path string, alone bool) {
	if form.info != nil && !slices.Contains(form.info, strings.ToLower(info)) {
		return
	}
	switch form.named {
	case nameInText:
		if a.is = maybe; !form.strict {
			a.path = path
		}
	case nameFirst:
		if path == "" {
			a.is = maybe
		}
	case nameAbove:
		if a.path = path; path != "" {
			a.is = maybe
		}
	case nameAlone:
		if a.path = path; alone {
			a.is = yes
		}
	}
}

// run takes the lines as they come.
func (r *formReader) run(d *driver, i int) (int, verdict) {
	for i < len(d.text.in) {
		end, ended := len(d.text.in), false
		if n := strings.IndexByte(d.text.in[i:], '\n'); n >= 0 {
			end, ended = i+n, true
		}
		line := d.text.held(r.lineAt, d.text.at(end))
		i = end
		if ended {
			i++
		}
		for k := range r.at {
			r.at[k].take(&blockForms[k], dedent(line, r.indent), ended, d.text.at(i))
		}
		if ended {
			r.lineAt = d.text.at(i)
		}
		if k, ok := r.choice(); ok {
			return d.yield(i, func(d *Decoder, i int) int { return r.settle(d, i, k) })
		}
	}
	return i, more
}

// dedent takes as many blanks off the beginning of a line as the block is indented, and what stands before
// the line break off its end.
func dedent(line string, indent int) string {
	for indent > 0 && strings.HasPrefix(line, " ") {
		line, indent = line[1:], indent-1
	}
	return strings.TrimSuffix(line, "\r")
}

// take looks at the next line, or at the beginning of it. What follows it begins at the offset next.
func (a *formAt) take(form *blockForm, line string, ended bool, next int) {
	for a.is == maybe {
		row := &form.lines[a.row]
		is := no
		if len(line) <= maxHeader {
			is = row.is(line, ended)
		}
		if is == yes && row.header && a.path != "" {
			if !ended {
				return
			}
			is = a.header(form, line)
		}
		switch {
		case is == yes && a.row == len(form.lines)-1:
			a.is = yes
		case is == no && !row.many || a.met > maxMany:
			a.is = no
		case is == no:
			a.row, a.met = a.row+1, 0
			continue
		case !ended:
		case row.many:
			a.met++
		default:
			a.row++
			if form.named == nameFirst {
				a.path, a.body = nameIn(uncomment(line)), next
			}
		}
		return
	}
}

// header compares the file that a line names with the one that is named above the block. Two files are for
// the tool of edits to refuse; a file that is written as a whole just has such a line.
func (a *formAt) header(form *blockForm, line string) match {
	switch {
	case nameIn(line) == a.path:
		a.path = "" // the line says it
	case form.tool != "edit":
		return no
	}
	return yes
}

// choice returns the form that it is, -1 for none, and whether that is known.
func (r *formReader) choice() (int, bool) {
	for k := range r.at {
		switch r.at[k].is {
		case yes:
			return k, true
		case maybe:
			return 0, false
		}
	}
	return -1, true
}

// settle lets the form k, or who reads fences else, read what was read up to i, and returns where to go on.
func (r *formReader) settle(d *Decoder, i, k int) int {
	at := r.from
	if k < 0 {
		d.body, d.state = nil, inOpened
	} else {
		at = r.at[k].body
		d.startForm(r, k)
	}
	if at >= d.text.at(0) {
		return d.text.index(at)
	}
	d.reread(d.text.held(at, d.text.at(i)), at)
	return i
}

// startForm begins the call of a form.
func (d *Decoder) startForm(r *formReader, k int) {
	tool, a := &d.set.formTools[k], r.at[k]
	b := ready(&d.readers.block)
	*b = blockReader{mark: r.f.mark, n: r.f.n, indent: r.indent, crlf: r.crlf, tool: tool.tool, plan: tool.plan,
		bodyAt: a.body, lineAt: a.body, from: a.body, strict: blockForms[k].strict, nested: b.nested[:0],
		paths: b.paths[:0]}
	b.head = a.path == "" && !b.strict
	b.file = a.path != ""
	b.word = d.set.names.tools[tool.tool].Name
	d.call.dialect = "cli-block"
	d.call.start(tool.tool, b.word, "", d.text.candAt, a.body)
	if b.file {
		d.call.Write(string(append(shape.AppendQuoted([]byte{'{'}, tool.plan.path), ':')), a.body)
		d.call.Write(string(shape.AppendQuoted(nil, a.path)), a.body)
	}
	d.body, d.state = b, inBody
}

// end lets the fence be what it is without a form: too little of it came.
func (r *formReader) end(d *driver) verdict {
	_, v := d.yield(0, func(d *Decoder, i int) int {
		d.body, d.state = nil, inOpened
		if rest := d.text.held(r.from, d.text.at(0)); rest != "" {
			d.reread(rest, r.from)
			return 0
		}
		return d.scanOpened(0)
	})
	return v
}

// scanOpened decides what a fence is whose opening line ends before i, and that is no block of a form.
func (d *Decoder) scanOpened(i int) int {
	r := ready(&d.readers.form)
	return d.openOther(i, r.f, r.info, r.crlf)
}
