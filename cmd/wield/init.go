package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/api"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool/policy"
)

func newInitCmd(app *cli.App) *cobra.Command {
	var file string
	var o firstOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a configuration",
		Long: `Looks for model servers on the usual ports of this machine (Ollama, llama.cpp, LM Studio, vLLM,
SGLang, KoboldCpp, Jan), asks three questions, writes a configuration, and checks it with wield
doctor --quick.

The configuration has the everyday policy: tools that read, build and test run without asking, other
changes need your approval, and destructive commands are denied. With --everyday=false every command
needs your approval.

Without a terminal, or with --yes, it asks nothing and takes the defaults. It never overwrites a
file without --force.`,
		Example: `  wield init
  wield init --print
  wield init --config wield.yaml --yes`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				if file = config.DefaultFile(app.Getenv); file == "" {
					return cli.UsageErrorf("no home directory for the configuration; choose a file with --config")
				}
			}
			if _, err := os.Lstat(file); !o.show && !o.force && !errors.Is(err, fs.ErrNotExist) {
				return cli.UsageErrorf(
					"%s exists already; see it with wield config explain, or overwrite it with --force", file)
			}
			o.ask = !yes && onTerminal(app)
			if !o.ask && !yes && !o.show {
				fmt.Fprintln(app.Stdout, "The input is not a terminal, so nothing is asked.")
			}
			found := compose.Discover(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return initialise(cmd.Context(), app, file, found, o)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`FILE` to write (default config.yaml in $XDG_CONFIG_HOME/wield)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	cmd.Flags().BoolVar(&o.show, "print", false, "print the configuration; write nothing")
	cmd.Flags().BoolVar(&o.everyday, "everyday", true, "include the everyday policy")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing")
	return cmd
}

// firstOptions say how a first configuration is written.
type firstOptions struct{ force, show, ask, everyday bool }

// initialise asks what to write, writes it and checks it.
func initialise(ctx context.Context, app *cli.App, file string, found []compose.Found, o firstOptions) error {
	if o.show {
		_, err := fmt.Fprint(app.Stdout, firstText(found, o.everyday))
		return err
	}
	if o.ask {
		q := &interview{app: app, lines: bufio.NewScanner(app.Stdin)}
		found = q.servers(ctx, found)
		o.everyday = o.everyday && q.confirm("Question 2 of 3: Let tools read, build and test without asking you?")
		if !q.confirm("Question 3 of 3: Write "+file+"?") || q.ended {
			_, err := fmt.Fprintln(app.Stdout, "Nothing was written.")
			return err
		}
	} else {
		listFound(app.Stdout, found)
	}
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(firstText(found, o.everyday)), 0o600)
	}
	if err != nil {
		return fmt.Errorf("%w; choose a file that can be written with --config", err)
	}
	fmt.Fprintf(app.Stdout, "Wrote %s\n\n", file)
	model := cli.DemoModel
	if len(found) > 0 {
		model = found[0].Models[0]
	}
	if err := runDoctor(ctx, app, &doctorFlags{file: file, timeout: doctorTimeout, quick: true},
		[]string{model}); err != nil {
		fmt.Fprintln(app.Stdout, "\nFix what failed, then run wield doctor again.")
		return nil // the configuration is written, which is what was asked for
	}
	flag := ""
	if file != config.DefaultFile(app.Getenv) || app.Getenv("WIELD_CONFIG") != "" {
		flag = " --config " + file
		if strings.ContainsAny(file, " '\"$&") {
			flag = fmt.Sprintf(" --config %q", file)
		}
	}
	_, err = fmt.Fprintf(app.Stdout, `
Next:
  wield doctor%[1]s   check whether the model calls tools
  wield serve%[1]s    start the gateway and its web page
  wield chat%[1]s     chat in the terminal
`, flag)
	return err
}

// listFound prints the servers and their models, numbered, and returns how many models there are.
func listFound(w io.Writer, found []compose.Found) (n int) {
	if len(found) == 0 {
		fmt.Fprintln(w, "Found no model server on this machine.")
	}
	for _, f := range found {
		fmt.Fprintf(w, "Found %s at %s\n", f.Name, f.URL)
		for _, m := range f.Models {
			n++
			fmt.Fprintf(w, "  %2d  %s\n", n, m)
		}
	}
	return n
}

