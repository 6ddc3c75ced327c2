package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wield/internal/cli"
)

func newManCmd(app *cli.App) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "Generate man pages",
		Long:  "Writes a manual page for every command and help topic into a directory, which is created if needed.",
		Example: `  wield man --dir ~/.local/share/man/man1
  wield man --dir man && man -l man/wield-serve.1`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return cli.UsageErrorf("--dir is missing: the directory to write to")
			}
			n, err := writeMan(cmd.Root(), dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(app.Stdout, "%d pages in %s\n", n, dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "target `DIR`")
	return cmd
}

// writeMan writes the pages and returns their number.
func writeMan(root *cobra.Command, dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	n := 0
	var failed error
	cli.Walk(root, func(cmd *cobra.Command) {
		if failed != nil || cmd.Hidden || cmd.Name() == "help" {
			return
		}
		n++
		failed = os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644)
	})
	return n, failed
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns a command's page in the man macros of troff. It holds no date, so that the same program writes the
// same page.
func manPage(cmd *cobra.Command) string {
	var p manualPage
	p.macro("TH", strings.ToUpper(manName(cmd)), "1", "", "wield "+cli.Release, "wield")
	p.section("NAME")
	p.text(manName(cmd) + " - " + cmd.Short)
	if cmd.Runnable() {
		p.section("SYNOPSIS")
		p.literal(cmd.UseLine())
	}
	p.section("DESCRIPTION")
	if cmd.Runnable() {
		p.text(cmd.Long)
	} else {
		p.literal(cmd.Long) // a topic: its tables stay as they are
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.section("EXAMPLES")
		p.literal(cmd.Example)
	}
	if names := seeAlso(cmd); len(names) > 0 {
		p.section("SEE ALSO")
		p.text(strings.Join(names, ", "))
	}
	return p.b.String()
}

// seeAlso lists the pages around a command's.
func seeAlso(cmd *cobra.Command) []string {
	var names []string
	if cmd.HasParent() {
		names = append(names, manName(cmd.Parent())+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			names = append(names, manName(sub)+"(1)")
		}
	}
	if cmd.HasParent() && cmd.Name() != "exit-codes" {
		names = append(names, "wield-exit-codes(1)")
	}
	return names
}

// A manualPage is a manual page in the making.
type manualPage struct{ b strings.Builder }

func (p *manualPage) macro(name string, args ...string) {
	p.b.WriteString("." + name)
	for _, a := range args {
		p.b.WriteString(` "` + strings.ReplaceAll(escapeRoff(a), `"`, `\(dq`) + `"`)
	}
	p.b.WriteByte('\n')
}

func (p *manualPage) section(title string) { p.macro("SH", title) }

// text writes paragraphs, which empty lines part.
func (p *manualPage) text(s string) {
	for i, paragraph := range strings.Split(strings.TrimSpace(s), "\n\n") {
		if i > 0 {
			p.macro("PP")
		}
		p.lines(paragraph)
	}
}

// literal writes lines that stay as they are.
func (p *manualPage) literal(s string) {
	p.macro("PP")
	p.macro("nf")
	p.lines(strings.TrimRight(s, "\n"))
	p.macro("fi")
}

func (p *manualPage) lines(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		line = escapeRoff(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line // else the line would be a macro
		}
		p.b.WriteString(line + "\n")
	}
}

func (p *manualPage) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		p.macro("TP")
		p.lines(strings.TrimSpace(name + " " + value))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		p.lines(usage)
	})
}

// escapeRoff makes s plain text to troff: a backslash would begin a request, a hyphen could become a dash.
func escapeRoff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
}
