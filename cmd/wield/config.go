package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"wield/internal/cli"
	"wield/internal/config"
)

func newConfigCmd(app *cli.App) *cobra.Command {
	return cli.Group("config", "Check and explain the configuration",
		"Checks, explains and creates configuration files. Nothing is started.",
		`  wield config check
  wield config explain models.coder
  wield config schema > wield.schema.json`,
		newConfigCheckCmd(app), newConfigExplainCmd(app), newConfigImportCmd(app), newConfigKeyCmd(app),
		newConfigSchemaCmd(app))
}

func newConfigCheckCmd(app *cli.App) *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check the configuration",
		Long: `Reads the configuration as serve does, with environment variables, and reports all problems with
line and column. Without FILE it checks the default file, and .wield.yaml in the working directory
if it exists. A FILE named .wield.yaml is checked as a project file. Warnings are about keys without
effect and secrets that are not set.

Exit codes: 0 valid, 1 warnings with --strict, 2 problems.`,
		Example: `  wield config check
  wield config check --strict wield.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			warnings, err := checkFiles(app, args)
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			for _, w := range warnings {
				fmt.Fprintln(app.Stderr, w.String())
			}
			if strict && len(warnings) > 0 {
				return fmt.Errorf("%s", cli.Count(len(warnings), "warning"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "fail if there are warnings")
	return cmd
}

// checkFiles checks the file that args name, or those that there are, and says on the output what it has checked.
func checkFiles(app *cli.App, args []string) (config.Problems, error) {
	file := ""
	if len(args) > 0 {
		file = args[0]
	}
	var warnings config.Problems
	if filepath.Base(file) != config.ProjectFile {
		r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
		if err != nil {
			return nil, err
		}
		warnings = slices.Concat(r.Warnings, r.UnsetSecrets(app.Getenv), r.GuessableKeys(app.Getenv))
		fmt.Fprintf(app.Stdout, "%s: ok: %s, %s, %s\n", cmp.Or(r.File, "no file: the defaults"),
			cli.Count(len(r.Backends), "backend"), cli.Count(len(r.Models), "model"), cli.Count(len(r.Keys), "key"))
	}
	project := file
	if len(args) == 0 {
		project = config.ProjectFile
	}
	if filepath.Base(project) != config.ProjectFile {
		return warnings, nil
	}
	p, more, err := config.LoadProject(project)
	if len(args) == 0 && errors.Is(err, fs.ErrNotExist) {
		return warnings, nil
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(app.Stdout, "%s: ok: %s denied, %s asked about, %s disabled\n", project,
		cli.Count(len(p.Deny), "selector"), cli.Count(len(p.Ask), "selector"), cli.Count(len(p.Tools.Disable), "tool"))
	return append(warnings, more...), nil
}

func newConfigSchemaCmd(app *cli.App) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Long: `Prints the JSON Schema (2020-12) of the configuration file, for completion and documentation in
editors. With the YAML language server, add this line at the top of the file:

  # yaml-language-server: $schema=wield.schema.json`,
		Example: `  wield config schema > wield.schema.json
  wield config schema --project`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			schema := config.Schema
			if project {
				schema = config.ProjectSchema
			}
			text, err := schema()
			if err != nil {
				return err
			}
			_, err = app.Stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "print the schema of a project file, "+config.ProjectFile)
	return cmd
}
