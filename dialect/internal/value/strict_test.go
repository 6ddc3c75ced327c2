package value

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// strictly is what Strict is held to: encoding/json, and a look at every key.
func strictly(text string) bool {
	if !json.Valid([]byte(text)) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	type frame struct {
		object, value bool
		keys          map[string]bool
	}
	var stack []frame
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return true
		}
		top := len(stack) - 1
		if key, ok := tok.(string); ok && top >= 0 && stack[top].object && !stack[top].value {
			if stack[top].keys[key] {
				return false
			}
			stack[top].keys[key], stack[top].value = true, true
			continue
		}
		if top >= 0 {
			stack[top].value = false
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			stack = append(stack, frame{object: tok == json.Delim('{'), keys: map[string]bool{}})
			if len(stack) > MaxDepth {
				return false
			}
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
		}
	}
}

// TestStrict compares the strict reader with encoding/json, over JSON and over what is nearly JSON.
func TestStrict(t *testing.T) {
	texts := []string{``, ` `, `{}`, ` [ ] `, `{"a":1,"a":1}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1},"b":[{"a":1},{"a":2}]}`, `[1,]`, `{"a":1,}`, `{,}`, `01`, `-`, `-0`, `1.e1`,
		`1.5e+3`, `"\x"`, `"\u12g4"`, "\"\t\"", `"a`, `"\`, `tru`, `truex`, `null,`, `{"a" 1}`, `{"a":}`, `{1:2}`, "\ufeff{}", "\v{}",
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1),
		strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth), `{"k` + strings.Repeat(`":1,"k`, 3) + `":2}`}
	var many strings.Builder
	for i := range 3 * fewKeys {
		many.WriteString(`,"` + strings.Repeat("k", i) + `":` + strings.Repeat("1", i+1))
	}
	texts = append(texts, "{"+many.String()[1:]+"}", "{"+many.String()[1:]+many.String()+"}")
	const pieces = "{}[]\":,\\ \n10.eE+-tfnurlsab\x01\xff\u00e9"
	const whole = `{"tool_request":{"name":"x","arguments":{"a":[1,-2.5e3,true,null,"b\n\u00e9"],"b":{"a":false,"c":""}}}}`
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		b := []byte(whole)
		for range 1 + rnd.IntN(3) {
			k := rnd.IntN(len(b))
			switch c := pieces[rnd.IntN(len(pieces))]; rnd.IntN(3) {
			case 0:
				b[k] = c
			case 1:
				b = append(b[:k], b[k+1:]...)
			default:
				b = append(b[:k], append([]byte{c}, b[k:]...)...)
			}
		}
		texts = append(texts, string(b))
	}
	var r Strict
	valid := 0
	for _, text := range texts {
		want := strictly(text)
		if got := r.Read(strings.Trim(text, " \t\r\n")); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		if want {
			valid++
			if members, ok := decoded(text); ok && len(members) != len(r.Outer) {
				t.Fatalf("%q: %d members, want %d", text, len(r.Outer), len(members))
			}
		}
	}
	if valid < len(texts)/20 || valid > len(texts)/2 {
		t.Errorf("%d of %d texts are valid", valid, len(texts))
	}
}

// decoded returns the members of an object.
func decoded(text string) (members map[string]json.RawMessage, ok bool) {
	return members, json.Unmarshal([]byte(text), &members) == nil && members != nil
}
