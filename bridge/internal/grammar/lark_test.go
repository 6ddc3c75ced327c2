package grammar

import (
	"encoding/json"
	"fmt"
	"maps"
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
			"*** Begin\n*** Add: a\"b\n+x\n*** End\n", "*** Begin\n*** Update: a.txt\n@@\nx\n-y\n*** End\n",
		}},
		{"operators", `start: "a"~2 B? ("x".."z")~1..2` + "\n" + `B: "b"i | /c\/[d-f]{2}/i`,
			[]string{"aax", "aaBxy", "aac/dEz", "aabz"}, []string{"ax", "aaaxy", "aaxyz", "aac/dgz", "aa"}},
		{"imports", "start: INT (WS_INLINE W)*\n%import common (INT, WS_INLINE)\n%import common.CNAME -> W",
			[]string{"1", "12 a_1\tb"}, []string{"", "a", "1a"}},
		{"any text", `start: /(?s).*/`, []string{"", "a\n\"\\\u0080\U0010fffd"}, nil},
		{"blanks", `start: " a" (" " | "+") "b " /[a-z] [0-9]/`, []string{" a b c 1", " a+b c 1"},
			[]string{"a b c 1", " ab c 1", " a bc 1", " a b c1"}},
		{"classes", `start: /\d[\w.]\s[^\s][^\\\]\w]\S\W/`, []string{"1a x!x ", "\u0663\u00e9\u00a0x!x ", "1. x!x\\",
			"1a \u00a0!x "},
			[]string{"aa x!x ", "1! x!x ", "1axx!x ", "1a  !x ", "1a x]x ", "1a x!xx"}},
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
				if text := p.sample(r); json.Unmarshal([]byte(text), &s) != nil || !g.derives(s) {
					t.Fatalf("%q is no string of the grammar", text)
				}
			}
		})
	}
}

// derives reports whether a text is of the grammar, apart from how that is written.
func (g textGrammar) derives(s string) bool {
	text := []rune(s)
	return g.ends(g[start], text, map[int]bool{0: true})[len(text)]
}

// ends returns where a symbol that begins at some places of a text may end.
func (g textGrammar) ends(n *symbol, text []rune, from map[int]bool) map[int]bool {
	to := map[int]bool{}
	switch {
	case len(from) == 0:
	case n.op == opRule:
		return g.ends(g[n.rule], text, from)
	case n.op == opChars:
		for at := range from {
			for i := 0; at < len(text) && i < len(n.chars); i += 2 {
				if n.chars[i] <= text[at] && text[at] <= n.chars[i+1] {
					to[at+1] = true
				}
			}
		}
	case n.op == opChoice:
		for _, s := range n.list {
			maps.Copy(to, g.ends(s, text, from))
		}
	case n.op == opSequence:
		for _, s := range n.list {
			from = g.ends(s, text, from)
		}
		return from
	default:
		for i := 0; len(from) > 0 && (n.most < 0 || i <= n.most); i++ {
			if i >= n.least {
				maps.Copy(to, from)
			}
			from = g.ends(n.list[0], text, from)
		}
	}
	return to
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
		{strings.Repeat("// \n", MaxCost), "costs too much"},
		{"start: /" + strings.Repeat(`\pL`, 40) + "/", "too large"},
		{`start: "a"~3..1`, "repetitions"},
		{`start: "\xe9"`, "no string"},
		{`start: /[^a\W]/`, "other characters"},
		{`start: /[[:alpha:]]/`, "other characters"},
		{"start: " + strings.Repeat("(", 1000) + `"x"` + strings.Repeat(")+", 1000), "too deep"},
		{"start: /a # b/x", "(?x"},
		{"start: \"\u00e9\" .. \"b\"", "begins no range"},
	} {
		if _, err := textOf("lark", tt.grammar); err == nil || !strings.Contains(err.Error(), tt.why) {
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
		`[\x01-\x05]`, `a b`, ` a`, `[a-z]+ [0-9]`, `"( |x)" "`} {
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

// TestLarge: the model is only told of regular expressions that are too large, and of the grammars of tools that are
// too many or too large together.
func TestLarge(t *testing.T) {
	for _, pattern := range []string{strings.Repeat("a", 250), `\pL`, `\w`, "(?i)[B-\U00010fff]", `(?i)[B-\x{10fff}]`} {
		pattern = strings.Repeat(pattern, MaxCost/250+1)
		if _, err := textOf("regex", pattern); err == nil || err.Error() != "the grammar costs too much to read" {
			t.Errorf("%.20s: %v", pattern, err)
		}
	}
	const one = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`
	for _, tt := range []struct {
		definition  string
		tools, held int
	}{
		{`[0-9]+`, 2, 2}, {`[0-9]+`, maxTools + 1, 0}, {`\pL{20}`, 3, 1}, {`x{900}`, 30, 7},
	} {
		var list []string
		for i := range tt.tools {
			list = append(list, fmt.Sprintf("tool_%d", i), one)
		}
		tools, _, _ := toolsOf(t, list...)
		for i := range tools {
			tools[i].Syntax, tools[i].Definition = "regex", tt.definition
		}
		g, err := New(Options{Decoders: &decoders, Dialect: "hermes", Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if len(g.texts) != tt.held {
			t.Errorf("%d tools of %s: %d are held, want %d", tt.tools, tt.definition, len(g.texts), tt.held)
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
		p := parse(t, g)
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
