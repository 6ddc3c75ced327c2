package policy

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPatternsCompile compiles every pattern of the package: no process should find out when it decides.
func TestPatternsCompile(t *testing.T) {
	set := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	look := func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "lazily" {
			return true
		}
		found++
		value, err := types.Eval(set, nil, token.NoPos, types.ExprString(call.Args[0]))
		if err != nil {
			t.Errorf("%s: %v", set.Position(call.Pos()), err)
			return true
		}
		if _, err := regexp.Compile(constant.StringVal(value.Value)); err != nil {
			t.Errorf("%s: %v", set.Position(call.Pos()), err)
		}
		return true
	}
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			ast.Inspect(file, look)
		}
	}
	if found < 20 {
		t.Errorf("%d patterns were found", found)
	}
}
