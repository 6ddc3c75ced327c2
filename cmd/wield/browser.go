package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"wield/internal/browser"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
)

func newBrowserCmd(app *cli.App) *cobra.Command {
	return cli.Group("browser", "Log in to a model's web page",
		`A backend of kind browser is a model behind a web page. These commands manage the browser that shows it.`,
		`  wield browser login
  wield browser login page --config wield.yaml`,
		newBrowserLoginCmd(app))
}

func newBrowserLoginCmd(app *cli.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "login [BACKEND]",
		Short: "Open the page in a window, to log in",
		Long: `Opens the page of a browser backend in a window, with the profile directory from the configuration.
Log in there as usual. The command ends when the selector browser.login no longer matches, or when
you close the window. The profile keeps the login for the service.

Only one browser can use a profile: stop the service first if it has the page open.`,
		Example: `  wield browser login
  wield browser login page --config wield.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return runBrowserLogin(cmd.Context(), app, file, name)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "configuration `FILE`")
	return cmd
}

func runBrowserLogin(ctx context.Context, app *cli.App, file, name string) error {
	c, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
	if err != nil {
		return err
	}
	o, err := compose.LoginOptions(c.Config, name)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	fmt.Fprintf(app.Stderr, "Log in at %s in the window that opens. Close it when you are done.\n", o.URL)
	in, err := browser.Login(ctx, o)
	switch {
	case err != nil:
		return err
	case in:
		fmt.Fprintf(app.Stdout, "logged in; the profile is in %s\n", o.Browser.Profile)
	default:
		fmt.Fprintf(app.Stdout, "the window is closed; the profile is in %s\n", o.Browser.Profile)
	}
	return nil
}
