package mask

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestValues hides secrets that have no form of their own, however they are written.
func TestValues(t *testing.T) {
	hide := Values([]string{"plain words", `quo"te/+`, "abc", "plain words and more"})
	for text, want := range map[string]string{
		"the key plain words is wrong":        "the key [masked] is wrong",
		"plain words and more":                "[masked]",
		`{"m":"quo\"te/+"}`:                   `{"m":"[masked]"}`,
		"?key=quo%22te%2F%2B&x=1":             "?key=[masked]&x=1",
		"?key=plain+words":                    "?key=[masked]",
		"?key=quo%22te%2f%2b&x=1":             "?key=[masked]&x=1",
		"<p>quo&quot;te/+</p>":                "<p>[masked]</p>",
		"?key=quo%22te/%2B":                   "?key=[masked]",
		"?next=%3Fkey%3Dquo%2522te%252F%252B": "?next=%3Fkey%3D[masked]",
		"<p>quo&#34;te/&#43;</p>":             "<p>[masked]</p>",
		"<p>quo&#34;te/+</p>":                 "<p>[masked]</p>",
		"706c61696e20776f726473":              "[masked]",
		"706C61696E20776F726473":              "[masked]",
		"cGxhaW4gd29yZHM=":                    "[masked]M=",             // alone
		"Basic dTpwbGFpbiB3b3Jkcw==":          "Basic dTp[masked]w==",   // after u:
		"Basic dXM6cGxhaW4gd29yZHM6eA":        "Basic dXM6[masked]M6eA", // after us:, before :x
		"%70%6c%61%69%6e%20%77%6f%72%64%73!":  "[masked]!",
		"%70%6C%61%69%6E%20%77%6F%72%64%73":   "[masked]",
		`"\u0070\u006c\u0061\u0069\u006e\u0020\u0077\u006f\u0072\u0064\u0073"`: `"[masked]"`,
		"&#112;&#108;&#97;&#105;&#110;&#32;&#119;&#111;&#114;&#100;&#115;":     "[masked]",
		"PLAIN WORDS AND MORE, plain Words":                                    "[masked], plain Words",
		"abc":                                                                  "abc", // too short to be told from a word
	} {
		if got := hide(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Values(nil)("plain"); got != "plain" {
		t.Errorf("%q", got)
	}
}

// TestShortened hides the beginning of a key where an error was cut off, and nothing else.
func TestShortened(t *testing.T) {
	for text, want := range map[string]string{
		"no plain-spoken wor ...":     "no [masked] ...",
		"no plain-spoken words***":    "no [masked]***",
		"no plain-sp…, plain-sp, no":  "no [masked]…, plain-sp, no",
		"no plain-sp":                 "no [masked]",
		"no plain-s":                  "no plain-s", // says no more than a kind
		"plain-spoken people, and so": "plain-spoken people, and so",
	} {
		if got := Shortened(text, "plain-spoken words"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestHandler hides secrets in messages, texts, errors, lists and groups of log lines.
func TestHandler(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(Handler(slog.NewTextHandler(&b, nil), Values([]string{"hush-hush"})))
	log.With("a", "x hush-hush").WithGroup("g").Info("hush-hush!", "error", errors.New("got hush-hush"), "list",
		[]string{"hush-hush"}, slog.Group("h", "b", "hush-hush"), "n", 5)
	if out := b.String(); strings.Contains(out, "hush") || strings.Count(out, Masked) != 5 ||
		!strings.Contains(out, "n=5") {
		t.Errorf("%s", out)
	}
}
