package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"wield/dialect"
	"wield/prompt"
	"wield/schema/near"
)

// A scalar is a value of the file that is written as text and has rules of its own. Its Parse says in words
// what is wrong.
type scalar interface {
	Parse(text string) error
	// regular expression of ECMA-262 that the text must match, for the JSON Schema; "" if none can say it
	pattern() string
}

// Duration is a length of time, written as in 90s, 1m30s or 2h.
type Duration time.Duration

func (d *Duration) Parse(text string) error {
	v, err := time.ParseDuration(text)
	switch {
	case err != nil && isDigits(text) && text != "":
		return fmt.Errorf("the unit is missing: write %ss, %sm or %sh", text, text, text)
	case err != nil:
		return errors.New("not a duration: write a number and a unit, such as 500ms, 30s, 10m or 24h")
	case v < 0:
		return errors.New("a duration cannot be negative")
	}
	*d = Duration(v)
	return nil
}

func (d *Duration) pattern() string {
	return `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
}

// String returns the duration as a file would say it: 10m rather than 10m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size is a number of bytes, written as in 512KiB, 32MiB, 10MB or 4096.
type Size int64

var sizeUnits = []struct {
	name string
	n    int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
	{"", 1},
}

func (s *Size) Parse(text string) error {
	for _, u := range sizeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		digits = strings.TrimRight(digits, " ")
		if !ok || !isDigits(digits) || digits == "" {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.n {
			return errors.New("too large")
		}
		*s = Size(n * u.n)
		return nil
	}
	return errors.New("not a size: write a number of bytes with or without a unit, such as 512KiB, 32MiB or 10MB")
}

func (s *Size) pattern() string { return `^[0-9]+ *(KiB|MiB|GiB|kB|KB|MB|GB|B)?$` }

// String returns the size in the largest unit that has no fraction.
func (s Size) String() string {
	for _, u := range sizeUnits[:3] {
		if n := int64(s) / u.n; n > 0 && n < 1024 && n*u.n == int64(s) {
			return fmt.Sprint(n, u.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// Address is a host and a port.
type Address string

func (a *Address) Parse(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("not an address: write HOST:PORT, such as 127.0.0.1:8420 or [::1]:8420")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is no port: write a number from 0 to 65535", port)
	}
	if strings.ContainsAny(host, " /") {
		return fmt.Errorf("%q is no host", host)
	}
	*a = Address(text)
	return nil
}

func (a *Address) pattern() string { return `^.*:[0-9]{1,5}$` }

// Loopback reports whether only this machine can reach the address.
func (a Address) Loopback() bool {
	host, _, err := net.SplitHostPort(string(a))
	return err == nil && loopback(host)
}

// loopback reports whether a host is this machine.
func loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// URL is an absolute http or https address without credentials.
type URL string

func (u *URL) Parse(text string) error {
	p, err := url.Parse(text)
	switch {
	case err == nil && p.User != nil:
		return errors.New("a URL may not hold a user or password; use key or headers with env:NAME")
	case err != nil, p.Scheme != "http" && p.Scheme != "https", p.Host == "":
		return errors.New("not a URL of a server: write http://HOST:PORT/PATH or https://HOST/PATH")
	case p.RawQuery != "", p.Fragment != "":
		return errors.New("a base URL has no query and no fragment")
	}
	*u = URL(text)
	return nil
}

func (u *URL) pattern() string { return `^[hH][tT][tT][pP][sS]?://[^@?#]+$` }

// Origin is the origin of a page: a scheme, a host and perhaps a port. * is any.
type Origin string

func (o *Origin) Parse(text string) error {
	if text == "*" {
		*o = "*"
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || text != u.Scheme+"://"+u.Host {
		return errors.New("not an origin: write SCHEME://HOST or SCHEME://HOST:PORT without a path, such as " +
			"https://app.example")
	}
	*o = Origin(text)
	return nil
}

func (o *Origin) pattern() string { return `^(\*|[a-zA-Z][a-zA-Z0-9+.-]*://[^/@?#]+)$` }

// Glob is a pattern in which * stands for any characters and ? for one.
type Glob string

func (g *Glob) Parse(text string) error {
	switch {
	case text == "":
		return errors.New("the pattern is empty; * fits everything")
	case strings.ContainsAny(text, `[]{}\\`):
		return errors.New("not a pattern: only * (any characters) and ? (one) have a meaning, and no name holds " +
			"brackets or \\")
	}
	*g = Glob(text)
	return nil
}

// Matches reports whether a name fits the pattern.
func (g Glob) Matches(name string) bool {
	expr := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(string(g)))
	ok, err := regexp.MatchString("^(?s:"+expr+")$", name)
	return err == nil && ok
}

func (g *Glob) pattern() string { return `^[^\[\]{}\\]+$` }

// Dialect is the name of a dialect or one of its aliases, or auto.
type Dialect string

func (d *Dialect) Parse(text string) error {
	if text != "auto" {
		found, ok := dialect.Lookup(text)
		if !ok {
			return fmt.Errorf("no dialect %q%s (see: wield dialect list)", text,
				near.Hint(text, append(dialect.Names(), "auto")))
		}
		if text != prompt.PTK { // the one alias with tags of its own
			text = found.Name
		}
	}
	*d = Dialect(text)
	return nil
}

func (d *Dialect) pattern() string { return `^\S+$` }

// A Secret says where a secret is. The zero Secret refers to nothing.
type Secret struct{ ref string }

var errSecret = errors.New("a secret does not stand in the file: write env:NAME for a variable or file:PATH for a " +
	"file that holds it")

func (s *Secret) Parse(text string) error {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		if name == "" || strings.ContainsAny(name, " =$") {
			return errors.New("after env: stands the name of a variable, such as env:OPENAI_API_KEY")
		}
	} else if name, ok := strings.CutPrefix(text, "file:"); !ok {
		return errSecret
	} else if name == "" {
		return errors.New("after file: stands the path of a file")
	}
	s.ref = text
	return nil
}

