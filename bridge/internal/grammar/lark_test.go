package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// patches is a grammar like those that agents offer their tools with.
const patches = `// a patch
start: begin hunk+ end
begin: "*** Begin" LF
end: "*** End" LF?
?hunk: add | update -> changed
add: "*** Add: " filename LF ("+" /(.*)/ LF -> line)+
update: "*** Update: " filename LF change?
change: (context | line)+ [eof]
context: ("@@" | "@@ " /.+/) LF
line.2: ("+"
	| "-" | " ") /[^\n]*/ LF
eof: "*** End of File" LF
filename: /[^"\n]+/
%import common.LF
`

// TestLark holds texts to grammars in Lark's notation: what is written by the rules is of the grammar, and what is of
// it can be written.
func TestLark(t *testing.T) {
	for _, tt := range []struct {
		name, grammar string
		good, bad     []string
	}{
		{"patches", patches, []string{
			"*** Begin\n*** Add: a\n+x \"é\"\\\n+\n*** End",
			"*** Begin\n*** Update: a.txt\n@@\n x\n-y\n+<z>\t😀\n*** End of File\n*** End\n",
		}, []string{
			"", "*** Begin\n*** End\n", "*** Begin\n*** Add: a\nx\n*** End\n",
			"*** Begin\n*** Add: a\"b\n+x\n*** End\n",
		}},
		{"operators", `start: "a"~2 B? ("x".."z")~1..2` + "\n" + `B: "b"i | /c\/[d-f]{2}/i`,
			[]string{"aax", "aaBxy", "aac/dEz", "aabz"}, []string{"ax", "aaaxy", "aaxyz", "aac/dgz", "aa"}},
		{"imports", "start: INT (WS_INLINE W)*\n%import common (INT, WS_INLINE)\n%import common.CNAME -> W",
			[]string{"1", "12 a_1\tb"}, []string{"", "a", "1a"}},
		{"any text", `start: /(?s).*/`, []string{"", "a\n\"\\\u0080\U0010fffd"}, nil},
		{"recursion", `start: "(" start? ")"`, []string{"()", "((()))"}, []string{"(", "(()"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := ofLark(tt.grammar)
			if err != nil {
				t.Fatal(err)
			}
			w := &writer{}
			p, err := parseGBNF(w.text(g.string(w, jsonNotation)))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range tt.good {
				if b, _ := encoded(s); !p.accepts(b) {
					t.Errorf("%s cannot be written", b)
				}
			}
			for _, s := range tt.bad {
				if b, _ := encoded(s); p.accepts(b) {
					t.Errorf("%s can be written", b)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				var s string
				if text := p.sample(r); json.Unmarshal([]byte(text), &s) != nil {
					t.Fatalf("%q is no string", text)
				}
			}
		})
	}
}

// encoded writes a text as a JSON string as models do.
func encoded(s string) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s)
	return strings.TrimSpace(b.String()), err
}

// TestLarkUnheld: of some grammars the model is only told.
func TestLarkUnheld(t *testing.T) {
	for _, tt := range []struct{ grammar, why string }{
		{`a: "x"`, "no rule start"},
		{`start: b`, "no rule b"},
		{"start: \"x\"\n%ignore \" \"", "%ignore"},
		{`start: start "x" | "x"`, "begins with itself"},
		{"start: a? start\na: \"x\"", "begins with itself"},
		{`start: ("x"?)*`, "may be empty"},
		{`start: /\bx/`, "around a place"},
		{`start: /(?=x)/`, "invalid"},
		{`start{x}: x`, "cannot be held"},
		{`start: (("x")`, "not closed"},
		{"start: \"x\"\nstart: \"y\"", "twice"},
		{"start: A\n%import python.A", "not known"},
		{"start: A\n%import common.A", "not known"},
		{`start: "x"~5000`, "repetitions"},
		{`start: (/x{1000}/)~1000`, "too large"},
		{strings.Repeat("// \n", maxLark), "too large"},
		{"start: " + strings.Repeat("(", 1000) + `"x"` + strings.Repeat(")+", 1000), "too deep"},
		{"start: /a # b/x", "(?x"},
		{"start: \"\u00e9\" .. \"b\"", "begins no range"},
	} {
		if _, err := ofLark(tt.grammar); err == nil || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%.40s: %v, want an error with %q", tt.grammar, err, tt.why)
		}
	}
}

