package jinja

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var globals map[string]function

func init() { // they call into the interpreter, which looks them up
	globals = map[string]function{
		"namespace": func(e *env, c *callArgs) value {
			d := newDict()
			for _, a := range c.args {
				if from, ok := a.(*dict); ok {
					merge(d, from)
				}
			}
			for _, k := range sortedKeys(c.named) {
				d.set(k, c.named[k])
			}
			return d
		},
		"range": func(e *env, c *callArgs) value {
			from, to, step := 0, 0, 1
			switch n := c.ints(); len(n) {
			case 1:
				to = n[0]
			case 2:
				from, to = n[0], n[1]
			case 3:
				from, to, step = n[0], n[1], n[2]
			}
			if step == 0 {
				fail(c.line, "the step of a range is 0")
			}
			l := &list{}
			for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
				e.step(c.line)
				l.items = append(l.items, i)
			}
			return l
		},
		"raise_exception": func(e *env, c *callArgs) value {
			panic(&Raised{c.line, text(c.or(0, "message", ""))})
		},
		"strftime_now": func(e *env, c *callArgs) value { return strftime(e.now, c.str(0, "format", "")) },
	}
	globals["dict"] = globals["namespace"]
}

func sortedKeys(m map[string]value) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func merge(d, from *dict) {
	for _, k := range from.keys {
		d.set(k, from.values[k])
	}
}

func (c *callArgs) ints() (all []int) {
	for _, a := range c.args {
		n, ok := a.(int)
		if !ok {
			fail(c.line, "an argument is %s and no whole number", kindOf(a))
		}
		all = append(all, n)
	}
	return all
}

var timeFormats = map[byte]string{'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan",
	'A': "Monday", 'a': "Mon", 'H': "15", 'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'Z': "MST", 'z': "-0700",
	'j': "002", 'F': "2006-01-02", 'T': "15:04:05"}

func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		plain := format[i] == '-' && i+1 < len(format)
		if plain {
			i++
		}
		s := t.Format(timeFormats[format[i]])
		if plain {
			s = strings.TrimLeft(s, "0")
		}
		b.WriteString(s)
	}
	return b.String()
}

func test(name string, v value, c *callArgs) bool {
	switch name {
	case "defined", "undefined":
		_, un := v.(undefined)
		return un == (name == "undefined")
	case "none":
		return v == nil
	case "string":
		_, ok := v.(string)
		return ok
	case "number":
		_, ok := number(v)
		return ok
	case "integer":
		_, ok := v.(int)
		return ok
	case "float":
		_, ok := v.(float64)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "mapping":
		_, ok := v.(*dict)
		return ok
	case "iterable", "sequence":
		switch v.(type) {
		case string, *list, *dict:
			return true
		}
		return false
	case "callable":
		_, ok := v.(function)
		return ok
	case "true", "false":
		b, ok := v.(bool)
		return ok && b == (name == "true")
	case "equalto", "eq", "sameas":
		return equal(v, c.or(0, "other", undefined{}))
	case "ne":
		return !equal(v, c.or(0, "other", undefined{}))
	case "gt", "greaterthan":
		return compare(v, c.or(0, "other", nil), c.line) > 0
	case "lt", "lessthan":
		return compare(v, c.or(0, "other", nil), c.line) < 0
	case "ge":
		return compare(v, c.or(0, "other", nil), c.line) >= 0
	case "le":
		return compare(v, c.or(0, "other", nil), c.line) <= 0
	case "in":
		return contains(c.or(0, "seq", undefined{}), v, c.line)
	case "odd", "even":
		n, ok := v.(int)
		return ok && (n%2 != 0) == (name == "odd")
	case "divisibleby":
		n, ok := v.(int)
		by, also := c.or(0, "num", 0).(int)
		return ok && also && by != 0 && n%by == 0
	case "lower":
		return text(v) == strings.ToLower(text(v))
	case "upper":
		return text(v) == strings.ToUpper(text(v))
	}
	fail(c.line, "the test %q is not known", name)
	return false
}

type filter func(e *env, v value, c *callArgs) value

var filters map[string]filter

