package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"wield/schema/near"
)

// A decoder fills structs from one YAML document. It goes on after a problem, so that all of them are found at once.
type decoder struct {
	file     string
	lines    []string
	problems Problems
	places   map[string]keyPlace // of the keys that stand in the file, by path
	anchors  map[string]ast.Node
	hidden   []span
	sources  map[string]string // where values come from that are not the file's, by path
	only     string            // what to say about an unknown key, instead of the keys that are known
}

// A span is a part of a line that may be a secret, from a column to before another; 0: to the end of the line.
type span struct{ line, from, to int }

// A keyPlace locates a key and its value.
type keyPlace struct {
	key   *token.Token // nil for the items of a list
	value ast.Node
}

func newDecoder(file string) *decoder {
	return &decoder{
		file:    file,
		places:  map[string]keyPlace{},
		anchors: map[string]ast.Node{},
		sources: map[string]string{},
	}
}

// decode reads data into the struct that into points to.
func (d *decoder) decode(data []byte, into any) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d.lines = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	if !utf8.Valid(data) {
		d.problems = append(d.problems, &Problem{File: d.file, Message: "not UTF-8 text"})
		return
	}
	f, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntaxError(err)
		return
	}
	var body ast.Node
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.problem(doc.Body, "", "a second document: the file holds one")
			break
		}
		body = doc.Body
	}
	if body == nil {
		body = ast.Null(token.New("", "", &token.Position{Line: 1, Column: 1}))
	}
	d.value("", body, reflect.ValueOf(into).Elem(), field{})
}

// done returns all problems with the lines they show, in which what may be a secret is starred out.
func (d *decoder) done() Problems {
	for _, p := range d.problems {
		if p.Line < 1 || p.Line > len(d.lines) {
			continue
		}
		line := []rune(d.lines[p.Line-1])
		for _, s := range d.hidden {
			if s.line == p.Line {
				star(line, s.from, s.to)
			}
		}
		p.Source = string(line)
	}
	sort.SliceStable(d.problems, func(i, j int) bool {
		a, b := d.problems[i], d.problems[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return d.problems
}

func star(line []rune, from, to int) {
	if to == 0 || to > len(line)+1 {
		to = len(line) + 1
	}
	for i := max(from, 1); i < to; i++ {
		if line[i-1] != ' ' {
			line[i-1] = '*'
		}
	}
}

// hide keeps a node's text out of all problems.
func (d *decoder) hide(n ast.Node) {
	t := firstToken(n)
	if t == nil {
		return
	}
	line, column := t.Position.Line, t.Position.Column
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			d.hide(pair.Value)
		}
		return
	case *ast.MappingValueNode:
		d.hide(n.Value)
		return
	case *ast.SequenceNode:
		for _, v := range n.Values {
			d.hide(v)
		}
		return
	case *ast.BoolNode, *ast.NullNode:
		return // nobody's secret
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
		if more := strings.Count(strings.TrimSpace(t.Origin), "\n"); more == 0 {
			d.hidden = append(d.hidden, span{line, column, column + width(t)})
			return
		}
	}
	for range 1 + strings.Count(t.Origin, "\n") {
		d.hidden = append(d.hidden, span{line, column, 0})
		line, column = line+1, 1
	}
}

func (d *decoder) syntaxError(err error) {
	p := &Problem{File: d.file, Message: err.Error()}
	var se yaml.Error
	if errors.As(err, &se) {
		p.Message = "not YAML: " + se.GetMessage()
		if t := se.GetToken(); t != nil && t.Position != nil {
			d.locate(p, t.Position.Line, t.Position.Column, 1)
			// Nobody knows what a line that cannot be read holds.
			if p.Line <= len(d.lines) {
				key, _, _ := strings.Cut(d.lines[p.Line-1], ":")
				d.hidden = append(d.hidden, span{p.Line, utf8.RuneCountInString(key) + 2, 0})
			}
		}
	}
	d.problems = append(d.problems, p)
}

// value reads n into v, which f describes.
func (d *decoder) value(path string, n ast.Node, v reflect.Value, f field) {
	n = d.follow(path, n)
	if n == nil {
		return
	}
	if s, ok := asScalar(v); ok {
		d.scalar(path, n, v, s, f)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(path, n, v.Elem(), f)
	case reflect.Struct:
		d.object(path, n, v)
	case reflect.Map:
		d.mapping(path, n, v)
	case reflect.Slice:
		d.list(path, n, v, f)
	case reflect.String:
		d.text(path, n, v, f)
	case reflect.Int:
		d.integer(path, n, v, f)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			d.wrongType(path, n, "true or false")
			return
		}
		v.SetBool(b.Value)
	}
}

