package api

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/internal/shorten"
	"wield/journal"
)

// A Filter searches among runs and exchanges: by terms such as tool:NAME, and words that stand
// in the texts. All must hold; of several terms of one field one is enough, unless they say what must not be.
type Filter struct {
	terms []term
	words []string // lower case
}

// A term is one field of a filter.
type term struct {
	field *field
	value string // lower case
	not   bool
	than  byte // '<', '>', or 0
	dur   time.Duration
}

// A field is named by a term.
type field struct {
	name  string
	words []string // the only values; nil: any
	dur   bool     // a duration, with < or > before it
	of    func(i *Inspected) []string
	doc   string
}

// flag returns the word for a yes or no.
func flag(b bool) []string { return []string{strconv.FormatBool(b)} }

var truth = []string{"true", "false"}

// filterFields are the fields of filters.
var filterFields = []*field{
	{name: "tool", of: func(i *Inspected) []string { return i.Tools }, doc: "a tool that was called"},
	{name: "model", of: func(i *Inspected) []string { return []string{i.Model} },
		doc: "the model, as the client knows it"},
	{name: "dialect", of: func(i *Inspected) []string { return i.Dialects }, doc: "a dialect that a call was read in"},
	{name: "status", words: journal.Statuses(), of: func(i *Inspected) []string { return []string{string(i.Status)} },
		doc: "where it stands"},
	{name: "kind", words: []string{"run", "exchange"}, of: func(i *Inspected) []string { return []string{i.Kind} },
		doc: "a run of an agent, or an exchange of the gateway"},
	{name: "repaired", words: truth, of: func(i *Inspected) []string { return flag(i.Repairs > 0) },
		doc: "something was repaired in a call"},
	{name: "bounced", words: truth, of: func(i *Inspected) []string { return flag(i.Bounces > 0) },
		doc: "the model was asked again"},
	{name: "rejected", words: truth, of: func(i *Inspected) []string { return flag(i.Rejects > 0) },
		doc: "text tried to be a call and was none"},
	{name: "key", of: func(i *Inspected) []string { return []string{i.Key} }, doc: "who asked"},
	{name: "session", of: func(i *Inspected) []string { return []string{i.Session} }, doc: "the session of a run"},
	{name: "dur", dur: true, doc: "how long it took: dur:>2s, dur:<300ms"},
}

// ParseFilter reads a filter. The error, a *Fault, says where it is wrong.
func ParseFilter(s string) (Filter, error) {
	var f Filter
	for at := 0; at < len(s); {
		if s[at] == ' ' || s[at] == '\t' {
			at++
			continue
		}
		end, err := f.take(s, at)
		if err != nil {
			return Filter{}, err
		}
		at = end
	}
	return f, nil
}

// take reads one term or word, which begins at the offset at, and returns where it ends.
func (f *Filter) take(s string, at int) (int, error) {
	from, not := at, false
	if s[at] == '-' && at+1 < len(s) && s[at+1] != ' ' {
		at, not = at+1, true
	}
	name, rest, colon := strings.Cut(s[at:], ":")
	fd := findField(name)
	if fd == nil || !colon {
		if colon && isFieldName(name) && rest != "" && rest[0] != '/' && rest[0] != ' ' {
			return 0, wrongFilter(at, "there is no field %s", shorten.Quoted(name)).with("fields are " + fieldNames())
		}
		if not {
			return 0, wrongFilter(from, "only fields can be left out, not words").
				with("write -tool:NAME, or the word in quotes")
		}
		word, end, err := filterValue(s, at)
		if err == nil && word != "" {
			f.words = append(f.words, strings.ToLower(word))
		}
		return end, err
	}
	t := term{field: fd, not: not}
	at += len(name) + 1
	if fd.dur && at < len(s) && (s[at] == '<' || s[at] == '>') {
		t.than = s[at]
		at++
	}
	value, end, err := filterValue(s, at)
	if err != nil {
		return 0, err
	}
	return end, f.add(t, value, at)
}

// add adds a term with its value, which stands at the offset at.
func (f *Filter) add(t term, value string, at int) error {
	t.value = strings.ToLower(value)
	switch {
	case value == "":
		return wrongFilter(at, "%s: has no value", t.field.name)
	case t.field.dur:
		d, err := time.ParseDuration(value)
		if err != nil {
			return wrongFilter(at, "%s is no duration", shorten.Quoted(value)).with("write 300ms, 2s, 1m30s")
		}
		t.dur = d
	case t.field.words != nil && !slices.Contains(t.field.words, t.value):
		return wrongFilter(at, "%s is one of %s, not %s", t.field.name, strings.Join(t.field.words, ", "),
			shorten.Quoted(value))
	}
	f.terms = append(f.terms, t)
	return nil
}

// filterValue reads a word, or a text in double quotes, at the offset at, and returns where it ends.
func filterValue(s string, at int) (string, int, error) {
	if at < len(s) && s[at] == '"' {
		var b strings.Builder
		for i := at + 1; i < len(s); i++ {
			switch {
			case s[i] == '\\' && i+1 < len(s):
				i++
				b.WriteByte(s[i])
			case s[i] == '"':
				return b.String(), i + 1, nil
			default:
				b.WriteByte(s[i])
			}
		}
		return "", 0, wrongFilter(at, "the quote is not closed")
	}
	end := at
	for end < len(s) && s[end] != ' ' && s[end] != '\t' {
		end++
	}
	return s[at:end], end, nil
}

func wrongFilter(at int, format string, args ...any) *Fault {
	f := invalid("q", format, args...)
	f.Message = "at " + strconv.Itoa(at+1) + ": " + f.Message
	return f
}

func findField(name string) *field {
	for _, fd := range filterFields {
		if strings.EqualFold(fd.name, name) {
			return fd
		}
	}
	return nil
}

// isFieldName reports whether a word before a colon is meant as the name of a field.
func isFieldName(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

func fieldNames() string {
	var names []string
	for _, fd := range filterFields {
		names = append(names, fd.name)
	}
	return strings.Join(names, ", ")
}

// holds reports whether an item is what the filter asks for, but for words.
func (f *Filter) holds(i *Inspected) bool {
	for _, fd := range filterFields {
		asked, any := false, false
		for _, t := range f.terms {
			if t.field != fd {
				continue
			}
			switch is := t.holds(i); {
			case t.not && is:
				return false
			case t.dur != 0 || fd.dur:
				if !t.not && !is {
					return false // a range has two ends
				}
			case !t.not:
				asked, any = true, any || is
			}
		}
		if asked && !any {
			return false
		}
	}
	return true
}

func (t *term) holds(i *Inspected) bool {
	if t.field.dur {
		took := time.Duration(i.Took * float64(time.Millisecond))
		switch t.than {
		case '<':
			return took < t.dur
		default:
			return took > t.dur || t.than == 0 && took == t.dur
		}
	}
	for _, v := range t.field.of(i) {
		v = strings.ToLower(v)
		if v == t.value || strings.HasSuffix(t.value, "*") && strings.HasPrefix(v, strings.TrimSuffix(t.value, "*")) {
			return true
		}
	}
	return false
}

// says reports whether all words of the filter stand in the texts.
func (f *Filter) says(texts ...string) bool {
	for _, w := range f.words {
		found := false
		for _, t := range texts {
			found = found || containsFold(t, w)
		}
		if !found {
			return false
		}
	}
	return true
}

func containsFold(text, lower string) bool {
	return strings.Contains(text, lower) || strings.Contains(strings.ToLower(text), lower)
}
