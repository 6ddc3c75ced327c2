package jinja

import (
	"slices"
	"strconv"
	"strings"
)

type parser struct {
	tokens []token
	pos    int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

// is reports whether the next token is this operator or word, and takes it.
func (p *parser) is(text string) bool {
	t := p.peek()
	if (t.kind == tokOperator || t.kind == tokName) && t.text == text {
		p.pos++
		return true
	}
	return false
}

func (p *parser) want(text string) {
	if t := p.peek(); !p.is(text) {
		fail(t.line, "%q is missing before %s", text, t)
	}
}

func (p *parser) close() {
	if t := p.next(); t.kind != tokClose {
		fail(t.line, "the end of a tag is missing before %s", t)
	}
}

func (p *parser) name() string {
	t := p.next()
	if t.kind != tokName {
		fail(t.line, "a name is missing before %s", t)
	}
	return t.text
}

// statements reads up to a block that one of the words begins, which is left to be read.
func (p *parser) statements(until ...string) (body []node) {
	if p.depth++; p.depth > maxDepth {
		fail(p.peek().line, "blocks are nested too deeply")
	}
	defer func() { p.depth-- }()
	for {
		t := p.peek()
		switch t.kind {
		case tokEOF:
			if len(until) > 0 {
				fail(t.line, "%s is missing", until[len(until)-1])
			}
			return body
		case tokText:
			p.pos++
			body = append(body, textNode(t.text))
		case tokOpenPrint:
			p.pos++
			body = append(body, &printNode{value: p.tuple(), line: t.line})
			p.close()
		default:
			word := p.tokens[p.pos+1].text
			expected := slices.Contains(until, word)
			ends := strings.HasPrefix(word, "end") || word == "elif" || word == "else"
			if ends && !expected && len(until) > 0 {
				fail(t.line, "%s stands where %s is missing", word, until[len(until)-1])
			}
			if ends || expected {
				return body
			}
			p.pos += 2
			body = append(body, p.block(word, t.line))
		}
	}
}

// end takes the block that ends another.
func (p *parser) end(word string) {
	p.pos++
	p.want(word)
	p.close()
}

func (p *parser) block(word string, line int) node {
	switch word {
	case "if":
		return p.ifBlock()
	case "for":
		return p.forBlock(line)
	case "set":
		return p.setBlock(line)
	case "macro":
		return p.macro(line)
	case "generation":
		p.close()
		body := p.statements("endgeneration")
		p.end("endgeneration")
		return &groupNode{body: body}
	case "filter":
		f := p.filterCall(line)
		p.close()
		body := p.statements("endfilter")
		p.end("endfilter")
		return &groupNode{body: body, filter: &f}
	case "with":
		n := &groupNode{scoped: true}
		for p.peek().kind != tokClose {
			name := p.name()
			p.want("=")
			n.body = append(n.body, &setNode{names: []string{name}, value: p.expr(), line: line})
			if !p.is(",") {
				break
			}
		}
		p.close()
		n.body = append(n.body, p.statements("endwith")...)
		p.end("endwith")
		return n
	case "do":
		n := &printNode{value: p.tuple(), line: line, silent: true}
		p.close()
		return n
	case "break", "continue":
		p.close()
		return jumpNode(word)
	}
	fail(line, "the block %q is not known", word)
	return nil
}

func (p *parser) ifBlock() node {
	n := &ifNode{}
	for {
		n.conds = append(n.conds, p.expr())
		p.close()
		n.bodies = append(n.bodies, p.statements("elif", "else", "endif"))
		p.pos++
		switch word := p.name(); word {
		case "elif":
			continue
		case "else":
			p.close()
			n.other = p.statements("endif")
			p.end("endif")
		default:
			p.close()
		}
		return n
	}
}

func (p *parser) forBlock(line int) node {
	n := &forNode{line: line}
	for {
		n.names = append(n.names, p.name())
		if !p.is(",") {
			break
		}
	}
	p.want("in")
	n.over = p.or() // no ternary: its if is the loop's
	if p.is("if") {
		n.cond = p.expr()
	}
	if p.is("recursive") {
		fail(line, "recursive loops are not known")
	}
	p.close()
	n.body = p.statements("else", "endfor")
	p.pos++
	if p.name() == "else" {
		p.close()
		n.other = p.statements("endfor")
		p.end("endfor")
		return n
	}
	p.close()
	return n
}

func (p *parser) setBlock(line int) node {
	n := &setNode{line: line}
	for {
		n.names = append(n.names, p.name())
		if p.is(".") {
			n.member = p.name()
		}
		if !p.is(",") {
			break
		}
	}
	if p.is("=") {
		n.value = p.tuple()
		p.close()
		return n
	}
	for p.is("|") {
		n.filters = append(n.filters, p.filterCall(line))
	}
	p.close()
	n.body = p.statements("endset")
	n.block = true
	p.end("endset")
	return n
}

func (p *parser) macro(line int) node {
	n := &macroNode{name: p.name(), line: line}
	p.want("(")
	for !p.is(")") {
		n.params = append(n.params, p.name())
		var d expr
		if p.is("=") {
			d = p.expr()
		}
		n.defaults = append(n.defaults, d)
		if !p.is(",") {
			p.want(")")
			break
		}
	}
	p.close()
	n.body = p.statements("endmacro")
	p.pos++
	p.want("endmacro")
	if p.peek().kind == tokName {
		p.pos++
	}
	p.close()
	return n
}

// tuple reads an expression, or several with commas between them.
func (p *parser) tuple() expr {
	first := p.expr()
	if t := p.peek(); t.kind != tokOperator || t.text != "," {
		return first
	}
	l := &listExpr{items: []expr{first}, tuple: true}
	for p.is(",") {
		if t := p.peek(); t.kind == tokClose || t.text == ")" && t.kind == tokOperator {
			break
		}
		l.items = append(l.items, p.expr())
	}
	return l
}

func (p *parser) expr() expr {
	if p.depth++; p.depth > maxDepth {
		fail(p.peek().line, "expressions are nested too deeply")
	}
	defer func() { p.depth-- }()
	yes := p.or()
	if !p.is("if") {
		return yes
	}
	n := &condExpr{cond: p.or(), yes: yes}
	if p.is("else") {
		n.no = p.expr()
	}
	return n
}

func (p *parser) or() expr {
	x := p.and()
	for p.is("or") {
		x = &logicExpr{or: true, a: x, b: p.and()}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.is("and") {
		x = &logicExpr{a: x, b: p.not()}
	}
	return x
}

func (p *parser) not() expr {
	if p.is("not") {
		return &notExpr{p.not()}
	}
	return p.compare()
}

func (p *parser) compare() expr {
	x := p.binary(0)
	var result expr
	join := func(e expr) {
		if result == nil {
			result = e
		} else {
			result = &logicExpr{a: result, b: e}
		}
	}
	for {
		t := p.peek()
		op := t.text
		switch {
		case t.kind == tokOperator && (op == "==" || op == "!=" || op == "<" || op == ">" || op == "<=" || op == ">="):
			p.pos++
		case t.kind == tokName && op == "in":
			p.pos++
		case t.kind == tokName && op == "not" && p.tokens[p.pos+1].text == "in":
			p.pos += 2
			op = "not in"
		default:
			if result == nil {
				return x
			}
			return result
		}
		y := p.binary(0)
		join(&binaryExpr{op, x, y, t.line})
		x = y
	}
}

var levels = [][]string{{"~"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *parser) binary(level int) expr {
	if level == len(levels) {
		return p.unary()
	}
	x := p.binary(level + 1)
	for {
		t := p.peek()
		if t.kind != tokOperator || !slices.Contains(levels[level], t.text) {
			return x
		}
		p.pos++
		x = &binaryExpr{t.text, x, p.binary(level + 1), t.line}
	}
}

func (p *parser) unary() expr {
	t := p.peek()
	switch {
	case p.is("-"):
		return &binaryExpr{"-", constExpr{0}, p.unary(), t.line}
	case p.is("+"):
		return p.unary()
	}
	x := p.postfix(p.primary())
	if t := p.peek(); p.is("**") {
		x = &binaryExpr{"**", x, p.unary(), t.line}
	}
	return p.filtered(x)
}

// filtered reads filters and tests behind an operand.
func (p *parser) filtered(x expr) expr {
	for {
		t := p.peek()
		switch {
		case p.is("|"):
			f := p.filterCall(t.line)
			f.of = x
			x = p.postfix(&f)
		case p.is("is"):
			not := p.is("not")
			n := &testExpr{of: x, name: p.name(), line: t.line}
			if next := p.peek(); p.is("(") {
				n.args = p.arguments()
			} else if next.kind == tokString || next.kind == tokNumber ||
				next.kind == tokOperator && next.text == "[" ||
				next.kind == tokName &&
					!slices.Contains([]string{"and", "or", "not", "if", "else", "is", "in", "recursive"}, next.text) {
				n.args = []argument{{value: p.postfix(p.primary())}}
			}
			if x = n; not {
				x = &notExpr{n}
			}
		default:
			return x
		}
	}
}

func (p *parser) filterCall(line int) filterExpr {
	f := filterExpr{name: p.name(), line: line}
	if p.is("(") {
		f.args = p.arguments()
	}
	return f
}

func (p *parser) arguments() (args []argument) {
	for !p.is(")") {
		var a argument
		if t := p.peek(); t.kind == tokName && p.tokens[p.pos+1].kind == tokOperator && p.tokens[p.pos+1].text == "=" {
			a.name = t.text
			p.pos += 2
		} else if p.is("*") {
			fail(t.line, "unpacked arguments are not known")
		}
		a.value = p.expr()
		args = append(args, a)
		if !p.is(",") {
			p.want(")")
			break
		}
	}
	return args
}

func (p *parser) postfix(x expr) expr {
	for {
		t := p.peek()
		switch {
		case p.is("."):
			m := p.next()
			if m.kind != tokName && m.kind != tokNumber {
				fail(m.line, "a member is missing before %s", m)
			}
			x = &memberExpr{x, constExpr{m.text}, t.line, true}
		case p.is("["):
			x = p.subscript(x, t.line)
		case p.is("("):
			x = &callExpr{x, p.arguments(), t.line}
		default:
			return x
		}
	}
}

func (p *parser) subscript(x expr, line int) expr {
	var parts [3]expr
	n := 0
	for !p.is("]") {
		if p.is(":") {
			if n++; n > 2 {
				fail(line, "a slice has more than three parts")
			}
			continue
		}
		if parts[n] != nil {
			fail(line, "a subscript lacks its ]")
		}
		parts[n] = p.expr()
	}
	switch {
	case n == 0 && parts[0] == nil:
		fail(line, "a subscript is empty")
	case n == 0:
		return &memberExpr{x, parts[0], line, false}
	}
	return &sliceExpr{x, parts, line}
}

func (p *parser) primary() expr {
	t := p.next()
	switch t.kind {
	case tokString:
		s := t.text
		for p.peek().kind == tokString {
			s += p.next().text
		}
		return constExpr{s}
	case tokNumber:
		if n, err := strconv.Atoi(t.text); err == nil {
			return constExpr{n}
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			fail(t.line, "%s is no number", t.text)
		}
		return constExpr{f}
	case tokName:
		switch t.text {
		case "true", "True":
			return constExpr{true}
		case "false", "False":
			return constExpr{false}
		case "none", "None":
			return constExpr{nil}
		}
		return &nameExpr{t.text}
	case tokOperator:
		switch t.text {
		case "(":
			if p.is(")") {
				return &listExpr{tuple: true}
			}
			x := p.tuple()
			p.want(")")
			return x
		case "[":
			l := &listExpr{}
			for !p.is("]") {
				l.items = append(l.items, p.expr())
				if !p.is(",") {
					p.want("]")
					break
				}
			}
			return l
		case "{":
			d := &dictExpr{}
			for !p.is("}") {
				d.keys = append(d.keys, p.expr())
				p.want(":")
				d.values = append(d.values, p.expr())
				if !p.is(",") {
					p.want("}")
					break
				}
			}
			return d
		}
	}
	fail(t.line, "a value is missing before %s", t)
	return nil
}
