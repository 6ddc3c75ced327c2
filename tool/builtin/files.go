package builtin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"wield/tool"
	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/policy"
)

// Bounds of what one call reads.
const (
	windowLines = 2000
	windowBytes = 48 << 10
	lineBytes   = 2000 // of a line that is shown; what is longer is cut, and says so
	listed      = 1000
	mostListed  = 10_000
)

type readInput struct {
	Path   string `json:"path" jsonschema:"path of the file, relative to the workspace, such as src/main.go"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to read, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of lines. Default: 2000"`
}

func readFile(o *Options) *tool.Tool {
	t := tool.Stream("read_file",
		`Read a text file. Long files are returned in parts; the end of the result says how to continue. `+
			`Example: {"path": "src/main.go", "offset": 1, "limit": 200}`,
		func(ctx context.Context, c *tool.Call, in readInput) (string, error) {
			root, err := workspace(c, o)
			if err != nil {
				return "", err
			}
			defer root.Close()
			f, err := root.Open(in.Path)
			if err != nil {
				return "", fileError(err)
			}
			defer f.Close()
			return readWindow(ctx, f, in)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Op: policy.OpRead}}, ReadOnly: true}
	t.Idempotent = true
	return t
}

// readWindow reads some lines. However long a file and its lines are, no more of it is in memory than a
// buffer and what is shown.
func readWindow(ctx context.Context, f *files.File, in readInput) (string, error) {
	r := bufio.NewReaderSize(f, 64<<10)
	if head, _ := r.Peek(8 << 10); !files.IsText(head) {
		return "", tool.Errorf(tool.ErrTool, "%s is a binary file of %d bytes; file_access reads it as base64",
			in.Path, f.Size)
	}
	first := max(in.Offset, 1)
	limit := in.Limit
	if limit <= 0 || limit > windowLines {
		limit = windowLines
	}
	var b strings.Builder
	line, shown := 1, 0
	for ; line < first+limit && b.Len() < windowBytes; line++ {
		if line%1024 == 0 && ctx.Err() != nil {
			return "", ctx.Err()
		}
		var dst *strings.Builder
		if line >= first {
			dst = &b
		}
		more, err := readLine(r, dst)
		if err != nil {
			return "", fileError(err)
		}
		if !more {
			break
		}
		if line >= first {
			shown++
		}
	}
	_, err := r.Peek(1)
	switch {
	case shown == 0 && first > 1:
		return "", tool.Errorf(tool.ErrTool, "%s has only %d lines", in.Path, line-1)
	case err == nil:
		fmt.Fprintf(&b, "\n[lines %d to %d of %s, which goes on; read on with \"offset\": %d]", first, line-1, in.Path,
			line)
	case first > 1:
		fmt.Fprintf(&b, "\n[lines %d to %d of %s, its end]", first, line-1, in.Path)
	}
	return b.String(), nil
}

// readLine reads one line to its end, however long, and adds its beginning to dst unless that is nil. It
// reports whether there was one.
func readLine(r *bufio.Reader, dst *strings.Builder) (bool, error) {
	n := 0
	for {
		part, err := r.ReadSlice('\n')
		if dst != nil && n < lineBytes {
			writeLine(dst, part, lineBytes-n)
		}
		n += len(part)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF:
			return n > 0, nil
		}
		return false, err
	}
}

// writeLine adds at most room bytes of a part of a line, whole characters only.
func writeLine(dst *strings.Builder, part []byte, room int) {
	if len(part) <= room || len(bytes.TrimRight(part, "\r\n")) <= room {
		dst.Write(part)
		return
	}
	for room > 0 && !utf8.RuneStart(part[room]) {
		room--
	}
	dst.Write(part[:room])
	dst.WriteString(" [the line is longer]\n")
}

type writeInput struct {
	Path    string `json:"path" jsonschema:"path of the file, relative to the workspace; missing directories are created"`
	Content string `json:"content" jsonschema:"complete new content of the file"`
}

type written struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes_written"`
}

func writeFile(o *Options) *tool.Tool {
	t := tool.Stream("write_file",
		`Create a file, or replace the whole content of an existing one. To change part of a file, use edit_file. `+
			`Example: {"path": "notes/todo.md", "content": "- buy milk\n"}`,
		func(ctx context.Context, c *tool.Call, in writeInput) (written, error) {
			root, err := workspace(c, o)
			if err != nil {
				return written{}, err
			}
			defer root.Close()
			changes, err := in.changes(root)
			if err == nil {
				_, err = o.Undo.Do(root, c.Name, c.ID, changes)
			}
			if err != nil {
				return written{}, writeError(err)
			}
			return written{in.Path, int64(len(in.Content))}, nil
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Op: policy.OpWrite}}}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	t.Preview = preview(o, func(root *files.Root, in writeInput) ([]edit.Change, error) {
		changes, err := in.changes(root)
		if err != nil {
			return nil, writeError(err)
		}
		return changes, nil
	})
	return t
}

