package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/config"
)

// maxImport bounds a file of another program, so that a wrong path is not read whole.
const maxImport = 16 << 20

func newConfigImportCmd(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "import lumo-tamer|llf FILE",
		Short: "Convert another program's configuration",
		Long: `Converts a configuration of lumo-tamer, or a configuration, tool registry or tool of LLF, and prints
the wield configuration. Comments at its top list what could not be converted and what you must do
by hand. Secrets are not copied.`,
		Example: `  wield config import lumo-tamer config.yaml > wield.yaml
  wield config import llf tools_registry.json > wield.yaml`,
		Args:      cobra.ExactArgs(2),
		ValidArgs: []string{string(config.LumoTamer), string(config.LLF)},
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[1])
			if err != nil {
				return err
			}
			defer f.Close()
			data, err := io.ReadAll(io.LimitReader(f, maxImport))
			if err != nil {
				return err
			}
			text, _, err := config.Import(config.Source(args[0]), data)
			if err != nil {
				return cli.UsageErrorf("%s: %w", args[1], err)
			}
			_, err = fmt.Fprint(app.Stdout, text)
			return err
		},
	}
}
