package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/config"
)

func newConfigExplainCmd(app *cli.App) *cobra.Command {
	var file string
	var set, asJSON bool
	cmd := &cobra.Command{
		Use:   "explain [KEY...]",
		Short: "Print every effective value and its origin",
		Long: `Prints the effective value of every key and its origin: default, file with line and column, or
environment variable. With KEY it prints only that key and those below it. Secrets are printed as
references. What auto means for a model is printed in brackets.`,
		Example: `  wield config explain
  wield config explain models.coder timeouts
  wield config explain --set`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			all := r.Explain()
			for _, key := range args {
				if len(below(all, []string{key})) == 0 {
					return cli.UsageErrorf("there is no key %s; wield config explain shows them all", key)
				}
			}
			return printExplained(app, below(all, args), set, asJSON)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE`")
	cmd.Flags().BoolVar(&set, "set", false, "omit keys with their default value")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per key")
	return cmd
}

// below returns the keys that are one of those given, or stand below one. None given: all.
func below(all []config.Explained, keys []string) []config.Explained {
	if len(keys) == 0 {
		return all
	}
	var found []config.Explained
	for _, x := range all {
		for _, key := range keys {
			if rest, ok := strings.CutPrefix(x.Path, strings.TrimSuffix(key, ".")); ok &&
				(rest == "" || rest[0] == '.' || rest[0] == '[') {
				found = append(found, x)
				break
			}
		}
	}
	return found
}

func printExplained(app *cli.App, list []config.Explained, set, asJSON bool) error {
	for _, x := range list {
		if set && x.Layer == "default" {
			continue
		}
		if asJSON {
			if err := json.NewEncoder(app.Stdout).Encode(x); err != nil {
				return err
			}
			continue
		}
		value := x.Value
		if value == "" {
			value = `""`
		}
		if strings.Contains(value, "\n") {
			value = fmt.Sprintf("%q", value)
		}
		if x.Note != "" {
			value += " (" + x.Note + ")"
		}
		from := x.Layer
		if x.From != "" {
			from = x.From
		}
		if _, err := fmt.Fprintf(app.Stdout, "%s = %s  # %s\n", x.Path, value, from); err != nil {
			return err
		}
	}
	return nil
}