// follow removes anchors from n and goes where an alias points. The types of the file end somewhere, so an
// anchor that holds itself does no harm.
func (d *decoder) follow(path string, n ast.Node) ast.Node {
	if node, ok := n.(*ast.AnchorNode); ok {
		if _, alias := node.Value.(*ast.AliasNode); alias {
			d.problem(n, path, "an anchor for an alias")
			return nil
		}
		d.anchors[node.Name.GetToken().Value] = node.Value
		n = node.Value
	}
	switch node := n.(type) {
	case *ast.TagNode:
		d.problem(n, path, "tags such as %s have no meaning here", node.GetToken().Value)
		return nil
	case *ast.AliasNode:
		name := node.Value.GetToken().Value
		target, ok := d.anchors[name]
		if !ok {
			d.problem(n, path, "no anchor &%s before this place", name)
			return nil
		}
		return target
	}
	return n
}

// pairs returns the entries of a mapping, or reports what else n is.
func (d *decoder) pairs(path string, n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch node := n.(type) {
	case *ast.MappingNode:
		return node.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}, true
	case *ast.NullNode:
		return nil, true
	}
	d.wrongType(path, n, "keys with values")
	return nil, false
}

// entry returns the key of a mapping's entry and its path; ok is false if it is none or stands there for the
// second time.
func (d *decoder) entry(path string, pair *ast.MappingValueNode, seen map[string]*token.Token) (name, below string,
	ok bool) {
	t := pair.Key.GetToken()
	name = t.Value
	below = name
	if path != "" {
		below = path + "." + name
	}
	if pair.Key.IsMergeKey() {
		d.problem(pair.Key, path, "<< is not supported; repeat the keys, or use an alias for the whole value")
		return "", "", false
	}
	switch key := pair.Key.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
	default:
		d.problem(key, path, "a key is plain text")
		return "", "", false
	}
	if first := seen[name]; first != nil {
		d.problem(pair.Key, below, "the key stands here for the second time; the first is in line %d",
			first.Position.Line)
		return "", "", false
	}
	seen[name] = t
	return name, below, true
}

func (d *decoder) object(path string, n ast.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	seen := map[string]*token.Token{}
	pairs, ok := d.pairs(path, n)
	if !ok {
		return
	}
	for _, pair := range pairs {
		name, below, ok := d.entry(path, pair, seen)
		if !ok {
			continue
		}
		i := indexField(fields, name)
		if i < 0 {
			d.unknownKey(below, pair, name, fields)
			continue
		}
		d.places[below] = keyPlace{pair.Key.GetToken(), pair.Value}
		d.value(below, pair.Value, v.FieldByIndex(fields[i].index), fields[i])
	}
	for _, f := range fields {
		if f.required && seen[f.name] == nil {
			what := f.doc
			if len(f.enum) == 1 {
				what = fmt.Sprintf("write %s: %s", f.name, f.enum[0])
			}
			d.problem(n, path, "the key %s is missing: %s", f.name, what)
		}
	}
}

func indexField(fields []field, name string) int {
	for i := range fields {
		if fields[i].name == name {
			return i
		}
	}
	return -1
}

func (d *decoder) unknownKey(path string, pair *ast.MappingValueNode, name string, fields []field) {
	hint := near.Hint(name, fieldNames(fields))
	if hint == "" {
		hint = part(name, fields)
	}
	switch {
	case hint != "":
	case d.only != "":
		hint = "; " + d.only
	default:
		hint = "; known here: " + strings.Join(fieldNames(fields), ", ")
	}
	d.problem(pair.Key, path, "unknown key%s", hint)
	d.hide(pair.Value) // it was not read, so nobody knows whether it is a secret
}

