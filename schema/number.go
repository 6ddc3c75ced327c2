package schema

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A decimal is the exact value of JSON number text: 0.digits times ten to the power of exp. Nothing is ever multiplied
// out, so that a short text with a huge exponent costs no more than its length.
type decimal struct {
	neg    bool
	digits string // without zeros at either end; empty for zero
	exp    int64  // saturated at ±maxExp
}

// maxExp bounds exponents. Texts that differ only beyond it are taken as equal.
const maxExp = 1 << 60

// parseDecimal reads a valid JSON number.
func parseDecimal(text string) (d decimal) {
	if text[0] == '-' {
		d.neg = true
		text = text[1:]
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		d.exp = parseExp(text[i+1:])
		text = text[:i]
	}
	whole, frac, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	digits := whole
	if frac = strings.TrimRight(frac, "0"); frac != "" {
		digits = whole + frac
	}
	d.exp += int64(len(whole))
	d.digits = strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func parseExp(s string) (exp int64) {
	neg := s[0] == '-'
	for _, b := range []byte(strings.TrimLeft(s, "+-")) {
		if exp = exp*10 + int64(b-'0'); exp > maxExp {
			exp = maxExp
			break
		}
	}
	if neg {
		return -exp
	}
	return exp
}

// whole reports whether d is an integer.
func (d decimal) whole() bool { return d.exp >= int64(len(d.digits)) }

// cmp returns -1, 0 or 1 as d is less than, equal to or greater than e.
func (d decimal) cmp(e decimal) int {
	switch {
	case d == e:
		return 0
	case d.sign() != e.sign():
		return cmp.Compare(d.sign(), e.sign())
	case d.exp != e.exp:
		return cmp.Compare(d.exp, e.exp) * d.sign()
	}
	return strings.Compare(d.digits, e.digits) * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.neg:
		return -1
	}
	return 1
}

// multiple reports whether d is a whole multiple of m, which is greater than zero.
func (d decimal) multiple(m decimal) bool {
	if d.digits == "" {
		return true
	}
	// d = a·10^p and m = b·10^q with whole a and b that do not end in zero.
	p, q := d.exp-int64(len(d.digits)), m.exp-int64(len(m.digits))
	if p < q {
		// b·10^(q-p) would have to divide a. Since a does not end in zero, 10 never does.
		return false
	}
	if len(m.digits) <= maxFactor && p-q <= 2*maxFactor {
		return multipleSmall(d.digits, m.digits, int(p-q))
	}
	b := bigInt(m.digits)
	rest := modDigits(d.digits, b)
	shift := new(big.Int).Exp(big.NewInt(10), big.NewInt(p-q), b)
	return rest.Mul(rest, shift).Mod(rest, b).Sign() == 0
}

// maxFactor limits the digits of a number so that ten times it fits in 64 bits.
const maxFactor = 18

// multipleSmall reports whether a·10^shift is a multiple of b.
func multipleSmall(a, b string, shift int) bool {
	m, _ := strconv.ParseUint(b, 10, 64)
	var rest uint64
	for _, c := range []byte(a) {
		rest = (rest*10 + uint64(c-'0')) % m
	}
	for range shift {
		rest = rest * 10 % m
	}
	return rest == 0
}

// modDigits returns the number written as digits modulo m, in time linear in the digits.
func modDigits(digits string, m *big.Int) *big.Int {
	const chunk = 18
	rest, scale := new(big.Int), new(big.Int)
	for digits != "" {
		n := min(chunk, len(digits))
		part, _ := strconv.ParseInt(digits[:n], 10, 64)
		scale.SetInt64(pow10[n])
		rest.Mul(rest, scale)
		rest.Mod(rest.Add(rest, scale.SetInt64(part)), m)
		digits = digits[n:]
	}
	return rest
}

var pow10 = func() (t [19]int64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return t
}()

func bigInt(digits string) *big.Int {
	n, _ := new(big.Int).SetString(digits, 10)
	return n
}

// smallInt returns the value of an integer of few digits, written plainly.
func smallInt(text string) (n int64, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	if len(digits) > 18 {
		return 0, false
	}
	for _, b := range []byte(digits) {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	if len(digits) != len(text) {
		n = -n
	}
	return n, true
}

// isWhole reports whether the number text has no fractional part in value.
func isWhole(text string) bool {
	if !strings.ContainsAny(text, ".eE") {
		return true
	}
	return parseDecimal(text).whole()
}

// inRange reports whether a float64 can hold the number text.
func inRange(text string) bool {
	if len(text) < 300 && !strings.ContainsAny(text, "eE") {
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// A bound is a limit of a number or the number that it must be a multiple of.
type bound struct {
	text    string
	dec     decimal
	small   int64
	isSmall bool
}

func newBound(text string) *bound {
	b := &bound{text: text, dec: parseDecimal(text)}
	b.small, b.isSmall = smallInt(text)
	return b
}

// cmp compares the number text with b.
func (b *bound) cmp(text string) int {
	if b.isSmall {
		if n, ok := smallInt(text); ok {
			return cmp.Compare(n, b.small)
		}
	}
	return parseDecimal(text).cmp(b.dec)
}

func (b *bound) divides(text string) bool {
	if b.isSmall {
		if n, ok := smallInt(text); ok {
			return n%b.small == 0
		}
	}
	return parseDecimal(text).multiple(b.dec)
}
