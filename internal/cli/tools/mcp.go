package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/mcp"
)

func NewMCPCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := cli.Group("mcp", "Use MCP servers, or serve tools over MCP",
		`An MCP server offers tools by the Model Context Protocol. Servers are configured under mcp.servers, or each in a
file NAME.mcp.yaml in a tool directory. Their tools are named NAME__TOOL and work like all others: wield tool
list shows them, policies apply to them.

A tool whose definition changes after its first use is withheld until wield mcp accept.`,
		`  wield mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  wield mcp list
  wield mcp call files list_directory '{"path":"."}'
  wield mcp serve                          # the other way: wield's tools for an MCP client`,
		newMCPListCmd(app, &file), newMCPShowCmd(app, &file), newMCPCallCmd(app, &file), newMCPAcceptCmd(app, &file),
		newMCPAddCmd(app, &file), newMCPInstallCmd(app, &file), newMCPImportCmd(app, &file), newMCPTestCmd(app, &file),
		newMCPLoginCmd(app, &file), newMCPLogoutCmd(app, &file), newMCPServeCmd(app, &file))
	cmd.PersistentFlags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func newMCPListCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List all servers and their state",
		Long: `Connects to every server and prints its protocol version, how many of its tools are offered, and any
error. The exit code is 1 if a server is not connected.`,
		Example: "  wield mcp list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withServers(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				servers := box.Servers()
				if len(servers) == 0 {
					fmt.Fprintln(app.Stdout,
						"There are no MCP servers. Add one: wield mcp add NAME -- COMMAND, or wield mcp add NAME URL.")
					return nil
				}
				names := slices.Sorted(maps.Keys(servers))
				tested := testServers(cmd.Context(), app, servers, names)
				w := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tSTATE\tPROTOCOL\tTOOLS\tSERVER")
				missing := false
				for i, name := range names {
					st, state := tested[i].status, "connected"
					if !st.Connected {
						state, missing = "not connected", true
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", name, state, st.Protocol, st.Tools, st.Server)
					for _, p := range tested[i].problems {
						fmt.Fprintf(app.Stderr, "wield: %v\n", p)
					}
				}
				if err := w.Flush(); err != nil || !missing {
					return err
				}
				return &cli.ExitError{Code: 1}
			})
		},
	}
}

// patience is the time after which it is said which servers are waited for.
const patience = 2 * time.Second

// testServers looks at all servers at once. It says which ones take their time.
func testServers(ctx context.Context, app *cli.App, servers map[string]*mcp.Server, names []string) []serverTest {
	tested := make([]serverTest, len(names))
	waits := slices.Clone(names)
	ready := make(chan int)
	for i, name := range names {
		go func() {
			tested[i] = testServer(ctx, servers[name])
			ready <- i
		}()
	}
	said := time.After(patience)
	for n := 0; n < len(names); {
		select {
		case i := <-ready:
			n++
			waits = slices.DeleteFunc(waits, func(name string) bool { return name == names[i] })
		case <-said:
			fmt.Fprintf(app.Stderr, "waiting for %s; npx and uvx download a server before its first start\n",
				strings.Join(waits, ", "))
		}
	}
	return tested
}

func newMCPTestCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "test [NAME...]",
		Short: "Test the connection to servers",
		Long: `Connects to each server and checks its tool definitions: unusable schemas, hidden characters,
instructions aimed at the model, changes. It calls no tool. The exit code is 1 if something is
wrong.`,
		Example: "  wield mcp test files",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServers(app, *file, func(box *compose.Toolbox, _ *config.Result) error {
				names := args
				if len(names) == 0 {
					names = slices.Sorted(maps.Keys(box.Servers()))
				}
				for _, name := range names {
					if _, err := mcpServer(box, name); err != nil {
						return err
					}
				}
				tested := testServers(cmd.Context(), app, box.Servers(), names)
				failed := false
				for i := range tested {
					failed = tested[i].print(app.Stdout, names[i]) || failed
				}
				if failed {
					return &cli.ExitError{Code: 1}
				}
				return nil
			})
		},
	}
}

// A serverTest holds what a look at a server showed.
type serverTest struct {
	status   mcp.Status
	offers   mcp.Offers
	tools    int
	took     time.Duration // to connect and to list the tools
	problems []error
}

func testServer(ctx context.Context, s *mcp.Server) (t serverTest) {
	began := time.Now()
	tools, problems := s.Tools(ctx)
	return serverTest{s.Status(), s.Offers(), len(tools), time.Since(began), problems}
}

// print reports whether something is wrong.
func (t *serverTest) print(w io.Writer, name string) bool {
	if t.status.Connected {
		fmt.Fprintf(w, "%s: %s, revision %s, %d tools, %d prompts, %d resources, %d ms\n",
			name, t.status.Server, t.status.Protocol, t.tools, len(t.offers.Prompts),
			len(t.offers.Resources)+len(t.offers.Templates), t.took.Milliseconds())
	} else {
		fmt.Fprintf(w, "%s: not connected\n", name)
	}
	for _, p := range t.problems {
		fmt.Fprintf(w, "  %v\n", p)
	}
	return len(t.problems) > 0
}

