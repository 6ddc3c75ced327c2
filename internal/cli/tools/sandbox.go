package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/tool/sandbox"
)

func NewSandboxCmd(app *cli.App) *cobra.Command {
	return cli.Group("sandbox", "Run a program in the sandbox",
		`Tools run programs in a sandbox. These commands show what this machine supports, and run a program as a tool
would.`,
		`  wield sandbox probe
  wield sandbox run -- make test
  wield sandbox run --level strict --net -- curl https://example.com`,
		newSandboxProbeCmd(app), newSandboxRunCmd(app))
}

func newSandboxProbeCmd(app *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Show which levels this machine supports",
		Long: `Lists the sandbox layers and levels that this machine supports, and how to get the others. It starts
bubblewrap once, because the system may block it.`,
		Example: `  wield sandbox probe
  wield sandbox probe --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			m := sandbox.Probe()
			if asJSON {
				return json.NewEncoder(app.Stdout).Encode(m)
			}
			return printMachine(app.Stdout, m)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func printMachine(w io.Writer, m sandbox.Machine) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "system\t%s %s\n\nlayer\t\t\n", m.System, m.Kernel)
	for _, l := range m.Layers {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Name, cli.YesNo(l.OK), l.Detail)
	}
	fmt.Fprint(t, "\nlevel\t\t\n")
	for _, l := range m.Levels {
		text := l.Means
		for _, miss := range l.Missing {
			text = strings.TrimPrefix(text+"; "+miss.What+": "+miss.Fix, "; ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", l.Level, cli.YesNo(l.OK), text)
	}
	return t.Flush()
}

func newSandboxRunCmd(app *cli.App) *cobra.Command {
	var f struct {
		level            string
		net, fixed, show bool
		write, read, env []string
		timeout          time.Duration
	}
	cmd := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGUMENT...]",
		Short: "Run a program in a sandbox",
		Long: `Runs a program without a shell. It uses this command's input and output, a few environment
variables, and the current directory, which it may change unless --read-only is set. When it ends,
all its child processes end.

A level that the machine does not support is an error. The exit code is that of the program; 128
plus the number of a signal; 5 if a limit or --timeout ended it; 2 if it did not start.`,
		Example: `  wield sandbox run -- make test
  wield sandbox run --level limits --timeout 30s -- ./build.sh
  wield sandbox run --env GOFLAGS --read /home/me/go --write /home/me/.cache/go-build -- go test ./...`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageErrorf("there is no program to run\nTry '%s --help'.", cmd.CommandPath())
			}
			c := sandbox.Command{
				Argv: args, Env: sandbox.Environ(f.env...), Stdin: app.Stdin, Stdout: app.Stdout, Stderr: app.Stderr,
				Level: sandbox.Level(f.level), Net: f.net, Writable: f.write, Readable: f.read,
				Limits: sandbox.ProcessLimits{Time: f.timeout, Output: chat.NoLimit},
			}
			if !f.fixed {
				c.Writable = append(c.Writable, ".")
			}
			return runSandboxed(cmd.Context(), app, c, f.show)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the program belongs to it
	cmd.Flags().StringVar(&f.level, "level", string(sandbox.Workspace),
		"sandbox `LEVEL`: none, limits, workspace or strict")
	cmd.Flags().BoolVar(&f.net, "net", false, "allow TCP and UDP")
	cmd.Flags().StringArrayVar(&f.write, "write", nil, "`PATH` that may be changed, too; repeatable")
	cmd.Flags().StringArrayVar(&f.read, "read", nil, "`PATH` that may be read, too; repeatable")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "pass on the environment variable `NAME`; repeatable")
	cmd.Flags().BoolVar(&f.fixed, "read-only", false, "make the current directory read-only")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "time limit; 0: none")
	cmd.Flags().BoolVar(&f.show, "show", false, "print the sandbox settings on standard error")
	cmd.RegisterFlagCompletionFunc("level", func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		var names []string
		for _, l := range sandbox.Levels() {
			names = append(names, string(l))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func runSandboxed(ctx context.Context, app *cli.App, c sandbox.Command, show bool) error {
	p, err := sandbox.Start(ctx, c)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if show {
		var names []string
		for _, l := range p.Effective().Layers {
			names = append(names, strings.TrimSuffix(l.Name+" ("+l.Detail+")", " ()"))
		}
		fmt.Fprintf(app.Stderr, "level %s: %s\n", p.Effective().Level, strings.Join(names, ", "))
	}
	exit, err := p.Wait()
	switch {
	case errors.Is(err, sandbox.ErrCanceled) && ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInterrupted, Err: errors.New("interrupted")}
	case err != nil:
		return &cli.ExitError{Code: cli.ExitLimit, Err: err}
	case exit.Signal != "":
		return &cli.ExitError{Code: 128 + exit.SignalNumber, Err: fmt.Errorf("the program was ended by %s",
			exit.Signal)}
	case exit.Code != 0:
		return &cli.ExitError{Code: exit.Code}
	}
	return nil
}