// changes returns what the call makes of its file.
func (in *writeInput) changes(root *files.Root) ([]edit.Change, error) {
	name, err := root.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	c := edit.Change{Path: name, Exists: true, After: []byte(in.Content)}
	c.Before, err = root.ReadFile(name)
	switch {
	case err == nil:
		c.Existed = true
		if info, err := root.Stat(name); err == nil {
			c.Mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return []edit.Change{c}, nil
}

// writeError makes an error of a write one that a model can act on.
func writeError(err error) error {
	var file *files.Error
	if errors.As(err, &file) {
		return fileError(file)
	}
	return editError(err)
}

type listInput struct {
	Path    string `json:"path,omitempty" jsonschema:"directory, relative to the workspace. Default: the workspace"`
	Dir     string `json:"directory,omitempty" jsonschema:"same as path"`
	Pattern string `json:"pattern,omitempty" jsonschema:"glob relative to path, such as **/*.go; * matches within a directory, ** across directories"`
	Hidden  bool   `json:"hidden,omitempty" jsonschema:"include names that start with a dot"`
	Max     int    `json:"max_results,omitempty" jsonschema:"maximum number of names. Default: 1000"`
}

type listing struct {
	Files     []string `json:"files"` // directories end with a slash
	Count     int      `json:"count"`
	Truncated bool     `json:"truncated,omitempty"` // there are more
	Skipped   []string `json:"skipped,omitempty"`   // directories that could not be read
}

func listFiles(o *Options) *tool.Tool {
	t := tool.Stream("list_files",
		`List the entries of a directory, or with pattern all matching files below it. Directories end with a slash. `+
			`Example: {"path": "src", "pattern": "**/*.go"}`,
		func(ctx context.Context, c *tool.Call, in listInput) (listing, error) {
			root, err := workspace(c, o)
			if err != nil {
				return listing{}, err
			}
			defer root.Close()
			return list(ctx, root, in)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "path", Alias: "directory", Op: policy.OpList,
		Default: "."}}, ReadOnly: true}
	t.Idempotent = true
	return t
}

func list(ctx context.Context, root *files.Root, in listInput) (listing, error) {
	if in.Path != "" && in.Dir != "" && in.Path != in.Dir {
		return listing{}, tool.Errorf(tool.ErrInvalid,
			"path and directory are two names of one argument: give one of them")
	}
	in.Path = cmp.Or(in.Path, in.Dir, ".")
	base, err := root.Rel(in.Path)
	if err != nil {
		return listing{}, fileError(err)
	}
	if in.Pattern != "" && !doublestar.ValidatePattern(in.Pattern) {
		return listing{}, tool.Errorf(tool.ErrInvalid, "pattern: %q is no glob", in.Pattern)
	}
	most := in.Max
	if most <= 0 || most > mostListed {
		most = listed
	}
	out := listing{Files: []string{}}
	descend := func(e files.Entry) bool { return in.Pattern != "" && (in.Hidden || !hidden(e.Name)) }
	for e, err := range root.Walk(ctx, base, descend) {
		if err != nil {
			if ctx.Err() != nil {
				return listing{}, ctx.Err()
			}
			if e.Name == base {
				return listing{}, fileError(err)
			}
			out.Skipped = append(out.Skipped, e.Name)
			continue
		}
		name := below(base, e.Name)
		if !in.Hidden && hidden(e.Name) || in.Pattern != "" && !globs(in.Pattern, name, e.Info.IsDir()) {
			continue
		}
		if len(out.Files) == most {
			out.Truncated = true
			break
		}
		if e.Info.IsDir() {
			name += "/"
		}
		out.Files = append(out.Files, name)
	}
	out.Count = len(out.Files)
	return out, nil
}

// globs reports whether a name matches a pattern. A directory matches only where the pattern means it: **
// alone stands for files.
func globs(pattern, name string, dir bool) bool {
	if dir {
		p, ok := strings.CutSuffix(pattern, "/")
		return ok && doublestar.MatchUnvalidated(p, name)
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

func hidden(name string) bool { return strings.HasPrefix(path.Base(name), ".") }

// below returns a name relative to the directory that it is in.
func below(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

type accessInput struct {
	Operation string  `json:"operation" jsonschema:"what to do"`
	Path      string  `json:"path" jsonschema:"path of the file or directory, relative to the workspace"`
	Content   *string `json:"content,omitempty" jsonschema:"what to write"`
	Encoding  string  `json:"encoding,omitempty" jsonschema:"utf-8 for text, base64 for any bytes"`
}

// accessSchema is written by hand, for its enumerations.
const accessSchema = `{
  "type": "object",
  "properties": {
    "operation": {"type": "string", "enum": ["read", "write", "list", "delete"], "description": "what to do"},
    "path": {"type": "string", "description": "path of the file or directory, relative to the workspace"},
    "content": {"type": "string", "description": "content to write; required for write"},
    "encoding": {"type": "string", "enum": ["utf-8", "base64"], "description": "encoding of content: utf-8 for text, base64 for binary data"}
  },
  "required": ["operation", "path"],
  "additionalProperties": false
}`

func fileAccess(o *Options) *tool.Tool {
	t := tool.Stream("file_access",
		`Read, write, list, or delete files. Supports text and binary files with security controls. `+
			`Example: {"operation": "read", "path": "config.json"}`,
		func(ctx context.Context, c *tool.Call, in accessInput) (tool.Result, error) {
			root, err := workspace(c, o)
			if err != nil {
				return tool.Result{}, err
			}
			defer root.Close()
			out, err := access(ctx, c, o, root, in)
			if err != nil {
				return tool.Result{}, err
			}
			return tool.JSON(out)
		})
	t.Definition.Parameters = []byte(accessSchema)
	t.Facts = tool.Facts{
		Paths:     []tool.PathFact{{Argument: "path"}},
		Operation: "operation",
		Ops: map[string]policy.Op{"read": policy.OpRead, "write": policy.OpWrite, "list": policy.OpList,
			"delete": policy.OpDelete},
	}
	t.Guard = &tool.Guard{Mode: tool.ModeRO, DangerousPaths: tool.DangerousPaths("")}
	t.Style = tool.StyleLLF
	return t
}

type content struct {
	Content  string `json:"content"`
	Size     int    `json:"size"`
	Encoding string `json:"encoding"`
}

func access(ctx context.Context, c *tool.Call, o *Options, root *files.Root, in accessInput) (any, error) {
	switch in.Operation {
	case "read":
		b, err := root.ReadFile(in.Path)
		if err != nil {
			return nil, fileError(err)
		}
		if utf8.Valid(b) && !bytes.Contains(b, []byte{0}) {
			return content{string(b), len(b), "utf-8"}, nil
		}
		return content{base64.StdEncoding.EncodeToString(b), len(b), "base64"}, nil
	case "write":
		if in.Content == nil {
			return nil, tool.Errorf(tool.ErrInvalid,
				`Missing required parameter: content (operation write); "" writes an empty file`)
		}
		b := []byte(*in.Content)
		if in.Encoding == "base64" {
			var err error
			if b, err = base64.StdEncoding.DecodeString(*in.Content); err != nil {
				return nil, tool.Errorf(tool.ErrInvalid, "content is no base64: %w", err)
			}
		}
		changes, err := (&writeInput{Path: in.Path, Content: string(b)}).changes(root)
		if err == nil {
			_, err = o.Undo.Do(root, c.Name, c.ID, changes)
		}
		if err != nil {
			return nil, writeError(err)
		}
		return map[string]int{"bytes_written": len(b)}, nil
	case "list":
		l, err := list(ctx, root, listInput{Path: in.Path, Hidden: true})
		if err != nil {
			return nil, err
		}
		return l, nil
	case "delete":
		if err := remove(c, o, root, in.Path); err != nil {
			return nil, writeError(err)
		}
		return map[string]string{"deleted": in.Path}, nil
	}
	return nil, tool.Errorf(tool.ErrInvalid, "operation: no %q; there are read, write, list and delete", in.Operation)
}

// remove removes a file, which can be undone, or what else can be removed.
func remove(c *tool.Call, o *Options, root *files.Root, path string) error {
	info, err := root.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return root.Remove(path)
	}
	if name, err := root.Rel(path); err != nil || name != filepath.ToSlash(filepath.Clean(path)) {
		return root.Remove(path) // a link goes, not what it leads to
	}
	changes, err := (&writeInput{Path: path}).changes(root)
	if errors.Is(err, files.ErrTooLarge) {
		return root.Remove(path) // it cannot be kept
	}
	if err != nil {
		return err
	}
	changes[0].Exists, changes[0].After = false, nil
	_, err = o.Undo.Do(root, c.Name, c.ID, changes)
	return err
}
