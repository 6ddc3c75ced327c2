package jsonbody

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// A Allowed says what the value of a field may be. null is no value, and is always allowed. The zero value allows
// everything.
type Allowed struct {
	// first bytes of JSON's types: " [ { t 0, the last two for any boolean and any number; empty: all
	types       string
	whole       bool // a number is an integer
	least, most float64
	words       []string // a string is one of them; nil: any
	code        string   // of an error about a word; empty: CodeInvalidValue
	inside      map[string]Allowed
}

// Types of values in a Limit.
const (
	aString, aList, anObject, aBoolean, aNumber = `"`, `[`, `{`, `t`, `0`
)

// Efforts are the words for how much a model is to think.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

var (
	object  = Allowed{types: anObject}
	list    = Allowed{types: aList}
	text    = Allowed{types: aString}
	boolean = Allowed{types: aBoolean}
	bound   = between(1, math.Inf(1), true)
	count   = between(0, math.Inf(1), true)
	integer = between(math.Inf(-1), math.Inf(1), true)
	share   = between(0, 1, false)
	effort  = Allowed{types: aString, words: efforts, code: CodeInvalidEffort}
	volume  = Allowed{types: aString, words: []string{"low", "medium", "high"}}
)

func between(least, most float64, whole bool) Allowed {
	return Allowed{types: aNumber, least: least, most: most, whole: whole}
}

// limits is the one table of what the settings of a request may be. A field that is not in it is either read by its
// protocol's codec, which checks it then, or is not known, and whatever a client sends there is left to the backend.
var limits = map[chat.Protocol]map[string]Allowed{
	chat.ProtocolOpenAI: {
		"max_tokens":            bound,
		"max_completion_tokens": bound,
		"temperature":           between(0, 2, false),
		"top_p":                 share,
		"top_logprobs":          between(0, 20, true),
		"frequency_penalty":     between(-2, 2, false),
		"presence_penalty":      between(-2, 2, false),
		"reasoning_effort":      effort,
		"verbosity":             volume,
		"seed":                  integer,
		"n":                     between(1, MaxChoices, true),
		"logprobs":              boolean,
		"stream":                boolean,
		"store":                 boolean,
		"parallel_tool_calls":   boolean,
		"user":                  text,
		"service_tier":          text,
		"prompt_cache_key":      text,
		"metadata":              object,
		"stream_options":        {types: anObject, inside: map[string]Allowed{"include_usage": boolean}},
	},
	chat.ProtocolResponses: {
		"max_output_tokens":   bound,
		"max_tokens":          bound,
		"max_tool_calls":      bound,
		"temperature":         between(0, 2, false),
		"top_p":               share,
		"top_logprobs":        between(0, 20, true),
		"reasoning":           {types: anObject, inside: map[string]Allowed{"effort": effort, "summary": text}},
		"text":                {types: anObject, inside: map[string]Allowed{"verbosity": volume}},
		"truncation":          {types: aString, words: []string{"auto", "disabled"}},
		"include":             list,
		"stream":              boolean,
		"store":               boolean,
		"background":          boolean,
		"parallel_tool_calls": boolean,
		"user":                text,
		"service_tier":        text,
		"safety_identifier":   text,
		"prompt_cache_key":    text,
		"metadata":            object,
		"stream_options":      object,
	},
	chat.ProtocolAnthropic: {
		"max_tokens":  bound,
		"temperature": share,
		"top_p":       share,
		"top_k":       count,
		"thinking": {types: anObject, inside: map[string]Allowed{
			"type":          {types: aString, words: []string{"enabled", "disabled", "adaptive"}},
			"budget_tokens": bound,
			"display":       text,
		}},
		"stop_sequences":     list,
		"stream":             boolean,
		"service_tier":       text,
		"metadata":           {types: anObject, inside: map[string]Allowed{"user_id": text}},
		"output_config":      object,
		"context_management": object,
	},
	chat.ProtocolOllama: {
		"think":        {types: aBoolean + aString, words: efforts, code: CodeInvalidEffort},
		"keep_alive":   {types: aString + aNumber, least: math.Inf(-1), most: math.Inf(1)},
		"logprobs":     boolean,
		"stream":       boolean,
		"top_logprobs": between(0, 20, true),
		"options": {types: anObject, inside: map[string]Allowed{
			"num_predict": integer, // below 0: no bound
			"num_ctx":     bound,
			"temperature": between(0, math.Inf(1), false),
			"top_p":       share,
			"top_k":       integer,
			"seed":        integer,
			"stop":        {types: aString + aList},
		}},
	},
}

// LimitsOf returns what the fields of a protocol's requests may be, by their names. The result must not be changed.
func LimitsOf(p chat.Protocol) map[string]Allowed { return limits[p] }

// Bound makes the bound of a protocol one of a chat.Request, in which 0 is none.
func Bound(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }

// Meets reports whether the next value, which it does not go behind, is within a limit, and refuses it otherwise.
func (r *Reader) Meets(l Allowed) bool {
	c := kindOf(r.Peek())
	switch {
	case l.types == "" || c == 'n':
	case strings.IndexByte(l.types, c) < 0:
		r.Want(l.describe())
	case c == '0':
		r.number(l)
	case c == '"' && l.words != nil:
		r.word(l)
	case c == '{' && l.inside != nil:
		at := r.Pos
		r.Members(func(key string) {
			if r.Meets(l.inside[key]) {
				r.Skip()
			}
		})
		r.back(at)
	}
	return r.Bad == nil
}

// back goes to where a value begins, unless reading has ended.
func (r *Reader) back(at int) {
	if r.Bad == nil {
		r.Pos = at
	}
}

// kindOf returns the byte that stands for the type of a value that begins with c.
func kindOf(c byte) byte {
	switch c {
	case '"', '{', '[', 'n', 't':
		return c
	case 'f':
		return 't'
	}
	return '0'
}

func (r *Reader) number(l Allowed) {
	at := r.Pos
	raw := string(r.Raw())
	v, err := strconv.ParseFloat(raw, 64)
	switch {
	case err != nil:
		r.Refuse(CodeInvalidValue, "this number is out of range")
	case l.whole && v != math.Trunc(v):
		r.Refuse(CodeInvalidType, "this must be an integer")
	case v < l.least || v > l.most:
		r.Refuse(CodeInvalidValue, "this must be "+l.span())
	}
	r.back(at)
}

// span says which numbers are allowed.
func (l Allowed) span() string {
	if math.IsInf(l.most, 1) {
		if l.least == 1 {
			return "a positive number; leave it out for no bound"
		}
		return "at least " + decimal(l.least)
	}
	return "from " + decimal(l.least) + " to " + decimal(l.most)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (r *Reader) word(l Allowed) {
	at := r.Pos
	if s := r.Str(); s != "" && !slices.Contains(l.words, s) { // an empty word says nothing
		code := l.code
		if code == "" {
			code = CodeInvalidValue
		}
		r.Refuse(code, "this must be "+l.describe())
	}
	r.back(at)
}

// describe says which types and words are allowed.
func (l Allowed) describe() string {
	var all []string
	for _, t := range []byte(l.types) {
		switch {
		case t == '"' && l.words != nil && len(l.types) == 1 && len(l.words) == 2:
			return l.words[0] + " or " + l.words[1]
		case t == '"' && l.words != nil:
			last := len(l.words) - 1
			all = append(all, "one of "+strings.Join(l.words[:last], ", ")+" and "+l.words[last])
		case t == '0' && l.whole:
			all = append(all, "an integer")
		default:
			all = append(all, typeOf(t))
		}
	}
	return strings.Join(all, " or ")
}
