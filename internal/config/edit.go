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

	"wield/tool/atomicfile"
)

// ErrNotWritten is the kind of errors of SetModel: the file is as it was.
var ErrNotWritten = errors.New("not written")

// SetModel sets keys of a model in a configuration file. The rest of the file stays as it is, byte for byte; only lines
// with these keys are changed or added. The new text must mean the same but for them, or nothing is written. The file
// is replaced as a whole.
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
	return ReplaceFile(file, []byte(text))
}

// ReplaceFile puts a new file in the place of an old one, with its permissions.
func ReplaceFile(file string, data []byte) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	if err := atomicfile.Write(file, data, info.Mode().Perm()); err != nil {
		return fmt.Errorf("%w: %w", ErrNotWritten, err)
	}
	return nil
}

// setModel returns text with the keys of the model set.
func setModel(text, model string, keys [][2]string) (string, error) {
	rest := strings.TrimPrefix(text, "\ufeff")
	mark := text[:len(text)-len(rest)]
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
	return mark + strings.Join(lines, ""), nil
}

// addLine adds a line below a path of keys: a key to a mapping or, with "- " before it, an item to a list. It goes
// before what is there; keys that are missing are added. The rest of the text stays as it is.
func addLine(text string, path []string, line string) (string, error) {
	f, err := parser.ParseBytes([]byte(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")), 0)
	if err != nil {
		return "", err
	}
	if len(f.Docs) > 1 {
		return "", errors.New("it holds more than one document")
	}
	var node ast.Node
	if len(f.Docs) == 1 {
		node = f.Docs[0].Body
	}
	depth := 0
	for ; depth < len(path); depth++ {
		below, ok := child(node, path[depth])
		if !ok {
			break
		}
		node = below
	}
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	write := func(column int) string {
		var b strings.Builder
		for i, key := range append(slices.Clone(path[depth:]), line) {
			if depth+i < len(path) {
				key += ":"
			}
			b.WriteString(strings.Repeat(" ", column-1+2*i) + key + end)
		}
		return b.String()
	}
	if depth == 0 && !isFlow(node) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += end
		}
		return text + write(1), nil
	}
	first, flow := firstOf(node)
	if first == nil {
		return "", fmt.Errorf("%s has nothing in it", strings.Join(path[:depth], "."))
	}
	lines := strings.SplitAfter(text, "\n")
	at, added := 0, ""
	if flow {
		at, added = byteColumn(lines[first.Line-1], first.Column), inFlow(path[depth:], line)+", "
	} else {
		added = write(first.Column)
	}
	apply(lines, []change{{first.Line - 1, at, at, added}})
	return strings.Join(lines, ""), nil
}

// inFlow writes a line of addLine below keys that stand in braces or brackets.
func inFlow(keys []string, line string) string {
	item, isItem := strings.CutPrefix(line, "- ")
	if isItem {
		item = "{" + item + "}"
	}
	for i, key := range slices.Backward(keys) {
		if isItem && i == len(keys)-1 {
			item = key + ": [" + item + "]"
		} else {
			item = key + ": {" + item + "}"
		}
	}
	return item
}

// firstOf returns where the first key of a mapping or item of a list stands, and whether it is in braces or brackets;
// nil: there is none.
func firstOf(n ast.Node) (at *token.Position, flow bool) {
	if list, ok := n.(*ast.SequenceNode); ok && len(list.Values) > 0 {
		if list.IsFlowStyle {
			return firstToken(list.Values[0]).Position, true
		}
		return list.Start.Position, false
	}
	if pairs := pairsOf(n); len(pairs) > 0 {
		return pairs[0].Key.GetToken().Position, isFlow(n)
	}
	return nil, false
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
	if !slices.Contains([]token.Type{token.StringType, token.SingleQuoteType, token.DoubleQuoteType}, t.Type) ||
		strings.Contains(written, "\n") {
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
	was, err := Parse(file, old, o)
	if err != nil {
		return err
	}
	is, err := Parse(file, text, o)
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
		at := fieldsOf(v.Type())[i].index
		if got := fmt.Sprint(v.FieldByIndex(at).Interface()); got != kv[1] {
			return fmt.Errorf("models.%s.%s would be %q, not %q", model, kv[0], got, kv[1])
		}
		v.FieldByIndex(at).Set(b.FieldByIndex(at))
	}
	is.Models[model] = m
	if !reflect.DeepEqual(was.placeless(), is.placeless()) {
		return errors.New("the change would mean more than it says: set the keys yourself")
	}
	return nil
}

// placeless returns the configuration without the places of rules, which are others when lines were added above.
func (c *Config) placeless() Config {
	same := *c
	same.Policies = map[string]Policy{}
	for name, p := range c.Policies {
		var rules []Rule
		for _, r := range p.Rules {
			rules = append(rules, Rule{Match: append([]string{r.rule().String()}, r.Match...), NotMatch: r.NotMatch})
		}
		p.Rules = rules
		same.Policies[name] = p
	}
	return same
}

// ChangeFile replaces a file of the data directory by what change makes, readable by its owner alone.
// Programs that do so at the same time wait for each other. The error says what the file is.
func ChangeFile(what, file string, change func() ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("%s: %w; set data in the configuration to a directory that can be written", what, err)
	}
	unlock, err := lockFile(file + ".lock")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer unlock()
	data, err := change()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, data, 0o600); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
