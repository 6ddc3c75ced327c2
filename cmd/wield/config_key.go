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
		Long: `Prints a new random key, and the entry for the configuration that lets its holder in. The entry holds the key's hash, so that
the key stands nowhere but with its holder: keep it now, it cannot be printed again. With --stdin the key is the first line of the
input, and only the entry is printed.`,
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
			_, err := fmt.Fprintf(app.Stdout, "keys:\n  - {name: %q, secret: \"sha256:%x\"}\n", name, sha256.Sum256([]byte(key)))
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", "client", "`NAME` of the holder, for the log")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the key instead of making one")
	return cmd
}
