package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"wield/tool"
	"wield/tool/sandbox"
)

// AroundOptions say which program [Around] asks, and about which calls.
type AroundOptions struct {
	Command sandbox.Command // without its input and outputs
	Timeout time.Duration   // of one answer; 0: 10 s
	Files   []string        // of the program; while a change of one is held back, it is not run
	Tools   func(name string) bool
	Before  bool // it is asked before a tool runs
	After   bool // it is asked when a tool has run
}

// maxAround bounds what the program may answer.
const maxAround = 1 << 20

// An aroundQuestion is read by the program, as one line of JSON.
type aroundQuestion struct {
	Hook      string          `json:"hook"` // before or after
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Success   *bool           `json:"success,omitempty"` // of after
	Data      json.RawMessage `json:"data,omitempty"`
	Error     string          `json:"error,omitempty"`
	Seconds   float64         `json:"seconds,omitempty"`
}

// An aroundAnswer is written by the program, as one line of JSON or nothing: what stands in place of the result.
type aroundAnswer struct {
	Data  json.RawMessage `json:"data"`
	Error string          `json:"error"`
}

// Around returns a middleware that asks a program about calls. Before a tool runs it may answer in its place,
// and afterwards change what came out; the arguments stay as they are, since rules and people have been asked
// about them. A program that fails fails the call.
func Around(o AroundOptions) tool.Middleware {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	o.Command.Limits.Output = maxAround
	return func(next tool.Handler) tool.Handler {
		return tool.HandlerFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			if !o.Tools(c.Tool.Name()) {
				return next.Run(ctx, c)
			}
			q := aroundQuestion{Hook: "before", Tool: c.Tool.Name(), Arguments: json.RawMessage(c.Arguments)}
			if o.Before {
				if r, ok, err := o.ask(ctx, c, q); ok || err != nil {
					return r, err
				}
			}
			start := time.Now()
			result, err := next.Run(ctx, c)
			if !o.After || errors.Is(err, ErrPending) || ctx.Err() != nil {
				return result, err
			}
			told := result
			if err != nil {
				told = tool.Failure(err)
			}
			q.Hook, q.Success, q.Data, q.Error, q.Seconds = "after", &told.OK, told.Data, told.Error,
				time.Since(start).Seconds()
			if r, ok, err := o.ask(ctx, c, q); ok || err != nil {
				return r, err
			}
			return result, err
		})
	}
}

// ask runs the program for one question, and reports whether it has a result of its own.
func (o *AroundOptions) ask(ctx context.Context, c *tool.Call, q aroundQuestion) (tool.Result, bool, error) {
	lent := c.Host()
	if lent.Watcher == nil {
		return tool.Result{}, false, errors.New("tool: the call was made by no runner")
	}
	for _, file := range o.Files {
		if lent.Guarded == nil {
			break
		}
		if h, held, err := lent.Guarded.Pending(file); held || err != nil {
			return tool.Result{}, false, tool.Errorf(tool.ErrTool, "the program %s, which is asked about calls, "+
				"does not run: %s was changed by the tool %s and is held back; wield tool accept %s agrees to it",
				o.Command.Argv[0], h.Path, h.By, h.Path)
		}
	}
	line, err := json.Marshal(q)
	if err != nil {
		return tool.Result{}, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var out, said bytes.Buffer
	cmd := o.Command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(line, '\n')), &out, &said
	w := lent.Watcher.Watch(c.Root, cmd.Writable...)
	w.Begin(&cmd)
	exit, err := sandbox.Run(ctx, cmd)
	c.Told(w.End(filepath.Base(cmd.Argv[0])))
	if err == nil && exit.Code != 0 {
		text := bytes.TrimSpace(said.Bytes())
		text = text[bytes.LastIndexByte(text, '\n')+1:]
		err = fmt.Errorf("it ended with %d: %s", exit.Code, text[:min(len(text), 300)])
	}
	if text := bytes.TrimSpace(out.Bytes()); err == nil && len(text) > 0 {
		var a aroundAnswer
		if err = json.Unmarshal(text, &a); err == nil {
			switch {
			case a.Error != "":
				return tool.Failure(tool.Errorf(tool.ErrTool, "%s", a.Error)), true, nil
			case len(a.Data) > 0 && string(a.Data) != "null":
				return tool.Result{OK: true, Data: a.Data}, true, nil
			}
		} else {
			err = fmt.Errorf("its answer is no line of JSON: %w", err)
		}
	}
	if err != nil {
		return tool.Result{}, false, tool.Errorf(tool.ErrTool, "the program %s, which is asked about calls, failed: %v",
			o.Command.Argv[0], err)
	}
	return tool.Result{}, false, nil
}
