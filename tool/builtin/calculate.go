package builtin

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// constants are the names of numbers.
var constants = map[string]float64{"pi": math.Pi, "π": math.Pi, "e": math.E, "tau": 2 * math.Pi, "phi": math.Phi}

// A function takes between least and most arguments; most 0 is any number. What has exact results has them;
// the others are rounded to 15 digits.
type function struct {
	least, most int
	exact       func(args []*big.Rat) (*big.Rat, error)
	float       func(x float64) float64
}

// functions are those that calculators have. Angles are in radians, log is the natural logarithm unless it is given a
// base.
var functions = map[string]function{
	"abs":       {1, 1, func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Abs(a[0]), nil }, nil},
	"floor":     {1, 1, func(a []*big.Rat) (*big.Rat, error) { return floor(a[0]), nil }, nil},
	"ceil":      {1, 1, func(a []*big.Rat) (*big.Rat, error) { return negate(floor(negate(a[0]))), nil }, nil},
	"round":     {1, 2, round, nil},
	"min":       {1, 0, func(a []*big.Rat) (*big.Rat, error) { return slices.MinFunc(a, (*big.Rat).Cmp), nil }, nil},
	"max":       {1, 0, func(a []*big.Rat) (*big.Rat, error) { return slices.MaxFunc(a, (*big.Rat).Cmp), nil }, nil},
	"sum":       {1, 0, total, nil},
	"avg":       {1, 0, average, nil},
	"factorial": {1, 1, factorial, nil},
	"sqrt":      {1, 1, root, nil},
	"cbrt":      {1, 1, nil, math.Cbrt},
	"exp":       {1, 1, nil, math.Exp},
	"log":       {1, 2, logarithm, nil},
	"ln":        {1, 1, nil, math.Log},
	"log2":      {1, 1, nil, math.Log2},
	"log10":     {1, 1, nil, math.Log10},
	"sin":       {1, 1, nil, math.Sin},
	"cos":       {1, 1, nil, math.Cos},
	"tan":       {1, 1, nil, math.Tan},
	"asin":      {1, 1, nil, math.Asin},
	"acos":      {1, 1, nil, math.Acos},
	"atan":      {1, 1, nil, math.Atan},
	"atan2": {2, 2, func(a []*big.Rat) (*big.Rat, error) {
		return rounded("atan2", math.Atan2(float(a[0]), float(a[1])))
	}, nil},
	"sinh": {1, 1, nil, math.Sinh},
	"cosh": {1, 1, nil, math.Cosh},
	"tanh": {1, 1, nil, math.Tanh},
	"hypot": {2, 2, func(a []*big.Rat) (*big.Rat, error) {
		return rounded("hypot", math.Hypot(float(a[0]), float(a[1])))
	}, nil},
	"degrees": {1, 1, nil, func(x float64) float64 { return x / math.Pi * 180 }},
	"radians": {1, 1, nil, func(x float64) float64 { return x / 180 * math.Pi }},
	"pow":     {2, 2, func(a []*big.Rat) (*big.Rat, error) { return power(a[0], a[1]) }, nil},
	"mod":     {2, 2, func(a []*big.Rat) (*big.Rat, error) { return operate('%', a[0], a[1]) }, nil},
	"sign":    {1, 1, func(a []*big.Rat) (*big.Rat, error) { return big.NewRat(int64(a[0].Sign()), 1), nil }, nil},
	"trunc": {1, 1, func(a []*big.Rat) (*big.Rat, error) {
		return new(big.Rat).SetInt(new(big.Int).Quo(a[0].Num(), a[0].Denom())), nil
	}, nil},
	"gcd": {1, 0, divisor, nil},
	"lcm": {1, 0, multiple, nil},
}

// named reads a constant, or a function with its arguments.
func (p *expressionParser) named(depth int) (*big.Rat, error) {
	from := p.at
	if rest := p.text[p.at:]; strings.HasPrefix(rest, "π") {
		p.at += len("π")
	}
	for p.at < len(p.text) &&
		(p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z' || p.text[p.at] >= '0' && p.text[p.at] <= '9') {
		p.at++
	}
	name := strings.ToLower(p.text[from:p.at])
	if v, ok := constants[name]; ok {
		return rounded(name, v)
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("there is no %q at position %d; there are %s", name, from+1,
			strings.Join(append(slices.Sorted(maps.Keys(constants)), slices.Sorted(maps.Keys(functions))...), ", "))
	}
	args, err := p.arguments(depth)
	if err != nil {
		return nil, err
	}
	if len(args) < f.least || f.most > 0 && len(args) > f.most {
		return nil, fmt.Errorf("%s does not take %d arguments", name, len(args))
	}
	if f.exact == nil {
		return rounded(name, f.float(float(args[0])))
	}
	v, err := f.exact(args)
	if err != nil {
		return nil, err
	}
	return v, bounded(v)
}