// withServer runs f with all tools and an MCP server. It prints no problems of other servers.
func withServer(app *cli.App, file, name string, f func(*compose.Toolbox, *mcp.Server, *config.Result) error) error {
	box, r, err := toolbox(app, file)
	if err != nil {
		return err
	}
	for _, p := range box.Problems {
		if of := (*mcp.ServerError)(nil); !errors.As(p, &of) || of.Server == name {
			fmt.Fprintf(app.Stderr, "wield: %v\n", p)
		}
	}
	s, err := mcpServer(box, name)
	if err == nil {
		err = f(box, s, r)
	}
	return errors.Join(err, box.Close())
}

// mcpServer returns the server of the given name.
func mcpServer(box *compose.Toolbox, name string) (*mcp.Server, error) {
	servers := box.Servers()
	if s := servers[name]; s != nil {
		return s, nil
	}
	hint := near.Hint(name, slices.Sorted(maps.Keys(servers)))
	return nil, cli.UsageErrorf("no MCP server %q%s; wield mcp list shows them all", name, hint)
}

func newMCPShowCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a server's tools and what changed",
		Long: `Prints the tools of a server with descriptions and parameters. For withheld tools it prints what
changed.`,
		Example: "  wield mcp show files",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withServer(app, *file, args[0], func(box *compose.Toolbox, s *mcp.Server, _ *config.Result) error {
				tools, _ := s.Known() // what is wrong was told when they were loaded
				for _, t := range tools {
					fmt.Fprintf(app.Stdout, "%s\n", t.Name())
					for line := range strings.Lines(strings.TrimSpace(t.Definition.Description)) {
						fmt.Fprintf(app.Stdout, "    %s\n", strings.TrimRight(line, "\n"))
					}
					fmt.Fprintf(app.Stdout, "    parameters: %s\n", t.Definition.Parameters)
				}
				return showChanged(app.Stdout, box.Pins, args[0])
			})
		},
	}
}

// showChanged prints how the tools differ that are held back.
func showChanged(w io.Writer, pins *mcp.Pins, server string) error {
	if pins == nil {
		return nil
	}
	changed, err := pins.Changed(server)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		pin := changed[name]
		fmt.Fprintf(w, "%s is held back, since it has changed:\n", name)
		fmt.Fprint(w, udiff.Unified("agreed to", "now", pin.Agreed.String(), pin.Now.String()))
	}
	return nil
}

func newMCPCallCmd(app *cli.App, file *string) *cobra.Command {
	f := toolRun{file: file}
	cmd := &cobra.Command{
		Use:   "call NAME TOOL [ARGUMENTS | NAME=VALUE...]",
		Short: "Call a server's tool",
		Long: `Calls a tool, by its name on the server or as wield mcp show prints it, like wield tool run NAME__TOOL:
schema, policy and limits apply. Your command counts as the approval.`,
		Example: `  wield mcp call files list_directory '{"path":"."}'`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withServer(app, *file, args[0], func(box *compose.Toolbox, s *mcp.Server, r *config.Result) error {
				name, names := s.Offered(args[1])
				if name == "" {
					return cli.UsageErrorf("the MCP server %s offers no tool %q%s; wield mcp show %s lists them",
						args[0], args[1], near.Hint(args[1], names), args[0])
				}
				f.yes, f.enable = true, true
				return f.run(cmd, app, box, r, append([]string{name}, args[2:]...))
			})
		},
	}
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print events as JSON lines, the result last")
	f.answerFlag(cmd)
	return cmd
}

func newMCPAcceptCmd(app *cli.App, file *string) *cobra.Command {
	return &cobra.Command{
		Use:   "accept NAME [TOOL...]",
		Short: "Accept a server's changed tools",
		Long: `Accepts changed tool definitions, so that the tools are offered again. Without TOOL it accepts all
tools of the server.`,
		Example: "  wield mcp show files\n  wield mcp accept files read_file",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := app.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			return acceptPins(app, r, args[0], args[0], args[1:])
		},
	}
}

// acceptPins agrees to definitions that have changed. source is who offers them, as the file of definitions and as
// people call it.
func acceptPins(app *cli.App, r *config.Result, source, name string, tools []string) error {
	pins := compose.Pins(r.Config, app.Getenv)
	if pins == nil {
		return cli.UsageErrorf("there is no place where definitions are kept: set data in the configuration, or HOME")
	}
	before, err := pins.Changed(source)
	if err != nil {
		return err
	}
	if err := pins.Accept(source, tools...); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	after, err := pins.Changed(source)
	for _, one := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[one]; !still {
			fmt.Fprintf(app.Stdout, "%s%s%s is agreed to\n", name, tool.Separator, one)
		}
	}
	return err
}
