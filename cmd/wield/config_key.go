package main

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/cli"
)

func newConfigKeyCmd(app *cli.App) *cobra.Command {
	var name string
	var stdin bool
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Generate an API key and its configuration entry",
		Long: `Prints a new random key and its configuration entry. The entry contains only a hash of the key: save
the key now, it cannot be printed again. With --stdin the key is read from the first input line, and
only the entry is printed.`,
		Example: `  wield config key --name kitchen
  wield config key --name kitchen --stdin < kitchen.key`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			key := "wield-" + strings.ToLower(rand.Text())
			if stdin {
				line := bufio.NewScanner(app.Stdin)
				if !line.Scan() || line.Text() == "" {
					return cli.UsageErrorf("--stdin: the input holds no key")
				}
				key = line.Text()
			} else {
				fmt.Fprintf(app.Stdout, "# the key, for the client: %s\n", key)
			}
			_, err := fmt.Fprintf(app.Stdout, "keys:\n  - {name: %q, secret: \"sha256:%x\"}\n", name,
				sha256.Sum256([]byte(key)))
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "client", "`NAME` of the key, for the log")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the key instead of generating one")
	return cmd
}
