package config

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestKeySecret looks a key up in all the ways in which the file can say what it is.
func TestKeySecret(t *testing.T) {
	want := sha256.Sum256([]byte("the key"))
	hash := fmt.Sprintf("sha256:%x", want)
	getenv := env("KEY", "the key", "HASH", hash, "HALF", "sha256:12")
	for _, tt := range []struct{ text, parse, look string }{
		{text: "env:KEY"},
		{text: "env:HASH"},
		{text: hash},
		{text: strings.ToUpper(hash[7:]), parse: "a key does not stand in the file"},
		{text: "sha256:" + strings.ToUpper(hash[7:])},
		{text: "sha256:12", parse: "64 hexadecimal digits"},
		{text: "the key", parse: "its hash as wield config key prints it"},
		{text: "env:HALF", look: "env:HALF: after sha256:"},
		{text: "env:NONE", look: "not set"},
	} {
		var s KeySecret
		err := s.Parse(tt.text)
		if !saysError(err, tt.parse) {
			t.Errorf("%s: %v, want %q", tt.text, err, tt.parse)
		}
		if err != nil {
			continue
		}
		got, err := s.Hash(getenv)
		if !saysError(err, tt.look) || err == nil && got != want {
			t.Errorf("%s: %x, %v, want %q", tt.text, got, err, tt.look)
		}
	}
}

// saysError reports whether err is none, if nothing is wanted, or says what is wanted.
func saysError(err error, want string) bool {
	if want == "" || err == nil {
		return want == "" && err == nil
	}
	return strings.Contains(err.Error(), want)
}

// TestGuessableKeys warns of short keys, as far as they are known.
func TestGuessableKeys(t *testing.T) {
	c, err := Parse("config.yaml", []byte(`wield: config/v1
keys:
  - {name: short, secret: env:SHORT}
  - {name: long, secret: env:LONG}
  - {name: unset, secret: env:UNSET}
  - {name: hashed, secret: "sha256:`+strings.Repeat("0", 64)+`"}
`), Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	got := c.GuessableKeys(func(name string) string {
		return map[string]string{"SHORT": "fifteen letters", "LONG": "sixteen letters!"}[name]
	})
	if len(got) != 1 || !strings.Contains(got[0].Error(), "key short: it has 15 bytes") {
		t.Errorf("%v", got)
	}
}
