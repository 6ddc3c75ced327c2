package config

import (
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
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return nil
}

// setModel returns text with the keys of the model set.
func setModel(text, model string, keys [][2]string) (string, error) {
	f, err := parser.ParseBytes([]byte(strings.ReplaceAll(text, "\r\n", "\n")), 0)
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
		return "", fmt.Errorf("it has no models.%s on lines of its own", model)
	}
	first := pairs[0].Key.GetToken().Position
	if isFlow(entry) {
		return "", fmt.Errorf("models.%s is written in braces: set the keys there yourself", model)
	}
	lines := strings.SplitAfter(text, "\n")
	for _, kv := range slices.Backward(keys) {
		if old, ok := child(entry, kv[0]); ok {
			t := old.GetToken()
			line := &lines[t.Position.Line-1]
			if !slices.Contains([]token.Type{token.StringType, token.SingleQuoteType, token.DoubleQuoteType}, t.Type) || strings.Contains(strings.TrimSpace(t.Origin), "\n") {
				return "", fmt.Errorf("models.%s.%s is no plain text", model, kv[0])
			}
			written := strings.TrimSpace(t.Origin)
			at := strings.Index((*line)[min(len(*line), t.Position.Column-1):], written)
			if at < 0 {
				return "", fmt.Errorf("models.%s.%s was not found on line %d", model, kv[0], t.Position.Line)
			}
			at += t.Position.Column - 1
			*line = (*line)[:at] + kv[1] + (*line)[at+len(written):]
			continue
		}
		end := "\n"
		if strings.HasSuffix(lines[first.Line-1], "\r\n") {
			end = "\r\n"
		}
		lines[first.Line-1] = strings.Repeat(" ", first.Column-1) + kv[0] + ": " + kv[1] + end + lines[first.Line-1]
	}
	return strings.Join(lines, ""), nil
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
