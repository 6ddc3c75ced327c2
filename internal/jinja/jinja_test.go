package jinja

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)

const context = `{"n": 3, "f": 2.5, "s": "Über <b>", "l": ["b", "a", "c"], "no": null, "yes": true, "d": {"z": 1, "a": {"deep": "x"}},
	"rows": [{"kind": "tool", "v": 1}, {"kind": "user", "v": 2}, {"v": 3}]}`

// TestRender renders templates. What is wanted is what Jinja2 makes of them with trim_blocks and lstrip_blocks.
func TestRender(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"text", "a {b} c", "a {b} c"},
		{"last line break", "a\n", "a"},
		{"print", "{{ n }} {{ f }} {{ s }} {{ no }} {{ yes }} {{ l }} {{ d }} {{ gone }}|",
			"3 2.5 Über <b> None True ['b', 'a', 'c'] {'z': 1, 'a': {'deep': 'x'}} |"},
		{"members", "{{ d.a.deep }}{{ d['z'] }}{{ l[0] }}{{ l[-1] }}{{ d.gone is defined }}", "x1bcFalse"},
		{"slices", "{{ l[1:] }}{{ l[:-1] }}{{ l[::-1] }}{{ s[:4] }}", "['a', 'c']['b', 'a']['c', 'a', 'b']Über"},
		{"arithmetic",
			"{{ 7 // 2 }} {{ 7 % 4 }} {{ 7 / 2 }} {{ 2 ** 3 }} {{ -n }} {{ 1 + 2 * 3 }} {{ 'a' + 'b' }} {{ 'ab' * 2 }} {{ n ~ s[0] }}", "3 3 3.5 8 -3 7 ab abab 3Ü"},
		{"logic",
			"{{ not no and (n > 2 or gone) }} {{ 1 < n <= 3 }} {{ 'a' in l }} {{ 'q' not in l }} {{ 'z' in d }} {{ 'b' if no else 'c' }} {{ no or 'd' }}", "True True True True True c d"},
		{"tests",
			"{{ s is string }} {{ d is mapping }} {{ l is iterable }} {{ no is none }} {{ yes is true }} {{ n is odd }} {{ n is not number }} {{ n is divisibleby 3 }} {{ 'a' is in(l) }}", "True True True True True True False True True"},
		{"conditions", "{% if no %}a{% elif n == 3 %}b{% else %}c{% endif %}", "b"},
		{"loop", "{% for x in l %}{{ loop.index }}{{ x }}{{ ',' if not loop.last }}{% else %}none{% endfor %}",
			"1b,2a,3c"},
		{"empty loop", "{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "none"},
		{"filtered loop", "{% for r in rows if r.kind is defined %}{{ r.v }}{{ loop.length }}{% endfor %}", "1222"},
		{"neighbours", "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }}{% endfor %}", "<b>ab<a>ca<c>"},
		{"pairs",
			"{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in d|dictsort %}{{ k }}{% endfor %}",
			"z=1;a={'deep': 'x'};az"},
		{"jumps",
			"{% for x in l %}{% if x == 'a' %}{% continue %}{% endif %}{{ x }}{% if x == 'c' %}{% break %}{% endif %}{% endfor %}", "bc"},
		{"loop scope", "{% set x = 1 %}{% for y in l %}{% set x = 2 %}{% endfor %}{{ x }}", "1"},
		{"namespace", "{% set ns = namespace(x=1) %}{% for y in l %}{% set ns.x = ns.x + 1 %}{% endfor %}{{ ns.x }}",
			"4"},
		{"block set", "{% set x %}a{{ n }}{% endset %}{{ x }}{{ x }}", "a3a3"},
		{"unpacking", "{% set a, b = 'x', 'y' %}{{ b }}{{ a }}", "yx"},
		{"macro", "{% macro m(a, b='q') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m('x')|upper }}",
			"1q12XQ"},
		{"filter block", "{% filter upper %}a{{ s }}{% endfilter %}", "AÜBER <B>"},
		{"generation", "{% generation %}a{% endgeneration %}", "a"},
		{"tojson", "{{ d|tojson }}{{ s|tojson }}{{ s|tojson(ensure_ascii=True) }}",
			`{"z": 1, "a": {"deep": "x"}}"Über <b>""\u00dcber <b>"`},
		{"tojson with indent", "{{ {'a': [1, {}]}|tojson(indent=2) }}", "{\n  \"a\": [\n    1,\n    {}\n  ]\n}"},
		{"filters",
			"{{ l|join('-') }} {{ l|length }} {{ l|first }}{{ l|last }} {{ ' x '|trim }} {{ gone|default('d') }} {{ no|default('d', true) }} {{ l|sort|join }} {{ 'a b'|title }} {{ '3'|int + 1 }}", "b-a-c 3 bc x d d abc A B 4"},
		{"attributes",
			"{{ rows|map(attribute='v')|join }} {{ rows|selectattr('kind', 'equalto', 'user')|list|length }} {{ rows|selectattr('kind', 'defined')|map(attribute='kind')|join(',') }} {{ rows|rejectattr('kind')|list|length }}", "123 1 tool,user 1"},
		{"methods",
			"{{ s.upper() }} {{ 'a,b,c'.split(',')[1] }} {{ 'a,b,c'.split(',', 1)[1] }} {{ ' x'.strip() }} {{ 'xay'.replace('a', 'b') }} {{ s.startswith('Ü') }} {{ '</a>b'.split('</a>')[-1].lstrip('\\n') }} {{ d.get('q', 7) }} {{ 'abc'.find('c') }}", "ÜBER <B> b b,c x xby True b 7 2"},
		{"changing", "{% set x = [] %}{{ x.append(1) or '' }}{% do x.append(2) %}{{ x }}", "[1, 2]"},
		{"numbers as keys", "{% set m = {0: 'a', 512: 'b'} %}{% for k in m %}{{ k + 1 }},{% endfor %}{{ m[512] }}",
			"1,513,b"},
		{"blocks leave their line", "a\n  {% if yes %}\nb\n  {% endif %}\nc", "a\nb\nc"},
		{"signs trim", "a  {{- n -}}  b {%- if yes %} c{% endif %}", "a3b c"},
		{"comments", "a{# x #}b\n{#- y -#}\nc", "abc"},
		{"blanks between blocks", "{% if yes %} {% endif %}|", " |"},
		{"strings", `{{ "a\n\"b\"" ~ 'c\'d' ~ "\u00e9" 'f' }}`, "a\n\"b\"c'déf"},
		{"time", "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%-d') }}", "04 Mar 2026 4"},
		{"range", "{% for i in range(2, 8, 3) %}{{ i }}{% endfor %}", "25"},
		{"format", "{{ '{} and {x}'.format(1, x=2) }}", "1 and 2"},
	} {
		tpl, err := Parse(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := tpl.Render([]byte(context), day); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

// TestErrors checks that what cannot be read or rendered says where.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"a\n{{ n", "line 2: a tag is not closed with }}"},
		{"{% if n %}a", "line 1: endif is missing"},
		{"{% endif %}", "line 1"},
		{"a\n\n{% import 'x' %}", `line 3: the block "import" is not known`},
		{"{{ n|loud }}", `line 1: the filter "loud" is not known`},
		{"{{ gone.member }}", "line 1: gone is undefined"},
		{"\n{{ 'a' + 1 }}", "line 2: a string and a number do not go with +"},
		{"{{ 1 / 0 }}", "line 1: division by zero"},
		{"{{ n() }}", "line 1: n is called and no function"},
		{"{% for x in n %}{% endfor %}", "line 1: a number cannot be iterated"},
		{"{{ 'abc }}", "line 1: a string is not closed"},
		{"{{ l[] }}", "line 1: a subscript is empty"},
		{"{{ l[1 2] }}", "line 1: a subscript lacks its ]"},
		{"{{ " + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000) + " }}", "nested too deeply"},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested too deeply"},
		{"{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}", "steps"},
		{"{{ 'a' * 999999999 }}", "more than"},
		{"{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
			"more than"},
	} {
		tpl, err := Parse(c.source)
		if err == nil {
			_, err = tpl.Render([]byte(context), day)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: %v, want %q", c.source, err, c.want)
		}
	}
}

func TestRaised(t *testing.T) {
	tpl, err := Parse("\n{{ raise_exception('no ' + l[0]) }}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tpl.Render([]byte(context), day)
	var raised *Raised
	if !errors.As(err, &raised) || raised.Msg != "no b" || raised.Line != 2 {
		t.Errorf("%v", err)
	}
	if _, err := tpl.Render([]byte("[1]"), day); err == nil {
		t.Error("a list is a context")
	}
}

// FuzzParse checks that no source makes parsing or rendering panic or run on.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"{{ a.b[1:2]|join(',') }}",
		"{% for a, b in d.items() if a %}{{ loop.index }}{% endfor %}",
		"{% macro m(x=1) %}{% endmacro %}{{ m(x=2) is string }}", "{{ 0[] }}", "{{ a[1 2] }}",
		"{%- set x %}{# c #}{% endset -%}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if tpl, err := Parse(source); err == nil {
			tpl.Render([]byte(context), day)
		}
	})
}