// TestLarkHostile reads grammars that are cut and mixed: each is read or refused.
func TestLarkHostile(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	read := 0
	for range 5000 {
		b := []byte(patches)
		for range 1 + r.IntN(4) {
			i, j := r.IntN(len(b)), r.IntN(len(b))
			switch r.IntN(3) {
			case 0:
				b[i] = b[j]
			case 1:
				b = append(b[:i:i], b[min(i+1+r.IntN(9), len(b)):]...)
			default:
				b = append(b[:i:i], append([]byte(`|("x"..*)`[r.IntN(9):]), b[i:]...)...)
			}
		}
		g, err := ofLark(string(b))
		if err != nil {
			continue
		}
		read++
		w := &writer{}
		if _, err := parseGBNF(w.text(g.string(w, jsonNotation))); err != nil {
			t.Fatalf("%s\n%v", b, err)
		}
	}
	if read < 200 {
		t.Errorf("%d grammars were read", read)
	}
}

// TestPattern writes texts by regular expressions, and holds them to these.
func TestPattern(t *testing.T) {
	for _, pattern := range []string{`a|b"`, `[a-z"\\]{2,5}(\.[^x]|\d+)?`, `(?i:Key)=\S*[\n\x00]`, `[^"]+`,
		`[\x01-\x05]`} {
		g, err := ofRegexp(pattern)
		if err != nil {
			t.Fatal(err)
		}
		w := &writer{}
		p, err := parseGBNF(w.text(g.string(w, jsonNotation)))
		if err != nil {
			t.Fatal(err)
		}
		r, whole := rand.New(rand.NewPCG(3, 4)), regexp.MustCompile("^(?:"+pattern+")$")
		for range 200 {
			var s string
			if text := p.sample(r); json.Unmarshal([]byte(text), &s) != nil || !whole.MatchString(s) {
				t.Errorf("%s: %q was written", pattern, text)
			}
		}
	}
}

// TestFreeform holds the only argument of tools to the grammars of their texts, in every dialect whose arguments are
// strings in quotes.
func TestFreeform(t *testing.T) {
	const one = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],` +
		`"additionalProperties":false}`
	tools, shapes, _ := toolsOf(t, "patch", one, "count", one, "say", one)
	for i := range tools {
		tools[i].Args = tools[0].Args // as where schemas are kept by their texts
	}
	tools[0].Syntax, tools[0].Definition = "lark", patches
	tools[1].Syntax, tools[1].Definition = "regex", "[0-9]+"
	tools[2].Syntax, tools[2].Definition = "lark", "start: /(?=x)/" // told only
	held := 0
	for _, name := range dialect.Names() {
		g, err := New(Options{Decoders: &decoders, Dialect: name, Tools: tools, Required: true, MaxCalls: 1})
		if err != nil || g.f.kind == kindElement {
			continue
		}
		held++
		p, err := parseGBNF(g.GBNF())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tag, structural := g.StructuralTag()
		if structural && strings.Count(string(tag), `"type":"grammar","grammar":"root ::= `) != 2 {
			t.Errorf("%s: the structural tag is %s", name, tag)
		}
		d, _ := dialect.Lookup(name)
		for _, tt := range []struct {
			tool, text string
			ok         bool
		}{
			{"patch", "*** Begin\n*** Add: a\n+x \"y\"\n*** End\n", true}, {"patch", "12", false},
			{"count", "12", true}, {"count", "", false}, {"say", "anything", true},
		} {
			input, _ := encoded(tt.text)
			text, err := d.AppendCalls(nil, []chat.Call{{Name: tt.tool, Arguments: `{"input":` + input + `}`}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if p.accepts(string(text)) != tt.ok {
				t.Errorf("%s: %s can be written: %v, want %v", name, text, !tt.ok, tt.ok)
			}
		}
		r := rand.New(rand.NewPCG(5, 6))
		for range 10 {
			text := p.sample(r)
			read, err := dialect.Parse(text, dialect.Options{Dialect: name, Tools: shapes, Cache: &decoders})
			if err != nil || len(read.Calls) != 1 {
				t.Errorf("%s: %q is read as %+v, %v", name, text, read.Calls, err)
			}
		}
	}
	if held < 20 {
		t.Errorf("%d dialects were tried", held)
	}
}
