package config

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wield/schema/near"
)

// TestScalars checks each type of value with texts that it takes and refuses, and that the pattern in the schema takes
// at least what the reader takes.
func TestScalars(t *testing.T) {
	for _, c := range []struct {
		value scalar
		good  []string
		bad   []string
	}{
		{new(Duration), []string{"0", "0s", "500ms", "1.5h", "1m30s", "2us"},
			[]string{"", "5", "-1s", "1d", "ten", "1 s", "s"}},
		{new(Size), []string{"0", "4096", "1B", "512KiB", "32 MiB", "10MB", "1kB", "2GiB"},
			[]string{"", "MiB", "1.5MiB", "-1", "1TiB", "99999999999999999999", "9999999999GiB"}},
		{new(Address), []string{"127.0.0.1:0", "[::1]:8420", "localhost:80", ":8420", "host.example:65535"},
			[]string{"", "8420", "127.0.0.1", "::1:80", "h:65536", "h:-1", "h:http", "a b:1", "http://h:1"}},
		{new(URL), []string{"http://h", "https://h:1/v1", "HTTP://h/"},
			[]string{"", "h:1", "ftp://h", "http://", "http://u@h", "http://u:p@h", "http://h?x=1", "http://h#x",
				"http://h:port"}},
		{new(Origin), []string{"*", "https://app.example", "http://localhost:5173", "app://x"},
			[]string{"", "app.example", "https://", "https://h/", "https://h/x", "https://u@h"}},
		{new(Glob), []string{"*", "home*", "a/b?c"}, []string{"", "a[", "{a,b}", `a\*`}},
		{new(Secret), []string{"env:A", "file:/a b", "file:~/k"}, []string{"", "sk-1", "env:", "file:", "env:A B",
			"env:A=B", "ENV:A"}},
		{new(Value), []string{"", "x", "env:A", "file:k"}, []string{"a\nb", "a\r", "env:"}},
		{new(Dialect), []string{"auto", "hermes"}, []string{"", "hermez", "HERMES"}},
	} {
		pattern := regexp.MustCompile(c.value.pattern())
		for _, text := range c.good {
			if err := c.value.Parse(text); err != nil {
				t.Errorf("%T %q: %v", c.value, text, err)
			}
			if !pattern.MatchString(text) {
				t.Errorf("%T %q does not match %s", c.value, text, pattern)
			}
		}
		for _, text := range c.bad {
			if err := c.value.Parse(text); err == nil {
				t.Errorf("%T %q was accepted", c.value, text)
			}
		}
	}
}

func TestScalarStrings(t *testing.T) {
	for text, want := range map[string]string{"90s": "1m30s", "60m": "1h", "24h": "24h", "1h0m1s": "1h0m1s",
		"10m": "10m", "0": "0s"} {
		var d Duration
		if err := d.Parse(text); err != nil || d.String() != want {
			t.Errorf("duration %s: %v, %s", text, err, d)
		}
	}
	for text, want := range map[string]string{"32MiB": "32MiB", "1024KiB": "1MiB", "10MB": "10000000", "1": "1",
		"1025": "1025", "0": "0"} {
		var s Size
		if err := s.Parse(text); err != nil || s.String() != want {
			t.Errorf("size %s: %v, %s", text, err, s)
		}
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[Address]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "localhost:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "192.168.0.1:1": false, "localhost.example:1": false,
		"x": false,
	} {
		if got := address.Loopback(); got != want {
			t.Errorf("%s: got %v", address, got)
		}
	}
}

func TestSecretResolve(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	getenv := env("KEY", "sk-1", "HOME", dir)
	write("home", "sk-home")
	for _, c := range []struct{ ref, want, wrong string }{
		{"env:KEY", "sk-1", ""},
		{"env:NONE", "", "env:NONE: the variable is not set"},
		{"file:" + write("plain", "sk-2"), "sk-2", ""},
		{"file:" + write("line", "sk-3\n"), "sk-3", ""},
		{"file:" + write("crlf", "sk-4\r\n"), "sk-4", ""},
		{"file:" + write("spaces", " sk 5 \n"), " sk 5 ", ""},
		{"file:~/home", "sk-home", ""},
		{"file:" + write("empty", "\n"), "", "the file is empty"},
		{"file:" + write("long", strings.Repeat("x", maxSecret+1)), "", "too long for a secret"},
		{"file:" + dir, "", "not a file"},
		{"file:" + filepath.Join(dir, "none"), "", "no such file"},
	} {
		var s Secret
		if err := s.Parse(c.ref); err != nil {
			t.Fatal(err)
		}
		got, err := s.Resolve(getenv)
		switch {
		case c.wrong == "" && (err != nil || got != c.want):
			t.Errorf("%s: got %q, %v", c.ref, got, err)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: got %q, %v, want %s", c.ref, got, err, c.wrong)
		}
	}
}

// TestSecretIsNotPrinted checks the ways in which values end up in texts.
func TestSecretIsNotPrinted(t *testing.T) {
	key := Key{Name: "a"}
	if err := key.Secret.Parse("env:KEY"); err != nil {
		t.Fatal(err)
	}
	getenv := env("KEY", "sk-0123456789")
	if got, err := key.Secret.Hash(getenv); err != nil || got != sha256.Sum256([]byte("sk-0123456789")) {
		t.Fatal(got, err)
	}
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("key", "secret", key.Secret, "key", key)
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%v %+v %#v %s", key, key, key, key.Secret),
		b.String()} {
		if strings.Contains(text, "0123456789") {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ word, want string }{
		{"lisen", "listen"}, {"listne", "listen"}, {"Listen", "listen"}, {"mdoe", "mode"}, {"xyzzy", ""}, {"", ""},
		{"bakends", "backends"},
	} {
		got := near.Hint(c.word, []string{"listen", "mode", "backends", "timeouts"})
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, `"`+c.want+`"`) {
			t.Errorf("%q: got %q", c.word, got)
		}
	}
}
