package api

import (
	"encoding/json"
	"html"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"wield/chat"
)

// sources finds where the keys and values of a call's arguments stand in the text that the call was read from, in
// the order of the arguments. It knows nothing of dialects: it looks for the spellings of each key, and of its value
// behind it.
func sources(text string, call *chat.Call) []ParsedValue {
	f := sourceFinder{text: text[:call.End], args: call.Arguments, first: call.At, at: call.At,
		work: 16*len(text) + 1<<16}
	if k := strings.Index(f.text[call.At:], call.Name); k >= 0 {
		f.at += k + len(call.Name) // the name may be that of a key as well, or a value
	}
	f.named = f.at
	f.value("", true)
	return f.out
}

// A sourceFinder walks through arguments and goes on in the text as far as it finds them there.
type sourceFinder struct {
	text  string // up to the end of the call
	args  string
	first int // where the call begins in the text
	named int // where its name ends, if its arguments stand behind that
	i     int // in args
	at    int // in the text: what stands before it belongs to what was found
	work  int // how many steps are left, so that no text takes long
	out   []ParsedValue
}

// A spelled value is a scalar of the arguments and the ways to write it.
type spelled struct {
	text    string
	literal bool // a number, true, false or null
	ways    []string
}

func (f *sourceFinder) blanks() {
	for f.i < len(f.args) && strings.IndexByte(" \t\r\n", f.args[f.i]) >= 0 {
		f.i++
	}
}

// value takes the value at i. Its key stands directly before at, or, if there is none in the text, nowhere. The
// arguments of a call that is not complete may end anywhere.
func (f *sourceFinder) value(path string, keyless bool) {
	f.blanks()
	switch rest := f.args[f.i:]; {
	case rest == "":
	case (rest[0] == '{' || rest[0] == '[') && !strings.HasPrefix(rest, "{}") && !strings.HasPrefix(rest, "[]"):
		f.group(path, keyless)
	default:
		from, to, want := f.scalar()
		at, end := f.find(want, keyless)
		f.add(path, false, from, to, at, end)
		f.at = max(f.at, end)
	}
}

// scalar takes the scalar or the empty group at i, and returns where it stands without the quotes of a string.
func (f *sourceFinder) scalar() (from, to int, want spelled) {
	from = f.i
	switch rest := f.args[from:]; {
	case strings.HasPrefix(rest, "{}"), strings.HasPrefix(rest, "[]"):
		f.i += 2
		return from, f.i, spelled{rest[:2], false, []string{rest[:2]}}
	case rest[0] != '"':
		n := strings.IndexAny(rest, " \t\r\n,]}:")
		if n < 0 {
			n = len(rest)
		}
		f.i += max(n, 1) // no JSON: go on all the same
		want = spelled{f.args[from:f.i], true, []string{f.args[from:f.i]}}
		if want.text == "null" {
			want.ways = append(want.ways, "None", "nil", "undefined")
		}
		return from, f.i, want
	}
	from++
	for to = from; to < len(f.args) && f.args[to] != '"'; to++ {
		if f.args[to] == '\\' {
			to++
		}
	}
	to = min(to, len(f.args))
	f.i = min(to+1, len(f.args))
	raw := f.args[from:to]
	if json.Unmarshal([]byte(`"`+raw+`"`), &want.text) != nil {
		want.text = raw
	}
	want.ways = []string{want.text, raw, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(raw),
		html.EscapeString(want.text), strings.ReplaceAll(want.text, "'", `\'`)}
	return from, to, want
}

// group takes the object or array at i. In the text it reaches from the first to the last of what is in it, and as
// far as the brackets around.
func (f *sourceFinder) group(path string, keyless bool) {
	from, own, object := f.i, len(f.out), f.args[f.i] == '{'
	f.add(path, false, from, from+1, f.at, f.at)
	f.i++
	for n := 0; ; n++ {
		f.blanks()
		if f.i < len(f.args) && f.args[f.i] == ',' {
			f.i++
			f.blanks()
		}
		if f.i == len(f.args) {
			break
		}
		if c := f.args[f.i]; c == '}' || c == ']' {
			f.i++
			break
		}
		inner, without := path+"/"+strconv.Itoa(n), keyless
		if object {
			inner, without = f.key(path)
		}
		f.value(inner, without)
	}
	g := &f.out[own]
	g.To = f.i
	for _, v := range f.out[own+1:] {
		switch {
		case v.At == v.End:
		case g.At == g.End:
			g.At, g.End = v.At, v.End
		default:
			g.At, g.End = min(g.At, v.At), max(g.End, v.End)
		}
	}
	const around = " \t\r\n\"'`\\,"
	if before := strings.TrimRight(f.text[:g.At], around); strings.HasSuffix(before, f.args[from:from+1]) &&
		len(before) > f.first {
		g.At = len(before) - 1
	}
	if behind := strings.TrimLeft(f.text[g.End:], around); strings.HasPrefix(behind, f.args[f.i-1:f.i]) {
		g.End = len(f.text) - len(behind) + 1
	}
	g.Same = f.text[g.At:g.End] == f.args[g.From:g.To]
	f.at = max(f.at, g.End)
}