// part returns a hint for a key whose last word is one that is known: other programs write base_url and api_key.
func part(name string, fields []field) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
	if n := len(words); n > 1 && indexField(fields, words[n-1]) >= 0 {
		return fmt.Sprintf("; did you mean %q?", words[n-1])
	}
	return ""
}

func (d *decoder) mapping(path string, n ast.Node, v reflect.Value) {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	seen := map[string]*token.Token{}
	pairs, _ := d.pairs(path, n)
	for _, pair := range pairs {
		name, below, ok := d.entry(path, pair, seen)
		if !ok {
			continue
		}
		d.places[below] = keyPlace{pair.Key.GetToken(), pair.Value}
		item := reflect.New(v.Type().Elem()).Elem()
		setDefaults(item)
		d.value(below, pair.Value, item, field{})
		v.SetMapIndex(reflect.ValueOf(name), item)
	}
}

func (d *decoder) list(path string, n ast.Node, v reflect.Value, f field) {
	var nodes []ast.Node
	switch node := n.(type) {
	case *ast.SequenceNode:
		nodes = node.Values
	case *ast.NullNode:
	default:
		d.wrongType(path, n, "a list")
		return
	}
	items := reflect.MakeSlice(v.Type(), len(nodes), len(nodes))
	for i, item := range nodes {
		below := fmt.Sprintf("%s[%d]", path, i)
		d.places[below] = keyPlace{nil, item}
		setDefaults(items.Index(i))
		d.value(below, item, items.Index(i), f)
	}
	v.Set(items)
}

func (d *decoder) text(path string, n ast.Node, v reflect.Value, f field) {
	s, ok := d.textOf(path, n)
	if !ok {
		return
	}
	if err := setText(v, s, f); err != nil {
		d.problem(n, path, "%v", err)
	}
}

// textOf returns the text of a node that is one.
func (d *decoder) textOf(path string, n ast.Node) (string, bool) {
	switch node := n.(type) {
	case *ast.StringNode:
		return node.Value, true
	case *ast.LiteralNode:
		return node.Value.Value, true
	}
	d.wrongType(path, n, "text")
	return "", false
}

func (d *decoder) integer(path string, n ast.Node, v reflect.Value, f field) {
	node, ok := n.(*ast.IntegerNode)
	if !ok {
		d.wrongType(path, n, "a whole number")
		return
	}
	if err := setText(v, node.GetToken().Value, f); err != nil {
		d.problem(n, path, "%v", err)
	}
}

func (d *decoder) scalar(path string, n ast.Node, v reflect.Value, s scalar, f field) {
	var text string
	switch node := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		text = node.GetToken().Value // a size, or a duration without its unit
	default:
		var ok bool
		if text, ok = d.textOf(path, n); !ok {
			if mayBeSecret(s, "@") {
				d.hide(n)
			}
			return
		}
	}
	if err := setText(v, text, f); err != nil {
		d.problem(n, path, "%v", err)
		if mayBeSecret(s, text) {
			d.hide(n)
		}
	}
}

// mayBeSecret reports whether the text of a value that is wrong may hold a secret.
func mayBeSecret(s scalar, text string) bool {
	switch s.(type) {
	case *Secret, *KeySecret, *Value:
		return true
	case *URL:
		return strings.ContainsAny(text, "@?")
	}
	return false
}

// setText gives v the value that text stands for, within the bounds of f. It serves the file, the environment
// and flags alike.
func setText(v reflect.Value, text string, f field) error {
	if f.tools {
		var err error
		if text, err = toolName(text); err != nil {
			return err
		}
	}
	if s, ok := asScalar(v); ok {
		if err := s.Parse(text); err != nil {
			return err
		}
		return checkBounds(v, f)
	}
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 0, 32)
		if err != nil {
			return fmt.Errorf("not a whole number that fits: %s", text)
		}
		v.SetInt(n)
		return checkBounds(v, f)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		v.SetBool(b)
	case reflect.String:
		switch {
		case len(f.enum) == 1 && f.enum[0] != text:
			return fmt.Errorf("%q is not known here: write %s", text, f.enum[0])
		case len(f.enum) > 0 && !slices.Contains(f.enum, text):
			return fmt.Errorf("%q is none of %s%s", text, strings.Join(f.enum, ", "), near.Hint(text, f.enum))
		}
		v.SetString(text)
	}
	return nil
}

