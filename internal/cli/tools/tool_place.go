package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/config"
	"wield/tool"
	"wield/tool/atomicfile"
)

// A placement says where new files of tools go.
type placement struct {
	dir           string
	dryRun, force bool
}

func (p *placement) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.dir, "dir", "", "tool `DIR` (default: the first of tools.dirs)")
	cmd.Flags().BoolVar(&p.dryRun, "dry-run", false, "print what would be written; write nothing")
	cmd.Flags().BoolVar(&p.force, "force", false, "replace existing files")
}

// A newFile is one that a command writes.
type newFile struct {
	name string
	text string
	mode os.FileMode
}

// find returns the directory, and whether wield looks into it.
func (p *placement) find(app *cli.App, file string) (dir string, known bool, err error) {
	r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
	if err != nil {
		return "", false, err
	}
	dir = p.dir
	if dir == "" {
		if len(r.Tools.Dirs) == 0 {
			where := "add tools: {dirs: [tools]} to " + r.File
			if r.File == "" {
				where = "there is no configuration: use --config FILE, or wield init to write one"
			}
			return "", false, cli.UsageErrorf("no directory for tools is set: %s; or use --dir DIR", where)
		}
		return r.Tools.Dirs[0], true, nil
	}
	for _, d := range r.Tools.Dirs {
		if a, errA := filepath.Abs(d); errA == nil {
			if b, errB := filepath.Abs(dir); errB == nil && a == b {
				return dir, true, nil
			}
		}
	}
	return dir, false, nil
}

// write puts files into the directory: all of them, or none if one is in the way.
func (p *placement) write(app *cli.App, file string, files ...newFile) error {
	dir, known, err := p.find(app, file)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(dir, f.name)
		if _, err := os.Lstat(name); err == nil && !p.force {
			return cli.UsageErrorf("%s is there already; --force replaces it", name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range files {
		name := filepath.Join(dir, f.name)
		if p.dryRun {
			fmt.Fprintf(app.Stdout, "would write %s:\n%s", name, f.text)
			continue
		}
		if err := writeNew(name, f); err != nil {
			return err
		}
		fmt.Fprintf(app.Stdout, "wrote %s\n", name)
	}
	if !known && !p.dryRun {
		fmt.Fprintf(app.Stderr, "wield: %s is none of tools.dirs in the configuration; add it there\n", dir)
	}
	return nil
}

// writeNew puts a file in place as a whole.
func writeNew(name string, f newFile) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(name, []byte(f.text), f.mode)
}

var toolName = regexp.MustCompile(`\A[a-z][a-z0-9]*(_[a-z0-9]+)*\z`)

func checkToolName(name string) error {
	if !toolName.MatchString(name) || len(name) > 64 {
		return cli.UsageErrorf(
			"%q is no name for a tool: small letters, digits and single underscores, a letter first, as in "+
				"read_file", name)
	}
	return nil
}

// warnLint tells what is hard to use for a model about new tools. They work all the same.
func warnLint(app *cli.App, tools []*tool.Tool) {
	var defs []chat.Tool
	for _, t := range tools {
		defs = append(defs, t.Definition)
	}
	for _, f := range lint(defs) {
		fmt.Fprintf(app.Stderr, "wield: %s\n", f)
	}
}

// breaksLine reports whether a program that reads text by lines may take r for the end of one, or not show it.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError
}

// A scaffold is the files of one kind of new tools. NAME and ABOUT stand for the name and the description.
type scaffold struct {
	kind, doc string
	files     []newFile
}

var scaffolds = []scaffold{
	{"shell", "a shell script", []newFile{
		{"NAME", `#!/bin/sh
# description: ABOUT Example: {"name": "Ann"}
# param name string required: name of the person who is greeted
# changes: no
#
# Arguments are in variables (ARG_name) and, as JSON, on the standard input. The standard output is the result.
printf 'Hello, %s\n' "$ARG_name"
`, 0o755},
		{"NAME.cases.jsonl", `{"name": "greets", "tool": "NAME", "arguments": {"name": "Ann"}, "want": "Hello, Ann"}
{"name": "needs a name", "tool": "NAME", "arguments": {}, "error": "name"}
`, 0o644},
	}},
	{"python", "a Python program", []newFile{
		{"NAME", `#!/usr/bin/env python3
# description: ABOUT Example: {"name": "Ann"}
# param name string required: name of the person who is greeted
# changes: no
#
# Arguments are JSON on the standard input. The standard output is the result: JSON if it is an object or a list, else text.
import json
import sys

arguments = json.load(sys.stdin)
print("Hello, " + arguments["name"])
`, 0o755},
		{"NAME.cases.jsonl", `{"name": "greets", "tool": "NAME", "arguments": {"name": "Ann"}, "want": "Hello, Ann"}
{"name": "needs a name", "tool": "NAME", "arguments": {}, "error": "name"}
`, 0o644},
	}},
	{"http", "a request to a service", []newFile{
		{"NAME.http.yaml", `# {NAMES} in braces are places of arguments. Secrets are written as env:NAME or file:PATH.
description: 'ABOUT Example: {"city": "Oslo"}'
method: GET
url: https://api.example.com/v1/cities/{city}
params:
  city: {description: name of the city, required: true}
result: ""          # JSON pointer to what of an answer is the result, such as /main/temp
`, 0o644},
		{"NAME.cases.jsonl", `{"name": "needs a city", "tool": "NAME", "arguments": {}, "error": "city"}
{"name": "stays in its place", "tool": "NAME", "arguments": {"city": ".."}, "error": ""}
`, 0o644},
	}},
}

func newToolNewCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	var kind, about string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create a working tool to start from",
		Long: "Writes a working tool for you to change, and test cases for wield tool test:\n\n" +
			cli.Table(func(row func(cells ...string)) {
				for _, s := range scaffolds {
					row(s.kind, s.doc)
				}
			}),
		Example: "  wield tool new greet_person\n  wield tool new city_weather --kind http --dry-run",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if err := checkToolName(name); err != nil {
				return err
			}
			if strings.ContainsFunc(about, breaksLine) {
				return cli.UsageErrorf("--desc is one line of text")
			}
			for _, s := range scaffolds {
				if s.kind != kind {
					continue
				}
				text := about
				if text == "" {
					text = map[bool]string{false: "Greets a person in words, as the beginning of a tool.",
						true: "Asks a service about a city, as the beginning of a tool."}[kind == "http"]
				}
				if kind == "http" {
					text = strings.ReplaceAll(text, "'", "''") // as YAML quotes it
				}
				var files []newFile
				fill := strings.NewReplacer("{NAMES}", "{NAMES}", "env:NAME", "env:NAME", "NAME", name, "ABOUT", text)
				for _, f := range s.files {
					f.name, f.text = fill.Replace(f.name), fill.Replace(f.text)
					files = append(files, f)
				}
				return p.write(app, *file, files...)
			}
			return cli.UsageErrorf("no kind %q; there are shell, python and http", kind)
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "shell", "`KIND` of tool: shell, python or http")
	cmd.Flags().StringVar(&about, "desc", "", "description for the model")
	p.flags(cmd)
	return cmd
}
