package jsonbody

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wield/schema/shape"

	"pgregory.net/rapid"
)

// TestEscapedReadsBack writes strings with characters of every kind at every place of a word of eight bytes, and
// reads them with another reader.
func TestEscapedReadsBack(t *testing.T) {
	check := func(fatalf func(string, ...any), s string) {
		var back string
		if err := json.Unmarshal(shape.AppendQuoted(nil, s), &back); err != nil {
			fatalf("%q: %v", s, err)
		}
		want := ""
		for _, r := range s { // a byte that is no UTF-8 is one U+FFFD
			want += string(r)
		}
		if back != want {
			fatalf("%q became %q", s, back)
		}
	}
	for c := range 256 {
		for at := range 17 {
			check(t.Fatalf, strings.Repeat("a", at)+string([]byte{byte(c)})+strings.Repeat("~", 17-at))
			check(t.Fatalf, strings.Repeat(" ", at)+string(rune(c))+"!#[]")
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t.Fatalf, string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))) })
}

func BenchmarkEscape(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("lorem ipsum ", 58),
		"code":    strings.Repeat("\tif x == \"\" {\n\t\treturn nil\n\t}\n", 23),
		"schema":  strings.Repeat(`{"type":"object","properties":{"path":{"type":"string","description":"where"}}}`, 9),
		"chinese": strings.Repeat("\u5929\u6c14\u5f88\u597d", 58),
	} {
		b.Run(fmt.Sprintf("%s%d", name, len(text)), func(b *testing.B) {
			var buf []byte
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				buf = shape.AppendQuoted(buf[:0], text)
			}
		})
	}
}
