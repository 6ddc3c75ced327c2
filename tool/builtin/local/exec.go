package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/tool"
)

type execInput struct {
	Code string `json:"code" jsonschema:"code to run"`
}

// mostCode bounds the text of a block: systems take no longer argument.
const mostCode = 128<<10 - 1

// tool makes the tool of an executor.
func (e Executor) tool() *tool.Tool {
	t := tool.Stream(e.Name,
		fmt.Sprintf(
			`Run code with %s in the workspace and return its output. Standard input is empty. Example: {"code": %q}`,
			e.Name, e.example()),
		func(context.Context, *tool.Call, execInput) (string, error) { return "", nil })
	t.Handler = tool.HandlerFunc(e.run) // beside an error it returns what came out before
	t.Facts = tool.Facts{Program: e.Argv, Code: "code"}
	if e.isShell() {
		t.Facts = tool.Facts{Shell: "code"}
	}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	return t
}

// examples are blocks for well-known executors.
var examples = map[string]string{"python": "print(1 + 2)"}

func (e *Executor) example() string {
	if x, ok := examples[e.Name]; ok || !e.isShell() {
		return x
	}
	return "ls -l"
}

func (e *Executor) run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	var in execInput
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return tool.Result{}, err
	}
	if err := e.runnable(in.Code); err != nil {
		return tool.Result{}, err
	}
	cmd := c.Command(append(slices.Clone(e.Argv), in.Code)...)
	c.Keep(&cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output // one writer: the order of what is written is kept
	exit, err := c.Exec(ctx, cmd)
	text := fenced(output.String(), exit.Truncated)
	switch {
	case err != nil && output.Len() == 0:
		return tool.Result{}, err
	case err != nil:
		return tool.Result{Data: tool.Text(text).Data}, err
	case exit.Signal != "":
		return tool.Text(fmt.Sprintf("%s failed (exit code %d, %s):\n%s", e.Name, exit.Code, exit.Signal, text)), nil
	case exit.Code != 0:
		return tool.Text(fmt.Sprintf("%s failed (exit code %d):\n%s", e.Name, exit.Code, text)), nil
	}
	return tool.Text(fmt.Sprintf("%s executed successfully (exit code 0):\n%s", e.Name, text)), nil
}

// runnable tells why a text cannot be an argument of a program.
func (e *Executor) runnable(code string) error {
	switch {
	case strings.TrimSpace(code) == "":
		return tool.Errorf(tool.ErrInvalid, "the block is empty")
	case len(code) > mostCode:
		return tool.Errorf(tool.ErrInvalid,
			"the block has %d bytes; %s takes at most %d: write it to a file with a create block and run that",
			len(code), e.Name, mostCode)
	case strings.IndexByte(code, 0) >= 0:
		return tool.Errorf(tool.ErrInvalid, "the block holds a zero byte, which no program takes")
	}
	return nil
}

// fenced returns an output between fences that it cannot close.
func fenced(output string, more bool) string {
	text := strings.ToValidUTF8(output, "\uFFFD")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if more {
		text += "[there was more output]\n"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + fence
}
