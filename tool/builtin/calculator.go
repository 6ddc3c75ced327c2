package builtin

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"strings"

	"wield/tool"
)

// Bounds of an expression.
const (
	exprBytes  = 4096
	exprDepth  = 100
	exprBits   = 1 << 16 // of a number: about 20 000 digits
	exprDigits = 40      // behind the point, where a result has no end
)

type calcInput struct {
	Expression string `json:"expression,omitempty" jsonschema:"expression, such as ((10 + 5) * 2) - 8 or sqrt(2) * pi; required"`
}

func calculator(*Options) *tool.Tool {
	t := tool.Func("calculator",
		`Evaluate an arithmetic expression: + - * / % (remainder, or per cent as in 15% of 80) ^ (power) !, parentheses, decimals, pi, e, and functions such as sqrt, round, min, log, sin. Example: {"expression": "123 * 45"}`,
		func(_ context.Context, in calcInput) (string, error) {
			if strings.TrimSpace(in.Expression) == "" {
				return "", tool.Errorf(tool.ErrInvalid, "Missing 'expression' parameter")
			}
			v, err := calculate(in.Expression)
			if err != nil {
				return "", tool.Errorf(tool.ErrTool, "Invalid expression: %w", err)
			}
			return decimal(v), nil
		})
	t.Facts = tool.Facts{ReadOnly: true}
	t.Idempotent = true
	return t
}

// decimal writes a number as decimals: all of them, or exprDigits with the last one rounded.
func decimal(v *big.Rat) string {
	if v.IsInt() {
		return v.Num().String()
	}
	n, exact := v.FloatPrec()
	if !exact || n > exprDigits {
		n = exprDigits
	}
	s := v.FloatString(n)
	if !exact {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// calculate works out an expression. Numbers are fractions, so that nothing is rounded on the way.
func calculate(expr string) (*big.Rat, error) {
	if len(expr) > exprBytes {
		return nil, fmt.Errorf("it is longer than %d characters", exprBytes)
	}
	p := &expressionParser{text: expr}
	v, err := p.expression(0, 0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.fail("an operator or the end")
	}
	return v, nil
}

// An expressionParser reads an expression.
type expressionParser struct {
	text string
	at   int
}

func (p *expressionParser) fail(want string) error {
	if p.at >= len(p.text) {
		return fmt.Errorf("it ends where %s should stand", want)
	}
	r := []rune(p.text[p.at:])[0]
	return fmt.Errorf("%q at position %d, where %s should stand", r, p.at+1, want)
}

func (p *expressionParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// binding returns the precedence of an operator; 0 is no operator. A power binds to the right.
func binding(op byte) int {
	switch op {
	case '+', '-':
		return 1
	case '*', '/', '%':
		return 2
	case '^':
		return 4
	}
	return 0
}

// operator returns the operator at the present place and its length. ** is another way to write a power.
func (p *expressionParser) operator() (op byte, n int) {
	p.space()
	switch rest := p.text[p.at:]; {
	case rest == "":
		return 0, 0
	case strings.HasPrefix(rest, "**"):
		return '^', 2
	case len(rest) > 3 && strings.EqualFold(rest[:3], "mod") && strings.IndexByte(" \t(", rest[3]) >= 0:
		return '%', 3
	case len(rest) > 2 && strings.EqualFold(rest[:2], "of") && strings.IndexByte(" \t(", rest[2]) >= 0: // 15% of 80
		return '*', 2
	case strings.HasPrefix(rest, "×"):
		return '*', len("×")
	case strings.HasPrefix(rest, "÷"):
		return '/', len("÷")
	case strings.HasPrefix(rest, "−"):
		return '-', len("−")
	default:
		return rest[0], 1
	}
}

// expression reads an expression whose operators bind more strongly than least.
func (p *expressionParser) expression(least, depth int) (*big.Rat, error) {
	if depth > exprDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", exprDepth)
	}
	left, err := p.operand(depth)
	for err == nil {
		op, n := p.operator()
		if op == '!' {
			p.at++
			left, err = factorial([]*big.Rat{left})
			continue
		}
		if op == '%' && n == 1 && p.percent() {
			p.at++
			left = new(big.Rat).Quo(left, big.NewRat(100, 1))
			continue
		}
		b := binding(op)
		if b == 0 || b <= least {
			return left, nil
		}
		p.at += n
		inner := b
		if op == '^' {
			inner-- // 2^3^2 is 2^9
		}
		var right *big.Rat
		if right, err = p.expression(inner, depth+1); err != nil {
			break
		}
		left, err = operate(op, left, right)
	}
	return nil, err
}

// percent reports whether the sign % at the present place is a per cent and no remainder: no operand follows it.
// Before a minus sign it is one in "50% - 3", and none in "10 % -3".
func (p *expressionParser) percent() bool {
	q := expressionParser{text: p.text, at: p.at + 1}
	q.space()
	switch op, _ := q.operator(); op {
	case 0, ')', ',', '*', '/', '%', '^', '+', '!':
		return true
	case '-':
		return q.at > p.at+1 && p.at > 0 && strings.IndexByte(" \t\r\n", p.text[p.at-1]) < 0
	}
	return false
}

// operand reads a number, a sign before an operand, or an expression in brackets.
func (p *expressionParser) operand(depth int) (*big.Rat, error) {
	op, n := p.operator()
	rest := p.text[p.at:]
	switch {
	case rest != "" && 'a' <= rest[0]|0x20 && rest[0]|0x20 <= 'z', strings.HasPrefix(rest, "π"):
		return p.named(depth)
	case op == '+' || op == '-':
		p.at += n
		v, err := p.expression(3, depth+1) // a sign binds less than a power: -2^2 is -4
		if err == nil && op == '-' {
			v = new(big.Rat).Neg(v)
		}
		return v, err
	case op == '(':
		p.at++
		v, err := p.expression(0, depth+1)
		if err != nil {
			return nil, err
		}
		if p.space(); p.at >= len(p.text) || p.text[p.at] != ')' {
			return nil, p.fail("a closing bracket")
		}
		p.at++
		return v, nil
	}
	return p.number()
}

func (p *expressionParser) number() (*big.Rat, error) {
	from := p.at
	for p.at < len(p.text) &&
		(p.text[p.at] == '.' || p.text[p.at] == '_' || '0' <= p.text[p.at] && p.text[p.at] <= '9') {
		p.at++
	}
	if p.at == from {
		return nil, p.fail("a number")
	}
	if e := p.exponent(); e > 0 {
		p.at += e
	}
	v, ok := new(big.Rat).SetString(strings.ReplaceAll(p.text[from:p.at], "_", ""))
	if !ok {
		return nil, fmt.Errorf("%q is no number", p.text[from:p.at])
	}
	return v, bounded(v)
}

// exponent returns the length of an exponent such as e-3; at most four digits are one.
func (p *expressionParser) exponent() int {
	rest := p.text[p.at:]
	if rest == "" || rest[0]|0x20 != 'e' {
		return 0
	}
	n := 1
	if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
		n++
	}
	digits := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
		digits++
	}
	if digits == 0 || digits > 4 {
		return 0
	}
	return n
}

