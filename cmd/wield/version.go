package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"wield/internal/cli"
)

func newVersionCmd(app *cli.App) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Prints the version of wield, the commit if known, the Go version and the system.",
		Example: `  wield version
  wield version --json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				return json.NewEncoder(app.Stdout).Encode(cli.ThisBuild())
			}
			_, err := fmt.Fprintln(app.Stdout, cli.ThisBuild())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
