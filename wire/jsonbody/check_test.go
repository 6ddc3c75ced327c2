package jsonbody

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// strictly reports whether check must accept s.
func strictly(s string) bool {
	dec := jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadValue(); err != nil {
		return false
	}
	_, err := dec.ReadToken()
	return err != nil && err.Error() == "EOF"
}

var checked = []string{
	``, ` `, `0`, `-0`, `-`, `01`, `1.`, `1.5`, `.5`, `1e`, `1e5`, `1E+5`, `1e-05`, `1e+`, `--1`, `+1`, `1 2`, `0x1`,
	`NaN`, `Infinity`, `true`, `tru`, `truex`, `false`, `null`, `nul`, `True`, `""`, `"`, `"a`, `"\`, `"\"`,
	`"\"\\\/\b\f\n\r\t"`, `"\x41"`, `"\u00e9"`, `"\u12"`, `"\u12g4"`, `"\ud800"`, `"\ud83d\ude00"`, `"\udc00\ud800x"`,
	"\"\t\"", "\"\x7f\"", "\"\x00\"", "\x00", "\u00a01", "\ufeff{}", `"` + "\u5929\u6c14" + `"`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2`, `[`, `]`, `[[[]]]`, `[}`, `{}`, `{ }`, `{"a":1}`, `{"a":1,}`,
	`{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1;"b":2}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
	`{"a":{"a":{"a":1}}}`, `[{"a":1},{"a":1}]`, `{"a":{"b":1},"b":2}`, `{"a":{"b":1,"c":1},"b":2,"a":3}`,
	`{"":1,"":2}`, `{"A":1,"a":2}`, `{"\ud800":1,"\udfff":2}`, ` {"a" : [ 1 , "x" ] } ` + "\n", "{\"a\":1}\v", `'a'`,
	`/**/1`,
}

// TestCheckAgrees compares the checker with another reader of strict JSON, over texts and everything near to them.
func TestCheckAgrees(t *testing.T) {
	check := func(fatalf func(string, ...any), s string) {
		if err := check(s); (err == nil) != strictly(s) && invalidUTF8(s) < 0 {
			fatalf("%q: %v, but it should be %v", s, err, strictly(s))
		}
	}
	for _, s := range checked {
		check(t.Fatalf, s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SampledFrom(checked).Draw(rt, "text")
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(s)).Draw(rt, "at")
			piece := rapid.SampledFrom(append([]string{" ", ",", ":", `"a":1`, `\`, "5", "e", ".", "-", "{", "}", "[",
				"]", `"`, "\u00e9"}, checked...)).Draw(rt, "piece")
			s = s[:at] + piece + s[min(len(s), at+rapid.IntRange(0, 2).Draw(rt, "cut")):]
		}
		check(rt.Fatalf, s)
	})
}

// TestCheckManyNames finds the one name that an object of any size has twice.
func TestCheckManyNames(t *testing.T) {
	for _, n := range []int{1, 2, fewMembers - 1, fewMembers, fewMembers + 1, 3 * fewMembers} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":{"k0":0},`, i)
		}
		if err := check("{" + b.String() + `"last":0}`); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		for _, twice := range []int{0, n / 2, n - 1} {
			err := check("{" + b.String() + fmt.Sprintf(`"k%d":0}`, twice))
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(`duplicate name "k%d"`, twice)) {
				t.Errorf("%d names, k%d twice: %v", n, twice, err)
			}
		}
	}
}

// TestCheckMembers takes objects of so many fields and no more; those of others do not count.
func TestCheckMembers(t *testing.T) {
	object := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"k":0`)
		for i := range n - 1 {
			fmt.Fprintf(&b, `,"k%d":0`, i)
		}
		return b.String() + "}"
	}
	most := object(maxMembers)
	if err := check("[" + most + "," + most + "]"); err != nil {
		t.Error(err)
	}
	half := strings.TrimSuffix(object(maxMembers/2), "}") + `,"n":`
	for _, body := range []string{object(maxMembers + 1), half + object(maxMembers/2) + "}"} {
		if err := check(body); err == nil || !strings.Contains(err.Error(), "more than 100000 fields") {
			t.Error(err)
		}
	}
	if err := check(half + object(maxMembers/2-1) + "}"); err != nil {
		t.Error(err)
	}
}

// TestCheckDepth takes what the scanner takes and no more.
func TestCheckDepth(t *testing.T) {
	for n, ok := range map[int]bool{maxDepth - 1: true, maxDepth: true, maxDepth + 1: false} {
		err := check(strings.Repeat("[", n) + strings.Repeat("]", n))
		if (err == nil) != ok {
			t.Errorf("depth %d: %v", n, err)
		}
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	message := `{"role":"user","content":"` + strings.Repeat(`lorem ipsum \"dolor\"\n`, 100) +
		`","tags":[1,true,{"a":null}]}`
	body := `{"model":"m","messages":[` + strings.Repeat(message+",", 20) + message + `]}`
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := check(body); err != nil {
			b.Fatal(err)
		}
	}
}