func operate(op byte, a, b *big.Rat) (*big.Rat, error) {
	v := new(big.Rat)
	switch op {
	case '+':
		v.Add(a, b)
	case '-':
		v.Sub(a, b)
	case '*':
		v.Mul(a, b)
	case '/', '%':
		if b.Sign() == 0 {
			return nil, fmt.Errorf("a division by zero")
		}
		if v.Quo(a, b); op == '%' {
			// The remainder has the sign of the divisor, as in a calendar.
			whole := new(big.Int).Div(v.Num(), v.Denom())
			v.Sub(a, new(big.Rat).Mul(b, new(big.Rat).SetInt(whole)))
		}
	case '^':
		return power(a, b)
	}
	return v, bounded(v)
}

// power raises a to the power of a whole number, if the result is not too long.
func power(a, b *big.Rat) (*big.Rat, error) {
	switch {
	case !b.IsInt():
		return rounded("the power", math.Pow(float(a), float(b)))
	case a.Sign() == 0 && b.Sign() < 0:
		return nil, fmt.Errorf("a division by zero")
	}
	n := new(big.Int).Abs(b.Num())
	bits := max(a.Num().BitLen(), a.Denom().BitLen())
	if bits > 1 && (!n.IsInt64() || n.Int64() > exprBits || int64(bits-1)*n.Int64() > exprBits) {
		return nil, errTooLarge
	}
	if bits <= 1 { // 0, 1 and -1
		n = new(big.Int).And(n, big.NewInt(1))
		if b.Sign() != 0 && n.Sign() == 0 {
			n = big.NewInt(2)
		}
	}
	num, den := new(big.Int).Exp(a.Num(), n, nil), new(big.Int).Exp(a.Denom(), n, nil)
	if b.Sign() < 0 {
		num, den = den, num
	}
	v := new(big.Rat).SetFrac(num, den)
	return v, bounded(v)
}

var errTooLarge = fmt.Errorf("a number with more than %d digits", exprBits*3/10)

func bounded(v *big.Rat) error {
	if v.Num().BitLen() > exprBits+64 || v.Denom().BitLen() > exprBits+64 {
		return errTooLarge
	}
	return nil
}
