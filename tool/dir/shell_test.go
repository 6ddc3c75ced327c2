package dir

import (
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

func TestParseLine(t *testing.T) {
	for _, tt := range []struct{ text, name, command, about, fails string }{
		{"disk: df -h", "disk", "df -h", "", ""},
		{"disk: df -h # Shows the free space", "disk", "df -h", "Shows the free space", ""},
		{"say: echo 'a # b'", "say", "echo 'a # b'", "", ""},
		{"df -h", "", "", "", "NAME: COMMAND"},
		{"Disk: df", "", "", "", "NAME: COMMAND"},
		{"disk\n: df", "", "df", "", ""},
		{"a: echo 'x", "", "", "", "column 6"},
	} {
		l, err := ParseLine(tt.text)
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: %v; want %q", tt.text, err, tt.fails)
			}
			continue
		}
		if tt.name != "" && (err != nil || l.Name != tt.name || l.Command != tt.command || l.Description != tt.about) {
			t.Errorf("%q: %+v, %v", tt.text, l, err)
		}
	}
}

// TestLineScripts: what becomes of the places in a command. No value is in it.
func TestLineScripts(t *testing.T) {
	params := map[string]LineParam{"opt": {Description: "may be missing"},
		"colour": {Enum: []string{"red", "green"}, Required: true}}
	for _, tt := range []struct{ command, script, schema, fails string }{
		{"df -h", "df -h", "", ""},
		{"grep -n {word} app.log", `grep -n "${ARG_word}" app.log`,
			`"word":{"type":"string","pattern":"^([^-]|$)","maxLength":2000}`, ""},
		{"grep -n -- {word} app.log", `grep -n -- "${ARG_word}" app.log`, `"word":{"type":"string","maxLength":2000}`,
			""},
		{"head -n {n:integer} {file:path}", `head -n "${ARG_n}" "${ARG_file}"`, `"n":{"type":"integer"}`, ""},
		{`echo "say {word}" x-{word}`, `echo "say ${ARG_word}" x-"${ARG_word}"`,
			`"word":{"type":"string","maxLength":2000}`, ""},
		{"ls {opt}", `ls ${ARG_opt:+"$ARG_opt"}`, `"opt":{"type":"string","description":"may be missing"`, ""},
		{"wc {files:paths}", `wc "$@"`,
			`"files":{"type":"array","maxItems":1000,"items":{"type":"string","pattern":"^([^-]|$)","maxLength":2000}}`, ""},
		{"paint {colour}", `paint "${ARG_colour}"`, `"enum":["red","green"]`, ""},
		{"sort < {file:path} > {out:path}", `sort < "${ARG_file}" > "${ARG_out}"`, "", ""},
		{"echo $(cat {file:path}) | tr a {to}", `echo $(cat "${ARG_file}") | tr a "${ARG_to}"`, "", ""},
		{"awk '{print}' {file:path}", `awk '{print}' "${ARG_file}"`, "", ""},
		{"find . -name '{}' -print", "find . -name '{}' -print", "", ""},
		{"X={a} env", `X="${ARG_a}" env`, "", ""},

		{"echo '{colour}'", "", "", "single quotes"},
		{"echo '{x:string}'", "", "", "single quotes"},
		{"echo $(( {n:integer} + 1 ))", "", "", "column 12"},
		{"cat <<E\n{x:string}\nE", "", "", "where nothing is put in"},
		{"{cmd} -x", "", "", "the program itself"},
		{"ls # a \\\n{word} x", "", "", "ends in a backslash"},
		{`sh -c "grep {word} x"`, "", "", "runs what it is given as text"},
		{`nice bash -c {word}`, "", "", "runs what it is given as text"},
		{`eval echo {word}`, "", "", "runs what it is given as text"},
		{`sed "s/a/{word}/" f`, "", "", "a word of its own"},
		{`perl -e "print {word}"`, "", "", "a word of its own"},
		{"cat < {file}", "", "", "write {file:path}"},
		{"wc {a:list} {b:list}", "", "", "there is one"},
		{"wc x{a:list}", "", "", "a word of its own"},
		{"echo {x:frame}", "", "", "no type frame"},
		{"echo {x:path} {x:url}", "", "", "the types path and url"},
		{"echo (", "", "", "column"},
		{"", "", "", "no command"},
	} {
		got, err := Line{Name: "t", Command: tt.command, Params: only(params, tt.command)}.Tool()
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: %v; want %q", tt.command, err, tt.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.command, err)
			continue
		}
		if script := got.Handler.(*shellLine).script; script != tt.script {
			t.Errorf("%q: %s; want %s", tt.command, script, tt.script)
		}
		if p := string(got.Definition.Parameters); !strings.Contains(p, tt.schema) {
			t.Errorf("%q: %s; want %s", tt.command, p, tt.schema)
		}
	}
}

