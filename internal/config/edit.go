package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"wield/internal/wholefile"
)

// ErrNotWritten is the kind of errors of SetModel: the file is as it was.
var ErrNotWritten = errors.New("not written")

// SetModel sets keys of a model in a configuration file. The rest of the file stays as it is, byte for byte; only lines with these
// keys are changed or added. The new text must mean the same but for them, or nothing is written. The file is replaced as a whole.
func SetModel(file, model string, keys [][2]string, getenv func(string) string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	text, err := setModel(string(data), model, keys)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotWritten, file, err)
	}
	if err := sameBut(file, data, []byte(text), model, keys, getenv); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotWritten, file, err)
	}
	return replaceFile(file, []byte(text))
}

// replaceFile puts a new file in the place of an old one, with its permissions.
func replaceFile(file string, data []byte) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	if err := wholefile.Write(file, data, info.Mode().Perm()); err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return nil
}

// setModel returns text with the keys of the model set.
func setModel(text, model string, keys [][2]string) (string, error) {
	rest, hasMark := strings.CutPrefix(text, "\ufeff")
	f, err := parser.ParseBytes([]byte(strings.ReplaceAll(rest, "\r\n", "\n")), 0)
	if err != nil {
		return "", err
	}
	if len(f.Docs) != 1 {
		return "", errors.New("it holds more than one document")
	}
	models, _ := child(f.Docs[0].Body, "models")
	entry, _ := child(models, model)
	pairs := pairsOf(entry)
	if len(pairs) == 0 {
		return "", fmt.Errorf("it has no models.%s with keys of its own", model)
	}
	lines := strings.SplitAfter(rest, "\n")
	var changes []change
	var added [][2]string
	for _, kv := range keys {
		old, ok := child(entry, kv[0])
		if !ok {
			added = append(added, kv)
			continue
		}
		c, err := replaced(lines, old, kv[1])
		if err != nil {
			return "", fmt.Errorf("models.%s.%s %w", model, kv[0], err)
		}
		changes = append(changes, c)
	}
	changes = append(changes, addedKeys(lines, pairs[0].Key.GetToken().Position, added, isFlow(entry)))
	apply(lines, changes)
	rest = strings.Join(lines, "")
	if hasMark {
		rest = "\ufeff" + rest
	}
	return rest, nil
}

// A change puts text in the place of a part of a line.
type change struct {
	line, at, end int // from 0, in bytes
	text          string
}

// apply makes the changes from the last to the first, so that none moves the place of another.
func apply(lines []string, changes []change) {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(b.line-a.line, b.at-a.at) })
	for _, c := range changes {
		lines[c.line] = lines[c.line][:c.at] + c.text + lines[c.line][c.end:]
	}
}

// replaced puts another value in the place of one that is plain text on one line.
func replaced(lines []string, old ast.Node, value string) (change, error) {
	t := old.GetToken()
	written := strings.TrimSpace(t.Origin)
	if !slices.Contains([]token.Type{token.StringType, token.SingleQuoteType, token.DoubleQuoteType}, t.Type) || strings.Contains(written, "\n") {
		return change{}, errors.New("is no plain text")
	}
	line := t.Position.Line - 1
	at := byteColumn(lines[line], t.Position.Column)
	if !strings.HasPrefix(lines[line][at:], written) {
		return change{}, fmt.Errorf("was not found on line %d", t.Position.Line)
	}
	return change{line, at, at + len(written), value}, nil
}

// addedKeys puts keys before the first one of a mapping: on lines of their own, or within its braces.
func addedKeys(lines []string, first *token.Position, keys [][2]string, flow bool) change {
	line := lines[first.Line-1]
	at := byteColumn(line, first.Column)
	end := "\n" + strings.Repeat(" ", first.Column-1)
	switch {
	case flow:
		end = ", "
	case strings.HasSuffix(line, "\r\n"):
		end = "\r" + end
	}
	var b strings.Builder
	for _, kv := range keys {
		b.WriteString(kv[0] + ": " + kv[1] + end)
	}
	return change{first.Line - 1, at, at, b.String()}
}

// byteColumn returns where in a line the character of this column, counted from 1, begins.
func byteColumn(line string, column int) int {
	for i := range line {
		if column--; column == 0 {
			return i
		}
	}
	return len(line)
}

// child returns the value of a key in a mapping.
func child(n ast.Node, key string) (ast.Node, bool) {
	for _, p := range pairsOf(n) {
		if p.Key.GetToken().Value == key {
			return p.Value, true
		}
	}
	return nil, false
}

func pairsOf(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.AnchorNode:
		return pairsOf(n.Value)
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func isFlow(n ast.Node) bool {
	m, ok := n.(*ast.MappingNode)
	return ok && m.IsFlowStyle
}

// sameBut checks that the new text means what the old one does but for the keys of the model.
func sameBut(file string, old, text []byte, model string, keys [][2]string, getenv func(string) string) error {
	o := Options{File: file, Getenv: getenv}
	was, err := load(file, old, o)
	if err != nil {
		return err
	}
	is, err := load(file, text, o)
	if err != nil {
		return fmt.Errorf("with the change it would be wrong: %w", err)
	}
	m := is.Models[model]
	v := reflect.ValueOf(&m).Elem()
	before := was.Models[model]
	b := reflect.ValueOf(&before).Elem()
	for _, kv := range keys {
		i := indexField(fieldsOf(v.Type()), kv[0])
		if i < 0 {
			return fmt.Errorf("a model has no key %s", kv[0])
		}
		i = fieldsOf(v.Type())[i].index
		if got := fmt.Sprint(v.Field(i).Interface()); got != kv[1] {
			return fmt.Errorf("models.%s.%s would be %q, not %q", model, kv[0], got, kv[1])
		}
		v.Field(i).Set(b.Field(i))
	}
	is.Models[model] = m
	if !reflect.DeepEqual(was.Config, is.Config) {
		return errors.New("the change would mean more than it says: set the keys yourself")
	}
	return nil
}