func init() { // as globals
	filters = map[string]filter{
		"tojson": func(e *env, v value, c *callArgs) value {
			indent := -1
			if n, ok := c.or(1, "indent", nil).(int); ok {
				indent = n
			} else if n, ok := c.or(0, "indent", nil).(int); ok {
				indent = n
			}
			return string(appendJSON(nil, v, indent, 0, truth(c.or(9, "ensure_ascii", false))))
		},
		"trim": func(e *env, v value, c *callArgs) value {
			return strings.Trim(text(v), c.str(0, "chars", spaces))
		},
		"length": length, "count": length,
		"default": orDefault, "d": orDefault,
		"join": func(e *env, v value, c *callArgs) value {
			parts := []string{}
			for _, item := range iterate(v, c.line) {
				if name, ok := c.arg(1, "attribute"); ok {
					item = attribute(item, text(name))
				}
				parts = append(parts, text(item))
			}
			return strings.Join(parts, c.str(0, "d", ""))
		},
		"first":      func(e *env, v value, c *callArgs) value { return end(v, c, 0) },
		"last":       func(e *env, v value, c *callArgs) value { return end(v, c, -1) },
		"upper":      func(e *env, v value, c *callArgs) value { return strings.ToUpper(text(v)) },
		"lower":      func(e *env, v value, c *callArgs) value { return strings.ToLower(text(v)) },
		"title":      func(e *env, v value, c *callArgs) value { return title(text(v)) },
		"capitalize": func(e *env, v value, c *callArgs) value { return capitalize(text(v)) },
		"replace": func(e *env, v value, c *callArgs) value {
			return replace(c, text(v), text(c.or(0, "old", "")), text(c.or(1, "new", "")), c.or(2, "count", -1))
		},
		"list": func(e *env, v value, c *callArgs) value { return &list{items: iterate(v, c.line)} },
		"items": func(e *env, v value, c *callArgs) value {
			d, ok := v.(*dict)
			if !ok {
				fail(c.line, "items of %s", kindOf(v))
			}
			return itemsOf(d)
		},
		"dictsort": func(e *env, v value, c *callArgs) value {
			d, ok := v.(*dict)
			if !ok {
				fail(c.line, "dictsort of %s", kindOf(v))
			}
			l := itemsOf(d)
			slices.SortFunc(l.items, func(a, b value) int {
				return cmp.Compare(strings.ToLower(text(a.(*list).items[0])), strings.ToLower(text(b.(*list).items[0])))
			})
			return l
		},
		"map": func(e *env, v value, c *callArgs) value {
			l := &list{}
			for _, item := range iterate(v, c.line) {
				if name, ok := c.named["attribute"]; ok {
					item = attribute(item, text(name))
				} else {
					f, ok := filters[c.str(0, "filter", "")]
					if !ok {
						fail(c.line, "map names no filter")
					}
					item = f(e, item, &callArgs{args: c.args[1:], line: c.line})
				}
				l.items = append(l.items, item)
			}
			return l
		},
		"select":     chosen(false, true),
		"reject":     chosen(false, false),
		"selectattr": chosen(true, true),
		"rejectattr": chosen(true, false),
		"string":     func(e *env, v value, c *callArgs) value { return text(v) },
		"safe":       func(e *env, v value, c *callArgs) value { return text(v) },
		"escape":     escape, "e": escape,
		"int": func(e *env, v value, c *callArgs) value {
			if f, ok := number(v); ok {
				return int(f)
			}
			if n, err := strconv.Atoi(strings.TrimSpace(text(v))); err == nil {
				return n
			}
			return c.or(0, "default", 0)
		},
		"float": func(e *env, v value, c *callArgs) value {
			if f, ok := number(v); ok {
				return f
			}
			f, _ := strconv.ParseFloat(strings.TrimSpace(text(v)), 64)
			return f
		},
		"abs": func(e *env, v value, c *callArgs) value {
			if n, ok := v.(int); ok {
				return max(n, -n)
			}
			f, _ := number(v)
			return math.Abs(f)
		},
		"round": func(e *env, v value, c *callArgs) value {
			f, _ := number(v)
			n, _ := c.or(0, "precision", 0).(int)
			p := math.Pow10(n)
			return math.RoundToEven(f*p) / p
		},
		"reverse": func(e *env, v value, c *callArgs) value {
			items := iterate(v, c.line)
			slices.Reverse(items)
			if _, ok := v.(string); ok {
				return filters["join"](e, &list{items: items}, &callArgs{})
			}
			return &list{items: items}
		},
		"sort": func(e *env, v value, c *callArgs) value {
			items := iterate(v, c.line)
			by, has := c.arg(2, "attribute")
			slices.SortStableFunc(items, func(a, b value) int {
				if has {
					a, b = attribute(a, text(by)), attribute(b, text(by))
				}
				return compare(a, b, c.line)
			})
			if truth(c.or(0, "reverse", false)) {
				slices.Reverse(items)
			}
			return &list{items: items}
		},
		"unique": func(e *env, v value, c *callArgs) value {
			l := &list{}
			for _, item := range iterate(v, c.line) {
				if e.step(c.line); !contains(l, item, c.line) {
					l.items = append(l.items, item)
				}
			}
			return l
		},
		"indent": func(e *env, v value, c *callArgs) value {
			pad := "    "
			switch w := c.or(0, "width", 4).(type) {
			case int:
				pad = strings.Repeat(" ", min(max(w, 0), 80))
			case string:
				pad = w
			}
			lines := strings.Split(text(v), "\n")
			for i := range lines {
				if i == 0 && !truth(c.or(1, "first", false)) || lines[i] == "" && !truth(c.or(2, "blank", false)) {
					continue
				}
				lines[i] = pad + lines[i]
			}
			return strings.Join(lines, "\n")
		},
		"sum": func(e *env, v value, c *callArgs) value {
			var total value = 0
			for _, item := range iterate(v, c.line) {
				total = (&binaryExpr{op: "+", line: c.line}).arithmetic(total, item)
			}
			return total
		},
		"min": func(e *env, v value, c *callArgs) value { return extreme(v, c, -1) },
		"max": func(e *env, v value, c *callArgs) value { return extreme(v, c, 1) },
		"attr": func(e *env, v value, c *callArgs) value {
			return attribute(v, c.str(0, "name", ""))
		},
		"wordcount": func(e *env, v value, c *callArgs) value { return len(strings.Fields(text(v))) },
	}
}

