package dir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxJSON bounds a registry and the files of a tool directory.
const maxJSON = 4 << 20

// A jsonNode is a JSON value with the line in which it begins, so that what is wrong with it can be told where it
// stands.
type jsonNode struct {
	file    string
	line    int
	raw     jsontext.Value
	members map[string]*jsonNode // of an object
	items   []*jsonNode          // of a list
}

// readJSON reads a file strictly: a name that stands twice is an error.
func readJSON(file string) (*jsonNode, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &Error{File: file, Msg: err.Error()}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	switch {
	case err != nil:
		return nil, &Error{File: file, Msg: err.Error()}
	case len(data) > maxJSON:
		return nil, &Error{File: file, Msg: fmt.Sprintf("it is longer than %d bytes", maxJSON)}
	}
	return parseJSON(file, bytes.TrimPrefix(data, []byte("\ufeff")))
}

func parseJSON(file string, data []byte) (*jsonNode, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	n, err := readNode(file, data, dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == nil {
			err = errors.New("something follows the JSON value")
		} else if errors.Is(err, io.EOF) {
			return n, nil
		}
	}
	at := dec.InputOffset()
	var syntax *jsontext.SyntacticError
	msg := err.Error()
	if errors.As(err, &syntax) {
		at, msg = syntax.ByteOffset, syntax.Err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		msg = "the file ends in the middle"
	}
	return nil, &Error{File: file, Line: lineAt(data, at), Msg: "no JSON: " + msg}
}

func lineAt(data []byte, at int64) int {
	return 1 + bytes.Count(data[:min(at, int64(len(data)))], []byte("\n"))
}

// readNode reads one value.
func readNode(file string, data []byte, dec *jsontext.Decoder) (*jsonNode, error) {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		raw, err := dec.ReadValue()
		return &jsonNode{file: file, line: lineAt(data, dec.InputOffset()), raw: raw.Clone()}, err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	begin := dec.InputOffset() - 1
	n := &jsonNode{file: file, line: lineAt(data, begin)}
	if kind == '{' {
		n.members = map[string]*jsonNode{}
	}
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		name := ""
		if kind == '{' {
			t, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			name = t.String()
		}
		below, err := readNode(file, data, dec)
		if err != nil {
			return nil, err
		}
		if kind == '{' {
			n.members[name] = below
		} else {
			n.items = append(n.items, below)
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	n.raw = bytes.Clone(data[begin:dec.InputOffset()])
	return n, nil
}

// wrong says what is wrong with the value.
func (n *jsonNode) wrong(format string, args ...any) error {
	return &Error{File: n.file, Line: n.line, Msg: fmt.Sprintf(format, args...)}
}

// get returns a member; nil if it is not there or null.
func (n *jsonNode) get(name string) *jsonNode {
	if n == nil || n.members == nil {
		return nil
	}
	m := n.members[name]
	if m == nil || m.raw.Kind() == 'n' {
		return nil
	}
	return m
}

// text returns the string that a member is; "" if it is not there.
func (n *jsonNode) text(name string) (string, error) {
	m := n.get(name)
	if m == nil {
		return "", nil
	}
	if m.raw.Kind() != '"' {
		return "", m.wrong("%s: want a text", name)
	}
	s, err := jsontext.AppendUnquote(nil, m.raw)
	return string(s), err
}

// truth returns the boolean that a member is, or def.
func (n *jsonNode) truth(name string, def bool) (bool, error) {
	m := n.get(name)
	switch {
	case m == nil:
		return def, nil
	case m.raw.Kind() != 't' && m.raw.Kind() != 'f':
		return def, m.wrong("%s: want true or false", name)
	}
	return m.raw.Kind() == 't', nil
}

// texts returns the strings of a member that is a list; nil if it is not there.
func (n *jsonNode) texts(name string) ([]string, error) {
	m := n.get(name)
	if m == nil {
		return nil, nil
	}
	if m.raw.Kind() != '[' {
		return nil, m.wrong("%s: want a list of texts", name)
	}
	list := make([]string, 0, len(m.items))
	for _, item := range m.items {
		if item.raw.Kind() != '"' {
			return nil, item.wrong("%s: want a list of texts", name)
		}
		s, err := jsontext.AppendUnquote(nil, item.raw)
		if err != nil {
			return nil, err
		}
		list = append(list, string(s))
	}
	return list, nil
}

// known refuses a member whose name is nearly one of those that have a meaning: a rule that is misspelt would not hold.
func (n *jsonNode) known(names []string) error {
	if n == nil {
		return nil
	}
	for name, m := range n.members {
		if slices.Contains(names, name) {
			continue
		}
		for _, k := range names {
			if len(name) > 3 && oneOff(strings.ToLower(name), k) || strings.EqualFold(name, k) {
				return m.wrong("there is no key %q; did you mean %q?", name, k)
			}
		}
	}
	return nil
}
