package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
)

// fuzzMost is the length of the longest text that fuzzing reads.
const fuzzMost = 2 << 10

// anyText checks what holds for every text: at every split of a short one, at some of a longer one.
func anyText(t *testing.T, o dialect.Options, text string) {
	if len(text) > fuzzMost {
		return
	}
	o.Tools, o.Cache = propertyTools, &propertyCache
	check := dialecttest.Quick
	if len(text) < 64 {
		check = dialecttest.All
	}
	if err := check(maker(o), text); err != nil {
		t.Fatal(err)
	}
}

// seedText returns the text of a case with the name of its first tool changed to one that is on offer.
func seedText(c *dialecttest.Case) string {
	if len(c.Tools) == 0 {
		return c.Text
	}
	return strings.ReplaceAll(c.Text, c.Tools[0].Function.Name, propertyTools[0].Name)
}

// FuzzDecode reads texts as a program does that knows nothing about the model. Its seeds are the cases that name no
// dialect, and one in eight of the others.
func FuzzDecode(f *testing.F) {
	for i, c := range allCases(f) {
		if c.Dialect == "" || i%8 == 0 {
			f.Add(seedText(&c))
		}
	}
	f.Fuzz(func(t *testing.T, text string) { anyText(t, dialect.Options{}, text) })
}

// TestLongNames reads names that are too long by an escape, which may add several bytes at once.
func TestLongNames(t *testing.T) {
	for n := 250; n < 260; n++ {
		for _, escape := range []string{`\00`, `\00", "arguments": {}}`, `\ud83d\ude00x`, `\n"`, `\x\`} {
			anyText(t, dialect.Options{}, `{"name":"`+strings.Repeat("0", n)+escape)
		}
	}
}

// TestStrayByte reads a byte behind a tag that continues a character which did not begin.
func TestStrayByte(t *testing.T) {
	anyText(t, dialect.Options{}, "<tool_call><function=find><parameter=></function></tool_call>\x83")
}

// TestNoteInWrapping reads a wrapped call of which a note lies behind the bytes that its events cover so far.
func TestNoteInWrapping(t *testing.T) {
	anyText(t, dialect.Options{}, "```text\n{\"name\":\"find\",\"args\":{} ```")
}

// FuzzNamed reads texts when a dialect is expected, with the others or alone. Its seeds are some of the cases of each
// dialect, for all of them are read before anything new is: TestCases has them all.
func FuzzNamed(f *testing.F) {
	names, number := dialect.Names(), numbers()
	for i, c := range allCases(f) {
		if n, ok := number[c.Dialect]; ok && i%8 == 4 {
			f.Add(n, c.Only, seedText(&c))
		}
	}
	f.Fuzz(func(t *testing.T, n byte, only bool, text string) {
		anyText(t, dialect.Options{Dialect: names[int(n)%len(names)], Only: only}, text)
	})
}

// numbers returns the place of each dialect in Names.
func numbers() map[string]byte {
	m := make(map[string]byte)
	for i, name := range dialect.Names() {
		m[name] = byte(i)
	}
	return m
}

// FuzzRender writes arguments in a dialect and reads them back. Its seeds are the arguments that cases want.
func FuzzRender(f *testing.F) {
	number := numbers()
	var suites []*dialecttest.Suite
	for _, name := range dialect.Names() {
		suites = append(suites, suite(f, name))
	}
	for _, c := range allCases(f) {
		n, ok := number[c.Dialect]
		for _, w := range c.Want.Calls {
			if ok && !w.Incomplete && len(w.Arguments) > 0 {
				f.Add(n, string(w.Arguments))
			}
		}
	}
	f.Fuzz(func(t *testing.T, n byte, args string) {
		if len(args) > fuzzMost || !isPlainObject(args) {
			return
		}
		_, failures := suites[int(n)%len(suites)].RoundTrip(
			[]chat.Call{{Name: "tool_0", Arguments: args, Complete: true}})
		for _, f := range failures {
			t.Error(f)
		}
	})
}

// isPlainObject reports whether args is a JSON object that every format can be asked for: not deep, and with no key
// twice.
func isPlainObject(args string) bool {
	if !strings.HasPrefix(strings.TrimSpace(args), "{") || !json.Valid([]byte(args)) {
		return false
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var keys []map[string]bool // of the open objects; nil: a list
	key := false               // a key comes next, if it is an object
	for {
		token, err := d.Token()
		if err != nil {
			return true // the end
		}
		if name, ok := token.(string); ok && key && keys[len(keys)-1] != nil {
			if keys[len(keys)-1][name] {
				return false
			}
			keys[len(keys)-1][name] = true
			key = false
			continue
		}
		switch token {
		case json.Delim('{'):
			keys = append(keys, make(map[string]bool))
		case json.Delim('['):
			keys = append(keys, nil)
		case json.Delim('}'), json.Delim(']'):
			keys = keys[:len(keys)-1]
		}
		if len(keys) > 16 {
			return false
		}
		key = len(keys) > 0 && keys[len(keys)-1] != nil
	}
}