const spaces = " \t\r\n\v\f"

func extreme(v value, c *callArgs, sign int) value {
	items := iterate(v, c.line)
	if len(items) == 0 {
		return undefined{"the extreme of nothing"}
	}
	best := items[0]
	for _, item := range items[1:] {
		if compare(item, best, c.line)*sign > 0 {
			best = item
		}
	}
	return best
}

func escape(e *env, v value, c *callArgs) value {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;").Replace(text(v))
}

func length(e *env, v value, c *callArgs) value {
	switch v := v.(type) {
	case string:
		return len([]rune(v))
	case *list:
		return len(v.items)
	case *dict:
		return len(v.keys)
	case undefined:
		return 0
	}
	fail(c.line, "%s has no length", kindOf(v))
	return nil
}

func orDefault(e *env, v value, c *callArgs) value {
	_, un := v.(undefined)
	if un || truth(c.or(1, "boolean", false)) && !truth(v) {
		return c.or(0, "default_value", "")
	}
	return v
}

func end(v value, c *callArgs, i int) value {
	if items := iterate(v, c.line); len(items) > 0 {
		return items[(i+len(items))%len(items)]
	}
	return undefined{"an item of nothing"}
}

// attribute follows a dotted path.
func attribute(v value, path string) value {
	for name := range strings.SplitSeq(path, ".") {
		switch of := v.(type) {
		case *dict:
			if member, ok := of.values[name]; ok {
				v = member
				continue
			}
		default:
			if i, err := strconv.Atoi(name); err == nil {
				if item, ok := itemAt(of, i); ok {
					v = item
					continue
				}
			}
		}
		return undefined{name}
	}
	return v
}

// chosen returns the filter that keeps the items, or those whose attribute, a test says yes to, or no.
func chosen(attr, want bool) filter {
	return func(e *env, v value, c *callArgs) value {
		l := &list{}
		if !truth(v) { // of nothing nothing is chosen, even of none
			return l
		}
		for _, item := range iterate(v, c.line) {
			of, args := item, c.args
			if attr {
				if len(args) == 0 {
					fail(c.line, "the name of an attribute is missing")
				}
				of, args = attribute(item, text(args[0])), args[1:]
			}
			is := truth(of)
			if len(args) > 0 {
				is = test(text(args[0]), of, &callArgs{args: args[1:], line: c.line})
			}
			if is == want {
				l.items = append(l.items, item)
			}
		}
		return l
	}
}

func itemsOf(d *dict) *list {
	l := &list{}
	for _, k := range d.keys {
		l.items = append(l.items, &list{items: []value{d.key(k), d.values[k]}, tuple: true})
	}
	return l
}