// ParseSecret returns the secret that text refers to; an empty text refers to nothing.
func ParseSecret(text string) (s Secret, err error) {
	if text != "" {
		err = s.Parse(text)
	}
	return s, err
}

func (s *Secret) pattern() string { return `^(env:[^ =$]+|file:.+)$` }

// IsZero reports whether s refers to nothing.
func (s Secret) IsZero() bool { return s.ref == "" }

// String returns the reference, never the secret.
func (s Secret) String() string { return s.ref }

// LogValue returns the reference, never the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.ref) }

// maxSecret bounds the file of a secret: no key is longer, and a wrong path is not read whole.
const maxSecret = 64 << 10

// Resolve looks the secret up. One line end at the end of a file does not belong to it. The error names the reference.
func (s Secret) Resolve(getenv func(string) string) (string, error) {
	if s.ref == "" {
		return "", nil
	}
	if name, ok := strings.CutPrefix(s.ref, "env:"); ok {
		if v := getenv(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%s: the variable is not set", s.ref)
	}
	name := strings.TrimPrefix(s.ref, "file:")
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = getenv("HOME") + "/" + rest
	}
	return readSecret(s.ref, name)
}

func readSecret(ref, name string) (string, error) {
	info, err := os.Stat(name) // before it is opened: opening a pipe would wait for a writer
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", ref, unwrapPath(err))
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: not a file", ref)
	case info.Size() > maxSecret:
		return "", fmt.Errorf("%s: too long for a secret", ref)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ref, unwrapPath(err))
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("%s: the file is empty", ref)
	}
	return text, nil
}

// unwrapPath drops the path from an error that is printed after it.
func unwrapPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// A Value is a header's value: plain text, or a reference to a secret.
type Value struct {
	Text string
	Ref  Secret
}

func (v *Value) Parse(text string) error {
	if strings.HasPrefix(text, "env:") || strings.HasPrefix(text, "file:") {
		return v.Ref.Parse(text)
	}
	if strings.ContainsAny(text, "\r\n\x00") {
		return errors.New("a header is one line")
	}
	v.Text = text
	return nil
}

func (v *Value) pattern() string { return `^[^\r\n]*$` }

// IsSecret reports whether the value is a reference.
func (v Value) IsSecret() bool { return !v.Ref.IsZero() }

// String returns the text, or the reference.
func (v Value) String() string {
	if v.IsSecret() {
		return v.Ref.String()
	}
	return v.Text
}

// LogValue is String as a slog.Value.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Resolve returns the text, or the secret that is referred to.
func (v Value) Resolve(getenv func(string) string) (string, error) {
	if v.IsSecret() {
		return v.Ref.Resolve(getenv)
	}
	return v.Text, nil
}
