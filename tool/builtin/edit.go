package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"wield/tool"
	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/internal/patch"
	"wield/tool/policy"
)

type editInput struct {
	Path string `json:"path,omitempty" jsonschema:"path of the file, relative to the workspace; omit it if edits names the files"`
	Old  string `json:"old_string,omitempty" jsonschema:"text to replace; it must occur exactly once, so include whole lines of context"`
	New  string `json:"new_string,omitempty" jsonschema:"replacement text"`
	All  bool   `json:"replace_all,omitempty" jsonschema:"replace all occurrences of old_string"`
	Text string `json:"edits,omitempty" jsonschema:"instead of old_string and new_string: search/replace blocks, a patch that starts with *** Begin Patch, or a unified diff, for any number of files"`
}

type editOutput struct {
	Files []edited `json:"files"`
}

type edited struct {
	Path     string   `json:"path"`
	Summary  string   `json:"summary"`
	Diff     string   `json:"diff"`
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func editFile(o *Options) *tool.Tool {
	t := tool.Stream("edit_file",
		`Replace text in files. Give path, old_string and new_string, or edits. Either all edits are applied or none; `+
			`if a text is not found, the result shows what the file contains. Example: {"path": "main.go", "old_string": "x := 1\n", "new_string": "x := 2\n"}`,
		func(_ context.Context, c *tool.Call, in editInput) (editOutput, error) {
			ops, err := in.ops()
			if err != nil {
				return editOutput{}, err
			}
			root, err := workspace(c, o)
			if err != nil {
				return editOutput{}, err
			}
			defer root.Close()
			changes, err := patch.Plan(root, ops)
			if err == nil {
				_, err = o.Undo.Do(root, c.Name, c.ID, changes)
			}
			if err != nil {
				return editOutput{}, editError(err)
			}
			return shownEdits(changes), nil
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Op: policy.OpWrite}}, Edits: "edits"}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	t.Preview = preview(o, func(root *files.Root, in editInput) ([]edit.Change, error) {
		ops, err := in.ops()
		if err != nil {
			return nil, err
		}
		changes, err := patch.Plan(root, ops)
		if err != nil {
			return nil, editError(err)
		}
		return changes, nil
	})
	return t
}

// preview makes what tells what a call would change of what plans it.
func preview[In any](o *Options,
	plan func(*files.Root, In) ([]edit.Change, error)) func(context.Context, *tool.Call) ([]edit.Change, error) {
	return func(_ context.Context, c *tool.Call) ([]edit.Change, error) {
		var in In
		if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
			return nil, err
		}
		root, err := workspace(c, o)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return plan(root, in)
	}
}

// ops returns what the arguments ask for.
func (in *editInput) ops() ([]patch.Op, error) {
	switch {
	case in.Text == "" && in.Path == "":
		return nil, tool.Errorf(tool.ErrInvalid, "give path, old_string and new_string, or edits")
	case in.Text == "":
		return []patch.Op{{Kind: patch.Replace, Path: in.Path, Old: in.Old, With: in.New, All: in.All}}, nil
	case in.Old != "" || in.New != "":
		return nil, tool.Errorf(tool.ErrInvalid, "give old_string and new_string, or edits, not both")
	}
	text := in.Text
	if patch.Detect(text) == patch.SyntaxAider && in.Path != "" {
		text = "=== FILE: " + in.Path + "\n" + text
	}
	ops, err := patch.Parse(text)
	if err != nil {
		return nil, tool.Errorf(tool.ErrInvalid, "%w", err)
	}
	return ops, nil
}

func editError(err error) error {
	kind := tool.ErrTool
	if errors.Is(err, patch.Unusable) {
		kind = tool.ErrSecurity
	}
	return &tool.Error{Kind: kind, Message: err.Error(), Cause: err}
}

func shownEdits(changes []edit.Change) editOutput {
	out := editOutput{Files: []edited{}}
	for i := range changes {
		ch := &changes[i]
		e := edited{Path: ch.Path, Summary: ch.Summary(), Diff: ch.Diff(3), Warnings: ch.Warnings}
		if steps := ch.Lenient; len(steps) > 0 {
			words := make([]string, len(steps))
			for i, s := range steps {
				words[i] = string(s)
			}
			e.Notes = append(e.Notes, "the file differs from your text in: "+strings.Join(words, ", "))
		}
		out.Files = append(out.Files, e)
	}
	return out
}
