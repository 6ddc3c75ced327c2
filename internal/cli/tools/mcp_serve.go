package tools

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/mcpserver"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// SyncEvery is the interval between checks for changed tools.
const SyncEvery = 3 * time.Second

func newMCPServeCmd(app *cli.App, file *string) *cobra.Command {
	var policyName string
	var names, allow []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve wield's tools to an MCP client over standard input and output",
		Long: `Offers the enabled tools, including those of configured MCP servers, to the MCP client that starts
this command. Standard output carries only the protocol; the log goes to standard error.

The policy default, or --policy, decides on each call. A call that needs an approval is put to
the client's user if the client can ask (elicitation), and rejected otherwise; --allow allows it in
advance.`,
		Example: `  claude mcp add wield -- wield mcp serve
  wield mcp serve --tool get_current_time --allow get_current_time`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withTools(app, *file, func(box *compose.Toolbox, r *config.Result) error {
				def, err := compose.RunPolicy(r, policyName, box.Registry.Entries(), compose.RunRules{Allow: allow},
					append(slices.Clone(box.Dirs), box.State)...)
				if err != nil {
					return cli.UsageErrorf("%w", err)
				}
				rules, err := policy.New(def)
				if err != nil {
					return err
				}
				log := slog.New(slog.NewTextHandler(app.Stderr, nil))
				session := box.Registry.Session()
				for _, name := range names {
					if _, err := Find(box, name); err != nil {
						return err
					}
					if err := session.Set(name, tool.StateEnabled); err != nil {
						return cli.UsageErrorf("%w", err)
					}
				}
				if len(names) > 0 {
					for _, e := range box.Registry.Entries() {
						if !slices.Contains(names, e.Tool.Name()) {
							session.Set(e.Tool.Name(), tool.StateDisabled)
						}
					}
				}
				runner := box.Runner.With(func(s *runner.Settings) { s.Tools, s.Policy, s.Log = session, rules, log })
				serves(app.Stderr, r.File, runner.Offered(""), def.Rules[len(def.Rules)-len(allow):])
				s := mcpserver.New(mcpserver.Options{Runner: runner, Approvals: mcpserver.AskClient,
					Version: cli.ThisBuild().String()})
				ctx := cmd.Context()
				go func() {
					tick := time.NewTicker(SyncEvery)
					defer tick.Stop()
					for {
						select {
						case <-ctx.Done():
							return
						case <-tick.C:
							if news, _ := box.Refresh(ctx); !news.Empty() {
								s.Sync()
							}
						}
					}
				}()
				err = s.SDK.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(app.Stdin), Writer: nopCloser{app.Stdout}})
				if ctx.Err() != nil {
					return nil // it was told to end
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&policyName, "policy", "", "`NAME` of the policy (default \"default\")")
	cmd.Flags().StringArrayVar(&allow, "allow", nil,
		"allow calls that match this rule without approval, as in wield run --allow; may be repeated")
	cmd.Flags().StringArrayVar(&names, "tool", nil, "serve only the tool `NAME`, enabled or not; repeatable")
	return cmd
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// serves says which tools are served, and which of the rules that allow calls match none of them.
func serves(w io.Writer, file string, tools []chat.Tool, allow []policy.Rule) {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	all := cmp.Or(strings.Join(names, ", "), "none")
	fmt.Fprintf(w, "wield: serving tools over standard input and output: %s\n", all)
	if file == "" {
		fmt.Fprintln(w, "wield: no configuration was found. It says which tools and MCP servers there are: name it "+
			"with "+
			"--config FILE, write one with wield init, or name tools with --tool.")
	}
	for _, rule := range allow {
		matches, err := policy.New(policy.Definition{Rules: []policy.Rule{
			{Decision: chat.DecisionDeny, Selector: policy.Selector{Tool: rule.Tool}}}})
		if err == nil && len(rule.Tool) > 0 && !slices.ContainsFunc(names, matches.Hides) {
			fmt.Fprintf(w, "wield: --allow %s matches none of the tools: %s\n", strings.Join(rule.Tool, ", "), all)
		}
	}
}