func title(s string) string {
	runes := []rune(strings.ToLower(s))
	for i, r := range runes {
		if i == 0 || !unicode.IsLetter(runes[i-1]) {
			runes[i] = unicode.ToUpper(r)
		}
	}
	return string(runes)
}

func capitalize(s string) string {
	runes := []rune(strings.ToLower(s))
	if len(runes) > 0 {
		runes[0] = unicode.ToUpper(runes[0])
	}
	return string(runes)
}

func replace(c *callArgs, s, old, by string, count value) string {
	n, ok := count.(int)
	if !ok {
		n = -1
	}
	if len(by) > 0 && len(s)*len(by) > maxOutput && strings.Count(s, old)*len(by) > maxOutput {
		fail(c.line, "a text has more than %d bytes", maxOutput)
	}
	return strings.Replace(s, old, by, n)
}

// method returns the method of this name that the value has, or nil.
func method(of value, name string) function {
	switch of := of.(type) {
	case string:
		return stringMethod(of, name)
	case *dict:
		return dictMethod(of, name)
	case *list:
		return listMethod(of, name)
	}
	return nil
}

func dictMethod(d *dict, name string) function {
	switch name {
	case "items":
		return func(e *env, c *callArgs) value { return itemsOf(d) }
	case "keys":
		return func(e *env, c *callArgs) value { return &list{items: keysOf(d)} }
	case "values":
		return func(e *env, c *callArgs) value {
			l := &list{}
			for _, k := range d.keys {
				l.items = append(l.items, d.values[k])
			}
			return l
		}
	case "get", "pop":
		return func(e *env, c *callArgs) value {
			k := text(c.or(0, "key", ""))
			v, ok := d.values[k]
			if !ok {
				return c.or(1, "default", nil)
			}
			if name == "pop" {
				d.remove(k)
			}
			return v
		}
	case "update":
		return func(e *env, c *callArgs) value {
			if from, ok := c.or(0, "other", nil).(*dict); ok {
				merge(d, from)
			}
			for _, k := range sortedKeys(c.named) {
				d.set(k, c.named[k])
			}
			return nil
		}
	case "copy":
		return func(e *env, c *callArgs) value {
			n := newDict()
			merge(n, d)
			return n
		}
	}
	return nil
}

func listMethod(l *list, name string) function {
	switch name {
	case "append":
		return func(e *env, c *callArgs) value {
			l.items = append(l.items, c.args...)
			return nil
		}
	case "extend":
		return func(e *env, c *callArgs) value {
			l.items = append(l.items, iterate(c.or(0, "items", undefined{}), c.line)...)
			return nil
		}
	case "insert":
		return func(e *env, c *callArgs) value {
			i, _ := c.or(0, "index", 0).(int)
			l.items = slices.Insert(l.items, min(max(i, 0), len(l.items)), c.or(1, "item", nil))
			return nil
		}
	case "pop":
		return func(e *env, c *callArgs) value {
			i, _ := c.or(0, "index", -1).(int)
			if i < 0 {
				i += len(l.items)
			}
			if i < 0 || i >= len(l.items) {
				fail(c.line, "pop from a list without this item")
			}
			v := l.items[i]
			l.items = slices.Delete(slices.Clone(l.items), i, i+1)
			return v
		}
	case "index":
		return func(e *env, c *callArgs) value {
			return slices.IndexFunc(l.items, func(v value) bool { return equal(v, c.or(0, "item", nil)) })
		}
	case "count":
		return func(e *env, c *callArgs) value {
			n := 0
			for _, v := range l.items {
				if equal(v, c.or(0, "item", nil)) {
					n++
				}
			}
			return n
		}
	case "copy":
		return func(e *env, c *callArgs) value { return &list{items: slices.Clone(l.items)} }
	}
	return nil
}

