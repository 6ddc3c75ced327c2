package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool/policy"
)

func newInitCmd(app *cli.App) *cobra.Command {
	var file string
	var force, show, yes, everyday bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a configuration",
		Long: `Looks for servers of models on this machine, on the ports that Ollama, LM Studio, llama.cpp, vLLM, SGLang, KoboldCpp and Jan use, and
writes a configuration that offers what they have. Without any it offers the scripted model demo and shows how a server is put in.

With --everyday the policy of docs/policy.md for everyday work goes into it: looking, building and testing need no question, changes that
others see are asked about. Without it every command is asked about. On a terminal it is offered.

A file that is there is not touched without --force. On a terminal it asks before it writes; anywhere else, or with --yes, it asks
nothing.`,
		Example: `  wield init
  wield init --print
  wield init --everyday
  wield init --config wield.yaml --yes`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				if file = config.DefaultFile(app.Getenv); file == "" {
					return cli.UsageErrorf("there is no home directory to put the file into: name one with --config")
				}
			}
			return initialise(cmd.Context(), app, file, firstOptions{force: force, show: show, yes: yes, everyday: everyday})
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`FILE` to write (default config.yaml in $XDG_CONFIG_HOME/wield)")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	cmd.Flags().BoolVar(&show, "print", false, "print the configuration instead of writing it")
	cmd.Flags().BoolVar(&everyday, "everyday", false, "let commands that look, build and test run without a question")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing")
	return cmd
}

// firstOptions say how a first configuration is written.
type firstOptions struct{ force, show, yes, everyday bool }

func initialise(ctx context.Context, app *cli.App, file string, o firstOptions) error {
	if _, err := os.Lstat(file); !o.show && !o.force && !errors.Is(err, fs.ErrNotExist) {
		return cli.UsageErrorf("%s is there already: look at it with wield config explain, or write over it with --force", file)
	}
	found := compose.Discover(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if o.show {
		_, err := fmt.Fprint(app.Stdout, firstText(found, o.everyday))
		return err
	}
	for _, f := range found {
		fmt.Fprintf(app.Stdout, "found %s at %s: %s\n", f.Name, f.URL, cli.Count(len(f.Models), "model"))
	}
	if len(found) == 0 {
		fmt.Fprintln(app.Stdout, "found no server of models on this machine; the scripted model demo is offered")
	}
	if !o.yes && onTerminal(app) {
		lines := bufio.NewScanner(app.Stdin)
		o.everyday = o.everyday || confirmed(app, lines, "let commands that look, build and test run without a question?")
		if !confirmed(app, lines, "write "+file+"?") {
			return nil
		}
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(firstText(found, o.everyday)), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w; name a file that can be written with --config", err)
	}
	_, err = fmt.Fprintf(app.Stdout, "written to %s\nnext: wield doctor, then wield serve\n", file)
	return err
}

// firstText is a first configuration, with the policy for everyday work if it is wanted.
func firstText(found []compose.Found, everyday bool) string {
	text := compose.First(found)
	if everyday {
		comment, rules, _ := strings.Cut(policy.Everyday(), "wield: "+config.Version+"\n")
		text += "\n" + comment + rules
	}
	return text
}

// onTerminal reports whether a person sits at the input. The null device looks like a terminal, but nobody sits there.
func onTerminal(app *cli.App) bool {
	f, ok := app.Stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	if null, err := os.Stat(os.DevNull); err == nil && os.SameFile(info, null) {
		return false
	}
	return app.Getenv("CI") == ""
}

func confirmed(app *cli.App, line *bufio.Scanner, question string) bool {
	fmt.Fprintf(app.Stdout, "%s [Y/n] ", question)
	if !line.Scan() {
		return false
	}
	answer := strings.ToLower(strings.TrimSpace(line.Text()))
	return answer == "" || answer == "y" || answer == "yes"
}