// arguments reads what stands in brackets behind the name of a function.
func (p *expressionParser) arguments(depth int) ([]*big.Rat, error) {
	if op, _ := p.operator(); op != '(' {
		return nil, p.fail("an opening bracket")
	}
	var args []*big.Rat
	for {
		p.at++ // the bracket, or the comma
		v, err := p.expression(0, depth+1)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		switch op, _ := p.operator(); op {
		case ',':
		case ')':
			p.at++
			return args, nil
		default:
			return nil, p.fail("a comma or a closing bracket")
		}
	}
}

func float(v *big.Rat) float64 {
	f, _ := v.Float64()
	return f
}

// rounded makes a number of what has no exact value.
func rounded(what string, f float64) (*big.Rat, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s is no number that can be told", what)
	}
	v, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', 15, 64)) // a finite number can always be read
	return v, nil
}

func negate(v *big.Rat) *big.Rat { return new(big.Rat).Neg(v) }

func floor(v *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Div(v.Num(), v.Denom())) // the denominator is positive
}

// round rounds half away from zero, to a number of digits behind the point.
func round(args []*big.Rat) (*big.Rat, error) {
	scale := big.NewRat(1, 1)
	if len(args) == 2 {
		if !args[1].IsInt() || args[1].Num().CmpAbs(big.NewInt(1000)) > 0 {
			return nil, fmt.Errorf("round takes a whole number of digits, at most 1000")
		}
		var err error
		if scale, err = power(big.NewRat(10, 1), args[1]); err != nil {
			return nil, err
		}
	}
	v := new(big.Rat).Mul(args[0], scale)
	half := big.NewRat(1, 2)
	if v.Sign() < 0 {
		v = negate(floor(new(big.Rat).Add(negate(v), half)))
	} else {
		v = floor(new(big.Rat).Add(v, half))
	}
	return v.Quo(v, scale), nil
}

func total(args []*big.Rat) (*big.Rat, error) {
	v := new(big.Rat)
	for _, a := range args {
		v.Add(v, a)
	}
	return v, nil
}

func average(args []*big.Rat) (*big.Rat, error) {
	v, _ := total(args)
	return v.Quo(v, big.NewRat(int64(len(args)), 1)), nil
}

// logarithm is the natural one, or that to a base.
func logarithm(args []*big.Rat) (*big.Rat, error) {
	v := math.Log(float(args[0]))
	if len(args) == 2 {
		v /= math.Log(float(args[1]))
	}
	return rounded("log", v)
}

// divisor is the greatest that whole numbers have in common.
func divisor(args []*big.Rat) (*big.Rat, error) {
	v := new(big.Int)
	for _, a := range args {
		if !a.IsInt() {
			return nil, fmt.Errorf("gcd takes whole numbers")
		}
		v.GCD(nil, nil, v, new(big.Int).Abs(a.Num()))
	}
	return new(big.Rat).SetInt(v), nil
}

// multiple is the least that whole numbers have in common.
func multiple(args []*big.Rat) (*big.Rat, error) {
	v := big.NewInt(1)
	for _, a := range args {
		switch {
		case !a.IsInt():
			return nil, fmt.Errorf("lcm takes whole numbers")
		case a.Sign() == 0:
			return new(big.Rat), nil
		}
		n := new(big.Int).Abs(a.Num())
		v.Mul(v, new(big.Int).Quo(n, new(big.Int).GCD(nil, nil, v, n)))
		if v.BitLen() > exprBits {
			return nil, errTooLarge
		}
	}
	return new(big.Rat).SetInt(v), nil
}

// mostFactorial has about as many digits as numbers may have.
const mostFactorial = 5000

func factorial(args []*big.Rat) (*big.Rat, error) {
	n := args[0]
	if !n.IsInt() || n.Sign() < 0 || n.Cmp(big.NewRat(mostFactorial, 1)) > 0 {
		return nil, fmt.Errorf("factorial takes a whole number from 0 to %d", mostFactorial)
	}
	return new(big.Rat).SetInt(new(big.Int).MulRange(1, n.Num().Int64())), nil
}

// root is exact where the number is a square.
func root(args []*big.Rat) (*big.Rat, error) {
	v := args[0]
	if v.Sign() < 0 {
		return nil, fmt.Errorf("a square root of a negative number")
	}
	num, den := new(big.Int).Sqrt(v.Num()), new(big.Int).Sqrt(v.Denom())
	if r := new(big.Rat).SetFrac(num, den); new(big.Rat).Mul(r, r).Cmp(v) == 0 {
		return r, nil
	}
	return rounded("the root", math.Sqrt(float(v)))
}