// An interview asks a person at a terminal.
type interview struct {
	app   *cli.App
	lines *bufio.Scanner
	ended bool // the input
}

func (q *interview) ask(question string) string {
	fmt.Fprint(q.app.Stdout, question+" ")
	if q.ended || !q.lines.Scan() {
		q.ended = true
		fmt.Fprintln(q.app.Stdout)
	}
	return strings.TrimSpace(q.lines.Text())
}

func (q *interview) confirm(question string) bool {
	answer := strings.ToLower(q.ask(question + " [Y/n]"))
	return !q.ended && (answer == "" || answer == "y" || answer == "yes")
}

// servers asks which models to use. Without a server on this machine it asks for the address of one; without an
// address the scripted model stays.
func (q *interview) servers(ctx context.Context, found []compose.Found) []compose.Found {
	n := listFound(q.app.Stdout, found)
	switch n {
	case 0:
		return q.server(ctx)
	case 1:
		if q.confirm("Question 1 of 3: Use this model?") || q.ended {
			return found
		}
		return q.server(ctx)
	}
	for {
		answer := q.ask("Question 1 of 3: Which models? Numbers such as 1 3, or Enter for all:")
		if answer == "" {
			return found
		}
		if chosen, ok := chooseModels(found, answer); ok {
			return chosen
		}
		fmt.Fprintf(q.app.Stdout, "Type numbers from 1 to %d, separated by spaces.\n", n)
	}
}

// chooseModels returns the models that an answer such as "1, 3" numbers.
func chooseModels(found []compose.Found, answer string) (chosen []compose.Found, ok bool) {
	wanted := map[int]bool{}
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ' ' || r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		wanted[n] = true
	}
	n := 0
	for _, f := range found {
		var models []string
		for _, m := range f.Models {
			if n++; wanted[n] {
				models = append(models, m)
				delete(wanted, n)
			}
		}
		if f.Models = models; len(models) > 0 {
			chosen = append(chosen, f)
		}
	}
	return chosen, len(chosen) > 0 && len(wanted) == 0
}

// server asks for the address of a server until one answers.
func (q *interview) server(ctx context.Context) []compose.Found {
	var c api.Connection
	for ctx.Err() == nil {
		if c.URL == "" {
			c.URL = q.ask(
				"Question 1 of 3: Base URL of a model server, such as http://192.168.1.5:11434/v1, or Enter for the " +
					"scripted model demo:")
		}
		if c.URL == "" {
			return nil
		}
		out := compose.Try(ctx, c, q.app.Getenv)
		if out.OK || out.Field == "model" && len(out.Models) > 1 {
			f := compose.Found{Name: "server", URL: out.URL, Models: out.Models}
			if c.Variable != "" {
				f.Key = "env:" + c.Variable
			}
			if !out.OK {
				return q.servers(ctx, []compose.Found{f})
			}
			f.Models = []string{out.Model}
			return []compose.Found{f}
		}
		fmt.Fprintf(q.app.Stdout, "%s %s.\n", out.Problem, out.Fix)
		switch out.Field {
		case "key", "variable":
			if c.Variable = q.ask("Name of the environment variable that holds the key:"); c.Variable == "" {
				c.URL = ""
			}
		default:
			c = api.Connection{}
		}
	}
	return nil
}

// firstText is a first configuration, with the policy for everyday work if it is wanted.
func firstText(found []compose.Found, everyday bool) string {
	text := compose.First(found)
	if everyday {
		_, rules, _ := strings.Cut(policy.Everyday(), "    rules:\n")
		denied, _, _ := strings.Cut(rules, "      # the environment of what runs") // what extends leaves to the file
		text += firstPolicy + denied
	}
	return text
}

const firstPolicy = `
# Reading, building and testing run; wield policy show everyday prints the rules. The rest needs your approval.
policies:
  default:
    extends: everyday
    default: ask
    rules:
`

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