func stringMethod(s, name string) function {
	plain := func(f func(c *callArgs) value) function { return func(e *env, c *callArgs) value { return f(c) } }
	switch name {
	case "strip":
		return plain(func(c *callArgs) value { return strings.Trim(s, c.str(0, "chars", spaces)) })
	case "lstrip":
		return plain(func(c *callArgs) value { return strings.TrimLeft(s, c.str(0, "chars", spaces)) })
	case "rstrip":
		return plain(func(c *callArgs) value { return strings.TrimRight(s, c.str(0, "chars", spaces)) })
	case "upper":
		return plain(func(c *callArgs) value { return strings.ToUpper(s) })
	case "lower":
		return plain(func(c *callArgs) value { return strings.ToLower(s) })
	case "title":
		return plain(func(c *callArgs) value { return title(s) })
	case "capitalize":
		return plain(func(c *callArgs) value { return capitalize(s) })
	case "startswith":
		return plain(func(c *callArgs) value { return affix(s, c, strings.HasPrefix) })
	case "endswith":
		return plain(func(c *callArgs) value { return affix(s, c, strings.HasSuffix) })
	case "removeprefix":
		return plain(func(c *callArgs) value { return strings.TrimPrefix(s, c.str(0, "prefix", "")) })
	case "removesuffix":
		return plain(func(c *callArgs) value { return strings.TrimSuffix(s, c.str(0, "suffix", "")) })
	case "find":
		return plain(func(c *callArgs) value { return runeIndex(s, strings.Index(s, c.str(0, "sub", ""))) })
	case "rfind":
		return plain(func(c *callArgs) value { return runeIndex(s, strings.LastIndex(s, c.str(0, "sub", ""))) })
	case "count":
		return plain(func(c *callArgs) value { return strings.Count(s, c.str(0, "sub", "")) })
	case "replace":
		return plain(func(c *callArgs) value {
			return replace(c, s, c.str(0, "old", ""), c.str(1, "new", ""), c.or(2, "count", -1))
		})
	case "split", "rsplit":
		return plain(func(c *callArgs) value { return split(s, c, name == "rsplit") })
	case "splitlines":
		return plain(func(c *callArgs) value {
			return textList(strings.Split(strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\n"))
		})
	case "join":
		return plain(func(c *callArgs) value {
			parts := []string{}
			for _, v := range iterate(c.or(0, "items", undefined{}), c.line) {
				parts = append(parts, text(v))
			}
			return strings.Join(parts, s)
		})
	case "format":
		return plain(func(c *callArgs) value { return format(s, c) })
	case "isdigit", "isalpha", "isspace", "isupper", "islower":
		is := map[string]func(rune) bool{"isdigit": unicode.IsDigit, "isalpha": unicode.IsLetter,
			"isspace": unicode.IsSpace, "isupper": unicode.IsUpper, "islower": unicode.IsLower}[name]
		return plain(func(c *callArgs) value {
			return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
		})
	}
	return nil
}

func affix(s string, c *callArgs, has func(s, part string) bool) bool {
	if l, ok := c.or(0, "prefix", "").(*list); ok {
		return slices.ContainsFunc(l.items, func(v value) bool { return has(s, text(v)) })
	}
	return has(s, c.str(0, "prefix", ""))
}

func runeIndex(s string, i int) int {
	if i < 0 {
		return -1
	}
	return len([]rune(s[:i]))
}

func textList(parts []string) *list {
	l := &list{}
	for _, p := range parts {
		l.items = append(l.items, p)
	}
	return l
}

func split(s string, c *callArgs, right bool) value {
	sep := c.or(0, "sep", nil)
	if sep == nil {
		return textList(strings.Fields(s))
	}
	by := text(sep)
	if by == "" {
		fail(c.line, "an empty separator")
	}
	n, ok := c.or(1, "maxsplit", -1).(int)
	if !ok || n < 0 {
		return textList(strings.Split(s, by))
	}
	if !right {
		return textList(strings.SplitN(s, by, n+1))
	}
	parts := strings.Split(s, by)
	if k := len(parts) - n; k > 1 {
		parts = append([]string{strings.Join(parts[:k], by)}, parts[k:]...)
	}
	return textList(parts)
}

// format fills in the {} and {name} of a text; formats behind a colon are not known.
func format(s string, c *callArgs) string {
	var b strings.Builder
	next := 0
	for i := 0; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "{{") || strings.HasPrefix(s[i:], "}}"):
			b.WriteByte(s[i])
			i++
		case s[i] == '{':
			name, _, ok := strings.Cut(s[i+1:], "}")
			if !ok || strings.ContainsAny(name, ":!") {
				fail(c.line, "the format %q is not known", s)
			}
			k, err := strconv.Atoi(name)
			if name == "" {
				k, err = next, nil
				next++
			}
			if err != nil {
				k = len(c.args)
			}
			b.WriteString(text(c.or(k, name, "")))
			i += len(name) + 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