// checkBounds compares a number, duration or size with the bounds of its field, which are written like the
// value itself.
func checkBounds(v reflect.Value, f field) error {
	for _, bound := range []struct {
		text, name string
		wrong      func(have, bound int64) bool
	}{
		{f.min, "at least", func(have, bound int64) bool { return have < bound }},
		{f.max, "at most", func(have, bound int64) bool { return have > bound }},
	} {
		if bound.text == "" {
			continue
		}
		limit := reflect.New(v.Type()).Elem()
		if err := setText(limit, bound.text, field{}); err != nil {
			return fmt.Errorf("bound %s: %v", bound.text, err)
		}
		if bound.wrong(v.Int(), limit.Int()) {
			return fmt.Errorf("must be %s %s", bound.name, bound.text)
		}
	}
	return nil
}

func (d *decoder) wrongType(path string, n ast.Node, want string) {
	hint := ""
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode:
		if want == "text" {
			hint = "; write it in quotes if it is meant as text"
		}
	}
	d.problem(n, path, "want %s, found %s%s", want, describe(n), hint)
}

// describe names the type of a node for people.
func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode:
		return "a number"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number with a fraction"
	case *ast.BoolNode:
		return "true or false"
	case *ast.SequenceNode:
		return "a list"
	}
	return "keys with values"
}

// problem records what is wrong at a node.
func (d *decoder) problem(n ast.Node, path, format string, args ...any) {
	p := &Problem{File: d.file, Path: path, Message: fmt.Sprintf(format, args...)}
	if t := firstToken(n); t != nil {
		d.locate(p, t.Position.Line, t.Position.Column, width(t))
	}
	d.problems = append(d.problems, p)
}

// at records a problem with the key at path: it points to the value if that is a short one, else to the key,
// else to the nearest key around it.
func (d *decoder) at(path, format string, args ...any) *Problem {
	p := &Problem{File: d.file, Path: path, Message: fmt.Sprintf(format, args...)}
	d.problems = append(d.problems, p)
	if source := d.sources[path]; source != "" {
		p.File = source
		return p
	}
	where, ok := d.places[path]
	for parent := path; !ok && parent != ""; where, ok = d.places[parent] {
		parent = parent[:max(0, strings.LastIndexAny(parent, ".["))]
		path = parent
	}
	if !ok {
		return p
	}
	t := where.key
	if p.Path == path || t == nil {
		switch where.value.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode:
			t = where.value.GetToken()
		}
	}
	if t == nil {
		t = firstToken(where.value)
	}
	if t != nil {
		d.locate(p, t.Position.Line, t.Position.Column, width(t))
	}
	return p
}

// warn is at for what does not keep wield from running.
func (d *decoder) warn(path, format string, args ...any) {
	d.at(path, format, args...).Warning = true
}

// has reports whether the key at path stands in the file.
func (d *decoder) has(path string) bool {
	_, ok := d.places[path]
	return ok
}

// failed reports whether something is wrong with the value at path.
func (d *decoder) failed(path string) bool {
	for _, p := range d.problems {
		if p.Path == path && !p.Warning {
			return true
		}
	}
	return false
}

func (*decoder) locate(p *Problem, line, column, width int) {
	p.Line, p.Column, p.Width = line, column, width
}

// firstToken returns the token that a node begins with. That of a block of keys is the first colon, so it is
// looked for.
func firstToken(n ast.Node) *token.Token {
	switch node := n.(type) {
	case *ast.MappingNode:
		if !node.IsFlowStyle && len(node.Values) > 0 {
			return node.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return node.Key.GetToken()
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return nil
	}
	return t
}

func width(t *token.Token) int { return max(1, utf8.RuneCountInString(strings.TrimSpace(t.Origin))) }
