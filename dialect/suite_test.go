package dialect_test

import (
	"errors"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
)

// suite returns what is checked of a dialect of the table when it is the one that is expected; "auto": when none is.
func suite(t testing.TB, name string) *dialecttest.Suite {
	var cache dialect.Cache
	s := &dialecttest.Suite{Rounds: 40, New: func(c *dialecttest.Case) (dialecttest.Maker, error) {
		named := *c
		named.Dialect = name
		o, err := named.Options()
		o.Cache = &cache
		return maker(o), err
	}}
	d, ok := dialect.Lookup(name)
	if !ok {
		return s
	}
	s.Alone = d.ByName
	s.Calls = func(calls []chat.Call) (string, error) {
		text, err := d.AppendCalls([]byte("before"), calls)
		if err == nil {
			return string(text[len("before"):]), nil
		}
		var cannot *dialect.RenderError
		if !errors.As(err, &cannot) || string(text) != "before" {
			t.Errorf("%s: %v leaves %q", name, err, text)
		}
		return "", err
	}
	s.Results = func(results []chat.Result) string { return string(d.AppendResults(nil, results)) }
	s.Tools = func(tools []chat.Tool) string { return string(d.AppendTools(nil, tools)) }
	return s
}

// TestSuite runs the kit's suite over the whole table. TestCases has the cases.
func TestSuite(t *testing.T) {
	for i, name := range append([]string{"auto"}, dialect.Names()...) {
		if i%testlevel.Every(20) > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, f := range suite(t, name).Run(nil) {
				t.Error(f)
			}
		})
	}
}
