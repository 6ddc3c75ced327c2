package value

import (
	"math/big"

	"wield/dialect/internal/chars"
)

// maxTerm is the longest text that is read as arithmetic.
const maxTerm = 64

// arithmetic returns the value of an expression of decimal numbers, + - * / and parentheses, such as 3/100, if it has
// one that a decimal number can hold without loss.
func arithmetic(text string) (string, bool) {
	if len(text) > maxTerm {
		return "", false
	}
	p := sum{in: text}
	r, ok := p.terms()
	if p.blanks(); !ok || p.At < len(p.in) {
		return "", false
	}
	digits, exact := r.FloatPrec()
	if !exact {
		return "", false
	}
	return r.FloatString(digits), true
}

// A sum reads an expression from left to right.
type sum struct {
	in string
	At int
}

func (p *sum) blanks() {
	for p.At < len(p.in) && chars.IsBlank(p.in[p.At]) {
		p.At++
	}
}

// next reads one of two operators, if it comes next.
func (p *sum) next(a, b byte) byte {
	p.blanks()
	if p.At < len(p.in) && (p.in[p.At] == a || p.in[p.At] == b) {
		p.At++
		return p.in[p.At-1]
	}
	return 0
}

func (p *sum) terms() (*big.Rat, bool) {
	left, ok := p.factors()
	for ok {
		op := p.next('+', '-')
		if op == 0 {
			break
		}
		var right *big.Rat
		if right, ok = p.factors(); ok && op == '-' {
			left.Sub(left, right)
		} else if ok {
			left.Add(left, right)
		}
	}
	return left, ok
}

func (p *sum) factors() (*big.Rat, bool) {
	left, ok := p.number()
	for ok {
		op := p.next('*', '/')
		if op == 0 {
			break
		}
		right, isNumber := p.number()
		switch {
		case !isNumber || op == '/' && right.Sign() == 0:
			return nil, false
		case op == '*':
			left.Mul(left, right)
		default:
			left.Quo(left, right)
		}
	}
	return left, ok
}

func (p *sum) number() (*big.Rat, bool) {
	if p.next('-', '-') != 0 {
		r, ok := p.number()
		if ok {
			r.Neg(r)
		}
		return r, ok
	}
	if p.next('(', '(') != 0 {
		r, ok := p.terms()
		return r, ok && p.next(')', ')') != 0
	}
	p.blanks()
	from := p.At
	for p.At < len(p.in) && (chars.IsDigit(p.in[p.At]) || p.in[p.At] == '.') {
		p.At++
	}
	if !isNumber(p.in[from:p.At]) {
		return nil, false
	}
	return new(big.Rat).SetString(p.in[from:p.At])
}
