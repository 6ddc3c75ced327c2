package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestUsage(t *testing.T) {
	root := &cobra.Command{Use: "program", Short: "A program", RunE: UnknownCommand}
	root.AddGroup(&cobra.Group{ID: "first", Title: "Start"})
	root.SetUsageFunc(Usage)
	root.PersistentFlags().String("config", "", "configuration `FILE`")
	cmd := &cobra.Command{Use: "run TASK", Short: "Carry out a task", Example: "  program run x", GroupID: "first",
		RunE: UnknownCommand}
	fl := cmd.Flags()
	fl.String("model", "small", "the model")
	fl.StringP("out", "o", "", "write to `FILE`")
	fl.Bool("write", false, strings.Repeat("word ", 20))
	fl.Bool("old", false, "not shown")
	fl.Int("turns", 0, "most turns")
	if err := fl.MarkHidden("old"); err != nil {
		t.Fatal(err)
	}
	GroupFlags(fl, "Model", "turns", "model")
	root.AddCommand(cmd, &cobra.Command{Use: "about", Short: "A topic"})

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--help"}, `Carry out a task

Usage:
  program run TASK [flags]

Examples:
  program run x

Model:
      --model TEXT              the model (default small)
      --turns N                 most turns

Other flags:
  -o, --out FILE                write to FILE
      --write                   word word word word word word word word word word word word word
                                word word word word word word word
  -h, --help                    help for run

Global flags:
      --config FILE             configuration FILE
`},
		{[]string{"--help"}, `A program

Usage:
  program COMMAND

Start:
  run         Carry out a task

Commands:
  completion  Generate the autocompletion script for the specified shell
  help        Help about any command

Topics:
  about       A topic

Flags:
      --config FILE             configuration FILE
  -h, --help                    help for program

program COMMAND --help explains a command.
`},
	} {
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs(tt.args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%q prints\n%s\nwant\n%s", tt.args, out.String(), tt.want)
		}
	}
}
