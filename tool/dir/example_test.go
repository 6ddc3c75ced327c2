//go:build unix

package dir_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"wield/tool"
	"wield/tool/dir"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

const greet = `#!/bin/sh
# description: Greets somebody.
# param name string required: who
# changes: no
echo "hello $ARG_name"
`

// An executable file with a description is a tool. A program that runs such tools begins with sandbox.Main.
func ExampleLoad() {
	sandbox.Main()
	files, err := os.MkdirTemp("", "tools")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(files)
	if err := os.WriteFile(filepath.Join(files, "greet.sh"), []byte(greet), 0o755); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	list, err := dir.Load(ctx, files, dir.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tools := new(runner.Registry)
	if err := tools.Add(list...); err != nil {
		fmt.Println(err)
		return
	}
	r := runner.New(runner.Settings{Tools: tools, Sandbox: runner.Box{Level: sandbox.None}})
	result, err := r.Call(ctx, "greet", `{"name": "Ann"}`)
	fmt.Printf("%s %v\n", result.Append(nil, tool.StylePlain), err)
	// Output: hello Ann <nil>
}