// key takes the key at i and the colon behind it, and returns the path of its value, and whether the text does not
// have the key.
func (f *sourceFinder) key(path string) (inner string, keyless bool) {
	if f.args[f.i] != '"' {
		f.i++ // no JSON
		return path, true
	}
	from, to, name := f.scalar()
	f.blanks()
	if f.i < len(f.args) && f.args[f.i] == ':' {
		f.i++
	}
	f.blanks()
	at, end := f.findKey(name.text, f.at)
	if at < 0 && len(f.out) == 1 { // the arguments may stand before the name
		f.named = f.first
	}
	if at < 0 { // a value that was written a second time stands where the first did
		at, end = f.findKey(name.text, f.named)
	}
	if keyless = at < 0; keyless {
		at, end = f.at, f.at
	}
	inner = path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name.text)
	f.add(inner, true, from, to, at, end)
	f.at = end
	return inner, keyless
}

// introduces matches what stands between a key and its value.
var introduces = regexp.MustCompile("^[\"'`\\\\|\\s]*(?:[:=><(]|\\w+=\")")

// findKey returns where the next key of a name stands from p on: where its value, which is at i, follows directly,
// else where any value could.
func (f *sourceFinder) findKey(name string, p int) (at, end int) {
	var want spelled
	if i := f.i; i < len(f.args) {
		_, _, want = f.scalar()
		f.i = i
	}
	at = -1
	for f.work > 0 {
		k, e := f.nextWord(name, p)
		if k < 0 {
			break
		}
		p = e
		if introduces.MatchString(f.text[e:min(len(f.text), e+100)]) {
			if a, _ := f.direct(e, want); a >= 0 {
				return k, e
			}
			if at < 0 {
				at, end = k, e
			}
		}
	}
	return at, end
}

// nextWord returns where name stands next as a word, from p on. As in repair, case and marks within it do not count.
func (f *sourceFinder) nextWord(name string, p int) (at, end int) {
	for ; p < len(f.text); p++ {
		if f.work--; f.work < 0 {
			break
		}
		if p > 0 && isWord(f.text[p-1]) {
			continue
		}
		if e := f.folded(p, name); e >= 0 && !f.goesOn(e) {
			return p, e
		}
	}
	return -1, -1
}

