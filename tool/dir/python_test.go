package dir

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/schema"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

// loadPython loads one file of functions.
func loadPython(t *testing.T, text string) ([]*tool.Tool, error) {
	t.Helper()
	needPython(t)
	dir := t.TempDir()
	tree(t, dir, map[string]string{"tools.py": text, "_helper.py": "NAME = 'helper'\n"})
	s := &Set{python: &python, Dirs: []string{dir}, Options: Options{Level: sandbox.None}}
	tools, errs := s.Load(t.Context())
	return tools, errors.Join(errs...)
}

// TestAnnotations: what a parameter's annotation becomes.
func TestAnnotations(t *testing.T) {
	annotations := map[string]string{
		"str": `{"type":"string"}`, "int": `{"type":"integer"}`, "float": `{"type":"number"}`,
		"bool": `{"type":"boolean"}`, "dict": `{"type":"object"}`, "list": `{"type":"array"}`,
		"list[int]":        `{"type":"array","items":{"type":"integer"}}`,
		"typing.List[str]": `{"type":"array","items":{"type":"string"}}`,
		"set[str]":         `{"type":"array","items":{"type":"string"},"uniqueItems":true}`,
		"dict[str, float]": `{"type":"object","additionalProperties":{"type":"number"}}`,
		"Optional[int]":    `{"type":["integer","null"]}`, "int | None": `{"type":["integer","null"]}`,
		"Union[str, list[str]]": `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`,
		`Literal["a", "b"]`:     `{"type":"string","enum":["a","b"]}`, "Literal[1, 2]": `{"enum":[1,2]}`,
		`"int"`: `{"type":"integer"}`, "Any": `{}`,
		`Annotated[int, "how many"]`: `{"type":"integer","description":"how many"}`,
		"tuple[int, ...]":            `{"type":"array","items":{"type":"integer"}}`,
		"tuple[int, str]":            `{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false,"minItems":2}`,
		"Colour":                     `{"type":"string","enum":["red","green"]}`,
		"Place":                      `{"type":"object","properties":{"lat":{"type":"number"},"name":{"type":"string"}},"additionalProperties":false,"required":["lat"]}`,
		"Half":                       `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, "Path": `{"type":"string"}`, "date": `{"type":"string","format":"date"}`,
	}
	var file strings.Builder
	file.WriteString(`from typing import *
from enum import Enum
from dataclasses import dataclass
class Colour(Enum):
    RED = "red"
    GREEN = "green"
@dataclass
class Place:
    lat: float
    name: str = "x"
class Half(TypedDict, total=False):
    a: str
`)
	names := slices.Sorted(maps.Keys(annotations))
	for i, annotation := range names {
		fmt.Fprintf(&file, "def look%d(x: %s):\n    \"\"\"Looks.\"\"\"\n", i, annotation)
	}
	tools, err := loadPython(t, file.String())
	if err != nil || len(tools) != len(names) {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	for i, annotation := range names {
		got := strings.NewReplacer(`": `, `":`, `, "`, `,"`, `, {`, `,{`, `, 2`,
			`,2`).Replace(string(tools[i].Definition.Parameters))
		if want := `{"type":"object","properties":{"x":` + annotations[annotation] +
			`},"additionalProperties":false,"required":["x"]}`; got != want {
			t.Errorf("%s: %s; want %s", annotation, got, want)
		}
		if _, err := schema.Compile(tools[i].Definition.Parameters); err != nil {
			t.Errorf("%s: %v", annotation, err)
		}
	}
}

const pythonTools = `"""Tools for a test."""
from __future__ import annotations
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Optional
import _helper

raised = ValueError("there is no such city")

@dataclass
class Place:
    lat: float
    name: str = "here"

class Colour(Enum):
    RED = "red"

# path read: file
# changes: no
# timeout: 77s
def count_words(file: Path, least: int = 1) -> int:
    """Counts the words of a file. Example: {"file": "a.txt"}

    Only long ones, if told so.

    Args:
        file: path of the file,
            in the workspace
        least (int): letters that a word has at least

    Returns:
        how many
    """
    print("counting")
    return sum(len(w) >= least for w in file.read_text().split())

def kinds(place: Place, colour: Colour, tags: set[str], more: Optional[list[Place]] = None):
    """Tells kinds.

    :param place: where
    :param colour: which
    """
    return {"place": type(place).__name__, "name": place.name, "colour": colour, "tags": tags, "more": [type(p).__name__ for p in more or []], "helper": _helper.NAME}

async def fail(how: str):
    """Fails."""
    if how == "raise":
        raise raised
    if how == "exit":
        sys.exit(3)
    return object()

def _private(x): pass
`

func TestFunctions(t *testing.T) {
	tools, err := loadPython(t, pythonTools)
	if err != nil || len(tools) != 3 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	count, kinds, fail := tools[0], tools[1], tools[2]
	if d := count.Definition; d.Name != "count_words" ||
		d.Description != `Counts the words of a file. Example: {"file": "a.txt"} Only long ones, if told so. Returns: how many` ||
		!strings.Contains(string(d.Parameters), `"description": "path of the file, in the workspace"`) ||
		!strings.Contains(string(d.Parameters), `"default": 1`) {
		t.Errorf("%s %s", d.Description, d.Parameters)
	}
	if f := count.Facts; !f.ReadOnly || len(f.Paths) != 1 ||
		f.Paths[0] != (tool.PathFact{Argument: "file", Op: policy.OpRead}) || count.Limits.Timeout.Seconds() != 77 {
		t.Errorf("%+v", count)
	}
	if kinds.Guard == nil || kinds.Guard.Mode != tool.ModeRO {
		t.Errorf("%+v may change things", kinds.Guard)
	}
	var reg runner.Registry
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: &reg, Root: t.TempDir(), Temp: t.TempDir()})
	r = r.With(func(s *runner.Settings) { s.Sandbox.Level = sandbox.None })
	tree(t, r.Settings().Root, map[string]string{"a.txt": "one two three"})
	for _, tt := range []struct{ name, args, data, fails string }{
		{"count_words", `{"file":"a.txt"}`, "3", ""},
		{"count_words", `{"file":"a.txt","least":4}`, "1", ""},
		{"count_words", `{"file":"none.txt"}`, "", "No such file"},
		{"count_words", `{"file":5}`, "", "want string"},
		{"kinds", `{"place":{"lat":1},"colour":"red","tags":["b","a"],"more":[{"lat":2.5}]}`,
			`{"place": "Place", "name": "here", "colour": "red", "tags": ["a", "b"], "more": ["Place"], "helper": "helper"}`, ""},
		{"kinds", `{"place":{"lat":1},"colour":"blue","tags":[]}`, "", "blue"},
		{"fail", `{"how":"raise"}`, "", "there is no such city"},
		{"fail", `{"how":"exit"}`, "", "3"},
		{"fail", `{"how":""}`, "", "a result of type object"},
	} {
		res, err := r.Call(t.Context(), tt.name, tt.args)
		if err != nil || res.OK != (tt.fails == "") || string(res.Data) != tt.data ||
			!strings.Contains(res.Error, tt.fails) {
			t.Errorf("%s %s: %s %q, %v; want %s %q", tt.name, tt.args, res.Data, res.Error, err, tt.data, tt.fails)
		}
	}
	if res, _ := r.Call(t.Context(), "fail", `{"how":"raise"}`); string(
		res.Details) != `{"type":"ValueError","at":"tools.py:50"}` {
		t.Errorf("%s", res.Details)
	}
	if fail.Source == "" || filepath.Base(fail.Source) != "tools.py" {
		t.Error(fail.Source)
	}
}

// TestWrongFunctions: what is wrong is told with the line, and nothing of the file runs.
func TestWrongFunctions(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		says string
	}{
		{"def f(x: str):\n    pass\n", 1, "no docstring"},
		{"import os\n\ndef f(x):\n    \"\"\"F.\"\"\"\n", 3, "has no type"},
		{"def f(*x: str):\n    \"\"\"F.\"\"\"\n", 1, "any number of arguments"},
		{"def f(x: str, /):\n    \"\"\"F.\"\"\"\n", 1, "take the / away"},
		{"def f(a: str,\n      x: Frame):\n    \"\"\"F.\"\"\"\n", 2, "no schema for the annotation Frame"},
		{"def f(x: dict[int, str]):\n    \"\"\"F.\"\"\"\n", 1, "the keys of a JSON object are str"},
		{"class A:\n    pass\ndef f(x: A):\n    \"\"\"F.\"\"\"\n", 1, "no Enum, TypedDict or dataclass"},
		{"def f(x: str):\n    \"\"\"F.\n\n    Args:\n        y: what\n    \"\"\"\n", 1, "no parameter"},
		{"# tmeout: 5s\ndef f(x: str):\n    \"\"\"F.\"\"\"\n", 1, `did you mean "timeout"`},
		{"# path read: y\ndef f(x: str):\n    \"\"\"F.\"\"\"\n", 1, `no parameter "y"`},
		{"def f(x: str)\n    pass\n", 1, ""},
		{"raise SystemExit('it ran')\ndef f(x: str):\n    pass\n", 2, "no docstring"},
	} {
		tools, err := loadPython(t, tt.text)
		var e *Error
		if len(tools) > 0 || !errors.As(err, &e) || e.Line != tt.line || !strings.Contains(e.Msg, tt.says) ||
			filepath.Base(e.File) != "tools.py" {
			t.Errorf("%q: %d tools, %v; want line %d, %q", tt.text, len(tools), err, tt.line, tt.says)
		}
	}
}
