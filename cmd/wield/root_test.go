package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/chat"
	"wield/dialect"
	"wield/internal/cli"
	"wield/internal/config"
	"wield/journal"
)

func testApp() (*cli.App, *bytes.Buffer, *bytes.Buffer) {
	var stdout, stderr bytes.Buffer
	return &cli.App{
		Stdin:  strings.NewReader(""),
		Stdout: &stdout,
		Stderr: &stderr,
		Getenv: func(string) string { return "" },
	}, &stdout, &stderr
}

// TestHelpIsWhole checks that every command says what it does, shows examples, and explains each flag.
func TestHelpIsWhole(t *testing.T) {
	app, _, _ := testApp()
	root := newRootCmd(app)
	cli.Walk(root, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || cmd.Long == "" {
			t.Errorf("%s: Short %q (no full stop), Long of %d bytes", path, cmd.Short, len(cmd.Long))
		}
		if cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s: no examples", path)
		}
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "wield ") && line != "wield" &&
				!strings.HasPrefix(line, "#") {
				t.Errorf("%s: the example %q does not run wield", path, line)
			}
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if len(line) > 150 {
				t.Errorf("%s: a line of %d bytes in the help: %s", path, len(line), line)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s: no usage", path, f.Name)
			}
		})
	})
}

// shellWords finds the words of a command line: what stands in quotes is one.
var shellWords = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

// TestExamplesParse checks that the command lines of all examples are ones that the program takes.
func TestExamplesParse(t *testing.T) {
	app, _, _ := testApp()
	cli.Walk(newRootCmd(app), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			for part := range strings.SplitSeq(strings.TrimSpace(line), "|") {
				words := shellWords.FindAllString(part, -1)
				if end := slices.IndexFunc(words,
					func(w string) bool { return strings.ContainsAny(w[:1], "#<>&") }); end >= 0 {
					words = words[:end]
				}
				if len(words) > 0 && words[0] == "wield" {
					checkLine(t, cmd, words[1:])
				}
			}
		}
	})
}

func checkLine(t *testing.T, cmd *cobra.Command, words []string) {
	t.Helper()
	app, _, _ := testApp()
	found, rest, err := newRootCmd(app).Find(words)
	if err == nil {
		err = found.ParseFlags(rest)
	}
	if err == nil && !slices.Contains(rest, "--help") {
		err = found.ValidateArgs(found.Flags().Args())
	}
	if err == nil && found.HasParent() && !found.Runnable() && found.HasSubCommands() {
		err = errors.New("a group, not a command")
	}
	if err != nil {
		t.Errorf("%s: example %q: %v", cmd.CommandPath(), strings.Join(words, " "), err)
	}
}

// TestDialectFlags checks that every flag for a dialect completes the names of all.
func TestDialectFlags(t *testing.T) {
	app, _, _ := testApp()
	cli.Walk(newRootCmd(app), func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("dialect") == nil {
			return
		}
		complete, ok := cmd.GetFlagCompletionFunc("dialect")
		if !ok {
			t.Errorf("%s: --dialect does not complete", cmd.CommandPath())
			return
		}
		words, _ := complete(cmd, nil, "")
		for _, name := range dialect.Names() {
			if !slices.ContainsFunc(words, func(w string) bool {
				return w == name || strings.HasPrefix(w, name+"\t")
			}) {
				t.Errorf("%s: %s is missing", cmd.CommandPath(), name)
			}
		}
	})
}

func TestExitCode(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		text string
	}{
		{"any error", t.Context(), fs.ErrNotExist, 1, "file does not exist"},
		{"usage", t.Context(), cli.UsageErrorf("no %s", "x"), 2, "no x"},
		{"silent", t.Context(), &cli.ExitError{Code: 5}, 5, ""},
		{"wrapped", t.Context(), fmt.Errorf("a: %w", &cli.ExitError{Code: 7, Err: errors.New("b")}), 7, "b"},
		{"configuration", t.Context(), config.Problems{{File: "f", Message: "m"}}, 2, "f: m"},
		{"auth", t.Context(), chat.Errorf(chat.ErrAuth, "refused"), 3, "auth: refused"},
		{"unreachable", t.Context(), fmt.Errorf("x: %w", chat.Errorf(chat.ErrUnavailable, "down")), 3,
			"x: unavailable: down"},
		{"journal unreachable", t.Context(), chat.AsError(fmt.Errorf("%w: %w", journal.ErrLost, io.ErrUnexpectedEOF)),
			1, chat.AsError(fmt.Errorf("%w: %w", journal.ErrLost, io.ErrUnexpectedEOF)).Error()},
		{"journal damaged", t.Context(), chat.AsError(fmt.Errorf("%w: x", journal.ErrCorrupt)), 1,
			chat.AsError(fmt.Errorf("%w: x", journal.ErrCorrupt)).Error()},
		{"other model error", t.Context(), chat.Errorf(chat.ErrProtocol, "nonsense"), 1, "protocol: nonsense"},
		{"interrupted", ended, context.Canceled, 130, "interrupted"},
		{"interrupted model", ended, chat.AsError(context.Canceled), 130, "interrupted"},
		{"canceled by itself", t.Context(), context.Canceled, 1, "context canceled"},
	} {
		code, err := cli.ExitCode(c.ctx, c.err)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if code != c.code || text != c.text {
			t.Errorf("%s: got %d %q, want %d %q", c.name, code, text, c.code, c.text)
		}
	}
}

// TestExitCodesAreDocumented checks that the topic knows every code.
func TestExitCodesAreDocumented(t *testing.T) {
	var documented []int
	for _, c := range exitCodes {
		documented = append(documented, c.code)
	}
	want := []int{cli.ExitOK, cli.ExitFailed, cli.ExitUsage, cli.ExitModel, cli.ExitDenied, cli.ExitLimit,
		cli.ExitTool, cli.ExitMalformed, cli.ExitInterrupted}
	if !slices.Equal(documented, want) {
		t.Errorf("got %v, want %v", documented, want)
	}
}