// folded returns where name, written at p, ends, or -1.
func (f *sourceFinder) folded(p int, name string) int {
	i := 0
	for ; i < len(name) && p < len(f.text); p++ {
		switch c := f.text[p]; {
		case c|0x20 == name[i]|0x20:
			i++
		case strings.IndexByte(`_-.\`, name[i]) >= 0:
			i++
			p--
		case i == 0 || strings.IndexByte(`_-.\`, c) < 0:
			return -1
		}
	}
	if i < len(name) {
		return -1
	}
	return p
}

// find returns where a value stands: behind its key, or anywhere if the text does not have that.
func (f *sourceFinder) find(want spelled, keyless bool) (at, end int) {
	if at, end = f.direct(f.at, want); at >= 0 {
		return at, end
	}
	at, end = f.at, len(f.text)
	if !keyless {
		at, end = f.place()
	}
	if want.text == "null" && strings.Contains(f.text[f.at:at], "\n") {
		return f.at, f.at // nothing stands on the line of the key
	}
	if a, e := f.within(at, end, want); a >= 0 {
		return a, e
	}
	if a, e := f.words(f.at, want.text); a >= 0 {
		return a, e
	}
	if !keyless {
		return at, end
	}
	near := max(f.first-512, 0)
	if k := strings.LastIndex(f.text[near:f.first], want.text); k >= 0 { // a file that is named above a block
		return near + k, near + k + len(want.text)
	}
	if at < len(f.text) && (f.text[at] == '(' || f.text[at] == ',') { // an argument by its position
		return f.place()
	}
	return at, at
}

// marks match what is passed between a key and its value: what is written of the value's type, a tag or an
// attribute, the letter before a string of Python, and whatever is no letter or digit.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		"^(?:<[^<>\\n]*_type>\\w+|<[/|!｜:\\]\\pL][^<>\\n]*>|\\s\\w+=\"[^\"\\n]*\"|[rRfFbBuU][\"']|[^\\pL\\pN])")
})

// mark returns the length of such a mark at p, or 0.
func (f *sourceFinder) mark(p int) int {
	f.work--
	return len(marks().FindString(f.text[p:min(len(f.text), p+200)]))
}

// direct returns where a value stands with nothing but marks between p and it, or -1.
func (f *sourceFinder) direct(p int, want spelled) (at, end int) {
	for p < len(f.text) && f.work > 0 {
		if want.text == "" && p > 0 && (strings.Contains("\"\" '' ``", f.text[p-1:p+1]) ||
			strings.HasPrefix(f.text[p:], "</")) {
			return p, p // an empty string
		}
		if end := f.reads(p, want); end >= 0 {
			return p, end
		}
		n := f.mark(p)
		if n == 0 {
			break
		}
		p += n
	}
	return -1, -1
}

// within returns where a value stands first in the bytes [at, end), or -1.
func (f *sourceFinder) within(at, end int, want spelled) (int, int) {
	for p := at; p < end && f.work > 0; p++ {
		if p > 0 && isWord(f.text[p-1]) && isWord(f.text[p]) {
			continue
		}
		if e := f.reads(p, want); e >= 0 && e <= end {
			return p, e
		}
	}
	return -1, -1
}

// reads returns where the value at p ends, or -1 if the text has another one there.
func (f *sourceFinder) reads(p int, want spelled) int {
	for _, way := range want.ways {
		n := len(way)
		if f.work--; n == 0 || n > len(f.text)-p {
			continue
		}
		same := f.text[p:p+n] == way
		if want.literal {
			same = strings.EqualFold(f.text[p:p+n], way) && (p == 0 || !isWord(f.text[p-1]))
		}
		if same && (!isWord(way[n-1]) || !f.goesOn(p+n)) {
			return p + n
		}
	}
	return -1
}

// words returns where a text stands of which only the blanks differ, and marks at the beginnings of lines, or -1.
func (f *sourceFinder) words(p int, text string) (at, end int) {
	at = -1
	for _, word := range strings.Fields(text) {
		k := strings.Index(f.text[p:min(len(f.text), p+len(word)+200)], word)
		if k < 0 {
			return -1, -1
		}
		if at < 0 {
			at = p + k
		}
		p += k + len(word)
	}
	return at, p
}

// place returns the bytes behind a key that repair made another value of.
func (f *sourceFinder) place() (at, end int) {
	at, stops := f.at, ",)]}<\n"
	for at < len(f.text) && strings.IndexByte("\"'`\\", f.text[at]) >= 0 {
		at++ // they are the key's
	}
	for at < len(f.text) && strings.IndexByte("-+.", f.text[at]) < 0 {
		n := f.mark(at)
		if at += n; n == 0 {
			break
		}
		if c := f.text[at-1]; n <= 2 && strings.IndexByte("\"'`", c) >= 0 {
			stops = string(c)
			break
		} else if c == '>' {
			stops = "<"
		}
	}
	for end = at; end < len(f.text) && strings.IndexByte(stops, f.text[end]) < 0; end++ {
		if f.text[end] == '\\' && stops != "<" && f.text[at-2:at-1] != `\` {
			end++
		}
	}
	end = min(end, len(f.text))
	return at, at + len(strings.TrimRight(f.text[at:end], " \t\r\n\\"))
}

// goesOn reports whether a word or a number goes on at p.
func (f *sourceFinder) goesOn(p int) bool {
	return p < len(f.text) && (isWord(f.text[p]) || f.text[p] == '.' && p+1 < len(f.text) && '0' <= f.text[p+1] &&
		f.text[p+1] <= '9')
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// add adds the source of the bytes [from, to) of the arguments.
func (f *sourceFinder) add(path string, key bool, from, to, at, end int) {
	f.out = append(f.out, ParsedValue{path, key, from, to, at, end, f.text[at:end] == f.args[from:to]})
}