// only returns the parameters whose names stand in a command.
func only(params map[string]LineParam, command string) map[string]LineParam {
	some := map[string]LineParam{}
	for name, p := range params {
		if strings.Contains(command, name) {
			some[name] = p
		}
	}
	return some
}

// TestLineRun: no value gets out of its place, whatever it holds.
func TestLineRun(t *testing.T) {
	lines := map[string]string{
		"say": `printf '<%s>' {text}`, "list": `printf '<%s>' {items:list}`, "inside": `printf '%s' "a {text} b"`,
		"none": `printf '<%s>' x {opt}`, "fail": `echo partly; echo {text} >&2; exit 3`,
		"own": `printf '%s' "$ARG_text" {text}`,
	}
	var reg runner.Registry
	for name, command := range lines {
		one, err := Line{Name: name, Command: command, Params: only(map[string]LineParam{"opt": {}}, command)}.Tool()
		if err == nil {
			err = reg.Add(one)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := runner.New(runner.Settings{Tools: &reg, Root: t.TempDir(), Temp: t.TempDir()})
	r = r.With(func(s *runner.Settings) { s.Sandbox.Level = sandbox.None })
	hostile := `$(touch x) ; "'` + "`id`" + ` \\ * ${HOME} {text}` + "\n#"
	quoted := string(mustJSON(t, hostile))
	for _, tt := range []struct{ name, args, data, fails string }{
		{"say", `{"text":` + quoted + `}`, string(mustJSON(t, "<"+hostile+">")), ""},
		{"say", `{"text":"-n"}`, "", "Invalid arguments"},
		{"say", `{"text":"a\u0000b"}`, "", "NUL"},
		{"say", `{}`, "", "Missing required parameter: text"},
		{"list", `{"items":["a b","$(id)",""]}`, `"<a b><$(id)><>"`, ""},
		{"list", `{"items":["a","-x"]}`, "", "Invalid arguments"},
		{"inside", `{"text":"\" ; id ; \""}`, `"a \" ; id ; \" b"`, ""},
		{"none", `{}`, `"<x>"`, ""},
		{"none", `{"opt":"y z"}`, `"<x><y z>"`, ""},
		{"fail", `{"text":"why"}`, `"partly"`, "why"},
		{"own", `{"text":"*"}`, `"**"`, ""},
	} {
		res, err := r.Call(t.Context(), tt.name, tt.args)
		if err != nil || string(res.Data) != tt.data || res.OK != (tt.fails == "") ||
			!strings.Contains(res.Error, tt.fails) {
			t.Errorf("%s %s: %s %q, %v; want %s %q", tt.name, tt.args, res.Data, res.Error, err, tt.data, tt.fails)
		}
	}
}

func mustJSON(t *testing.T, s string) []byte {
	t.Helper()
	res := tool.Text(s)
	return res.Data
}

// TestLineFacts: rules see paths and addresses.
func TestLineFacts(t *testing.T) {
	for _, tt := range []struct {
		readOnly bool
		command  string
		op       policy.Op
		fails    string
	}{
		{true, "fetch {page:url} {in:path}", policy.OpRead, ""},
		{false, "fetch {page:url} {in:path}", policy.OpWrite, ""},
		{false, "fetch {page:url} > {in:path}", policy.OpWrite, ""},
		{true, "fetch {page:url} > {in:path}", "", "said to change nothing"},
	} {
		one, err := Line{Name: "t", Command: tt.command, ReadOnly: tt.readOnly}.Tool()
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v", tt.command, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f := one.Facts
		if len(f.Paths) != 1 || f.Paths[0] != (tool.PathFact{Argument: "in", Op: tt.op}) || len(f.URLs) != 1 ||
			!f.Network {
			t.Errorf("%s: %+v", tt.command, f)
		}
	}
}
