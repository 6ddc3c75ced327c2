package local

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"

	"wield/tool"
	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/internal/patch"
	"wield/tool/policy"
)

// Words of results.
const (
	editDone   = "Edit applied successfully to: "
	editFailed = "Edit failed"
)

// headerMark begins the line that names the file of a block.
const headerMark = "=== FILE:"

type editInput struct {
	Path string `json:"path,omitempty" jsonschema:"path of the file, relative to the workspace; omit it if edits names the files"`
	Text string `json:"edits" jsonschema:"search/replace groups, a patch that starts with *** Begin Patch, or a unified diff"`
}

func (b *tracker) editTool() *tool.Tool {
	t := tool.Stream("edit", "Replace lines of a file. Copy the lines between <<<<<<< SEARCH and ======= exactly "+
		"from the file, where they must occur once; "+
		`the lines up to >>>>>>> REPLACE replace them. One block per file, with any number of such groups. `+
		`Example: {"path": "main.go", "edits": "<<<<<<< SEARCH\nx := 1\n=======\nx := 2\n>>>>>>> REPLACE\n"}`,
		func(_ context.Context, c *tool.Call, in editInput) (string, error) {
			return b.change(c, &in, editFailed)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Op: policy.OpWrite}}, Edits: "edits"}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	t.Preview = preview[editInput](b, editFailed)
	return t
}

// ops returns what a block asks for. A block that names its file is about no other: what a person was shown is what
// is changed.
func (in *editInput) ops() ([]patch.Op, error) {
	text := in.Text
	named := in.Path != ""
	if s := patch.Detect(text); named && s != patch.SyntaxPatch && s != patch.SyntaxUnified {
		text = headerMark + " " + in.Path + "\n" + text
	}
	ops, err := patch.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, op := range ops {
		switch {
		case named && strings.Contains(in.Path, op.Path) && in.Path != op.Path && len(ops) == 1:
			return nil, &patch.SyntaxError{Syntax: patch.Detect(text), Line: max(op.Line, 1),
				Msg: "write the name of the file as it is, with nothing around it: " + headerMark + " " + op.Path}
		case named && op.Path != in.Path:
			return nil, &patch.SyntaxError{Syntax: patch.Detect(text), Line: max(op.Line, 1),
				Msg: "Edit block contains multiple files (" + in.Path + ", " + op.Path + "). Use one edit block per " +
					"file."}
		case op.Kind == patch.Create && !op.New: // a whole file, or a part of one that was meant to be found
			return nil, &patch.SyntaxError{Syntax: patch.SyntaxBlocks, Line: max(op.Line, 1),
				Msg: "the edit has no <<<<<<< SEARCH. Write groups of <<<<<<< SEARCH, =======, >>>>>>> REPLACE, or " +
					"the whole file in a create block"}
		}
	}
	return ops, nil
}

type createInput struct {
	Path    string `json:"path,omitempty" jsonschema:"path of the file, relative to the workspace; missing directories are created"`
	Content string `json:"content" jsonschema:"complete content of the file"`
}

// Words of results.
const (
	createDone    = " created successfully"
	createOver    = " overwritten successfully"
	createFailed  = "File creation failed"
	noHeader      = "Missing === FILE: header"
	emptyFilename = "Empty filename in === FILE: header"
)

func (b *tracker) createTool() *tool.Tool {
	t := tool.Stream("create", `Create a file, or replace an existing one. `+
		`Example: {"path": "notes/todo.md", "content": "- buy milk\n"}`,
		func(_ context.Context, c *tool.Call, in createInput) (string, error) {
			return b.change(c, &in, createFailed)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Op: policy.OpWrite}}}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	t.Preview = preview[createInput](b, createFailed)
	return t
}

func (in *createInput) ops() ([]patch.Op, error) {
	if in.Path == "" {
		first, _, _ := strings.Cut(in.Content, "\n")
		if strings.HasPrefix(first, headerMark) {
			return nil, &patch.SyntaxError{Syntax: patch.SyntaxWhole, Line: 1, Msg: emptyFilename}
		}
		return nil, &patch.SyntaxError{Syntax: patch.SyntaxWhole, Line: 1, Msg: noHeader}
	}
	return []patch.Op{{Kind: patch.Create, Path: in.Path, Content: in.Content}}, nil
}

// An input holds a block that changes files.
type input interface{ ops() ([]patch.Op, error) }

// identity returns what is the same for the same call.
func identity(c *tool.Call) [32]byte {
	return sha256.Sum256([]byte(c.Root + "\x00" + c.Name + "\x00" + c.Arguments))
}

// preview returns what tells what a call would change.
func preview[In any, P interface {
	*In
	input
}](b *tracker, wrong string) func(context.Context, *tool.Call) ([]edit.Change, error) {
	return func(_ context.Context, c *tool.Call) ([]edit.Change, error) {
		var in In
		if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
			return nil, err
		}
		changes, root, err := b.plan(c, P(&in), wrong)
		if err != nil {
			return nil, err
		}
		b.shows(identity(c), changes)
		return changes, root.Close()
	}
}

// plan finds out what a block changes. Who gets no error closes the root.
func (b *tracker) plan(c *tool.Call, in input, wrong string) ([]edit.Change, *files.Root, error) {
	ops, err := in.ops()
	if err != nil {
		return nil, nil, failed(wrong, err)
	}
	root, err := open(c, b.o.MaxFile)
	if err != nil {
		return nil, nil, err
	}
	changes, err := patch.Plan(root, ops)
	if err == nil {
		err = b.stale(root, changes, identity(c))
	}
	if err == nil {
		return changes, root, nil
	}
	var f *patch.Failures
	if errors.As(err, &f) {
		err = helped{f, b.fails(root, f, identity(c), c.ID)}
	}
	return nil, nil, failed(wrong, errors.Join(err, root.Close()))
}

// helped is a failure with what helps the model on.
type helped struct {
	*patch.Failures
	help string
}

func (h helped) Error() string { return h.Failures.Error() + h.help }

// change carries out a block, and says what has become of its files.
func (b *tracker) change(c *tool.Call, in input, wrong string) (string, error) {
	changes, root, err := b.plan(c, in, wrong)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := b.o.Undo.Do(root, c.Name, c.ID, changes); err != nil {
		return "", failed(wrong, err)
	}
	b.done(root, changes, identity(c))
	shown := c.Output("summary")
	var out strings.Builder
	for i := range changes {
		shown.Write([]byte(changes[i].Summary() + "\n")) // never fails
	}
	if wrong == editFailed {
		out.WriteString(editDone + names(changes))
	} else {
		out.WriteString(created(&changes[0]))
	}
	out.WriteString(remarks(changes))
	return out.String(), nil
}

// names lists the files of changes.
func names(changes []edit.Change) string {
	list := make([]string, len(changes))
	for i := range changes {
		list[i] = changes[i].Path
	}
	return strings.Join(list, ", ")
}

func created(c *edit.Change) string {
	if c.Existed {
		return "File " + c.Path + createOver
	}
	return "File " + c.Path + createDone
}

// remarks tells what was overlooked in finding the places, and what the model should know.
func remarks(changes []edit.Change) string {
	var out strings.Builder
	for i := range changes {
		c := &changes[i]
		if steps := c.Lenient; len(steps) > 0 {
			words := make([]string, len(steps))
			for k, s := range steps {
				words[k] = string(s)
			}
			out.WriteString("\nNote: " + c.Path + " differs from your text in: " + strings.Join(words, ", "))
		}
		for _, w := range c.Warnings {
			out.WriteString("\nWarning: " + c.Path + ": " + w)
		}
	}
	return out.String()
}
