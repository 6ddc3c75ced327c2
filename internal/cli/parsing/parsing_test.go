package parsing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wield/dialect"
	"wield/dialect/profile"
	"wield/internal/cli"
)

// execute runs a command with an input, and returns what it prints.
func execute(cmd func(*cli.App) *cobra.Command, input string, args ...string) (string, error) {
	var out strings.Builder
	app := &cli.App{Stdin: strings.NewReader(input), Stdout: &out, Stderr: &out,
		Getenv: func(string) string { return "" }}
	c := cmd(app)
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err := c.Execute()
	return out.String(), err
}

const weather = `[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`

// TestParse reads texts as a person and as a program give them.
func TestParse(t *testing.T) {
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(weather), 0o600); err != nil {
		t.Fatal(err)
	}
	record := func(rest string) string { return `{"id":7,"tools":` + weather + `,` + rest + "}\n" }
	const call = `<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>`
	for _, tt := range []struct {
		name, input string
		args        []string
		want        []string // parts of the output
		fails       bool
	}{
		{"a text", "Hi.\n" + strings.ReplaceAll(call, `\"`, `"`), []string{"--tools", tools},
			[]string{`"content":"Hi.`, `"name":"get_weather"`, `"arguments":{"city":"Rome"}`}, false},
		{"a text in small pieces", strings.ReplaceAll(call, `\"`, `"`), []string{"--tools", tools, "--chunk", "3"},
			[]string{`"arguments":{"city":"Rome"}`}, false},
		{"nothing may be called", strings.ReplaceAll(call, `\"`, `"`), nil, []string{`"calls":[]`}, false},
		{"a record", record(`"text":"` + call + `"`), []string{"--jsonl"},
			[]string{`"id":7`, `"arguments":{"city":"Rome"}`}, false},
		{"a flag wins over a record",
			record(
				`"repair":"full","text":"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\",}}</tool_call>"`),
			[]string{"--jsonl", "--repair", "off"}, []string{`"calls":[]`, `"reason":"malformed"`}, false},
		{"a bad record stands in its place", "{\"id\":1}\n" + record(`"text":"Hi"`), []string{"--jsonl"},
			[]string{`{"id":1,"error":`, `"content":"Hi"`}, true},
		{"an unknown level", "x", []string{"--repair", "most"}, nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := execute(NewParseCmd, tt.input, tt.args...)
			if (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("%s\nhas no %s", got, part)
				}
			}
		})
	}
}

// TestUnknownDialect: a name that is nearly right leads to the right one, and is a mistake of whoever typed it.
func TestUnknownDialect(t *testing.T) {
	err := noDialect("hermse")
	var exit *cli.ExitError
	if !errors.As(err, &exit) || exit.Code != cli.ExitUsage || !strings.Contains(err.Error(), "hermes") {
		t.Errorf("%#v", err)
	}
}

// TestFindProfile: the name of a profile counts where no model of that name has another one.
func TestFindProfile(t *testing.T) {
	table := profile.Table{{Name: "coder", Patterns: []string{"acme coder"}},
		{Name: "other", Patterns: []string{"coder", "acme"}}}
	for name, want := range map[string]string{"coder": "coder", "other": "other", "acme-coder": "coder",
		"coder-7b": "other", "none": ""} {
		p, why, ok := findProfile(table, name)
		if p.Name != want || ok != (want != "") || ok && why == "" {
			t.Errorf("%s has the profile %q because of %s (%t), want %q", name, p.Name, why, ok, want)
		}
	}
}

func TestMiddleCut(t *testing.T) {
	if got := middleCut("short\n"); got != `"short\n"` {
		t.Error(got)
	}
	long := strings.Repeat("a", 150) + strings.Repeat("b", 150)
	if got := middleCut(long); !strings.HasPrefix(got, `"aaa`) || !strings.HasSuffix(got, `bbb"`) ||
		!strings.Contains(got, "..(100 bytes)..") {
		t.Error(got)
	}
}

func TestDescribeThinking(t *testing.T) {
	for want, thinking := range map[string]dialect.Thinking{
		"the usual tags":                      {},
		"tags are left in the text":           {Off: true, Opener: "<x>"},
		`"<x>" to "</x>"; text begins inside`: {Opener: "<x>", Closer: "</x>", Open: true},
		`to "</x>"; calls inside are ignored`: {Closer: "</x>", Calls: dialect.CallsNever},
	} {
		if got := describeThinking(&thinking); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
