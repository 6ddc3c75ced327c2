package local

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"wield/tool"
	"wield/tool/files"
	"wield/tool/policy"
)

// Words of results.
const (
	readDone    = "File contents:"
	readFailed  = "File read failed:"
	readsAreOff = "File reads are disabled in configuration (tools.localActions.fileReads.enabled)"
)

// probed counts the bytes of a file that are looked at to see whether it is text.
const probed = 8192

// mostPaths bounds the files of one block.
const mostPaths = 100

type readInput struct {
	Paths []string `json:"paths" jsonschema:"paths of files, relative to the workspace"`
}

func (b *tracker) readTool() *tool.Tool {
	t := tool.Stream("read",
		`Read whole text files. Write one path per line. Example: {"paths": ["src/main.go", "go.mod"]}`,
		func(ctx context.Context, c *tool.Call, in readInput) (string, error) {
			if b.o.NoReads {
				return "", tool.Errorf(tool.ErrNotAvailable, "%s", readsAreOff)
			}
			return b.read(ctx, c, in.Paths)
		})
	t.Facts = tool.Facts{Paths: []tool.PathFact{{Argument: "paths", Op: policy.OpRead}}, Each: "paths", ReadOnly: true}
	t.Limits.Output = 2*int(b.o.MaxRead) + 16<<10 // a file that may be read is shown to its end, written as JSON too
	return t
}

// read returns the files one behind the other. One that cannot be read does not keep the others from being read; only
// when all fail the call does.
func (b *tracker) read(ctx context.Context, c *tool.Call, paths []string) (string, error) {
	switch {
	case len(paths) == 0:
		return "", tool.Errorf(tool.ErrInvalid, "the block names no file: write one path a line")
	case len(paths) > mostPaths:
		return "", tool.Errorf(tool.ErrInvalid, "the block names %d files; at most %d are read at once", len(paths),
			mostPaths)
	}
	root, err := open(c, b.o.MaxRead)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var out strings.Builder
	var first error
	good := 0
	for _, path := range paths {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		out.WriteString("\n\n=== FILE: " + path + "\n")
		content, err := b.readOne(root, path)
		if err != nil {
			out.WriteString("Error: " + fault(err))
			if first == nil {
				first = err
			}
			continue
		}
		good++
		out.Write(content)
	}
	if good == 0 {
		err := failed(readFailed, first).(*tool.Error)
		err.Message = readFailed + out.String()
		return "", err
	}
	return readDone + out.String(), nil
}

var errBinary = errors.New("it is a binary file")

// readOne returns a text file, and remembers that it was seen.
func (b *tracker) readOne(root *files.Root, path string) ([]byte, error) {
	content, err := root.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(content[:min(len(content), probed)], 0) >= 0 {
		return nil, errBinary
	}
	if name, err := root.Rel(path); err == nil {
		b.sees(root, name, content)
	}
	return bytes.ToValidUTF8(content, []byte("\uFFFD")), nil
}
