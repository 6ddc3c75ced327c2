package tools

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"wield/internal/cli"
	"wield/internal/config"
	"wield/internal/mcpbundle"
	"wield/tool/policy"
)

// bundlesDir is the directory of unpacked bundles, in the data directory.
const bundlesDir = "bundles"

func newMCPInstallCmd(app *cli.App, file *string) *cobra.Command {
	var p placement
	var more serverFile
	var name string
	var set []string
	cmd := &cobra.Command{
		Use:   "install FILE.mcpb",
		Short: "Install an MCP bundle",
		Long: `Checks a bundle, unpacks it into the data directory, and writes NAME.mcp.yaml. What the bundle has its user
configure is set by --set, or asked for at a terminal; write secrets as env:NAME or file:PATH.

The program runs in the sandbox. It may read its own files, and files and directories that you set;
--read, --write and --net allow more.`,
		Example: `  wield mcp install notes.mcpb --set directory=/home/ada/notes --write /home/ada/notes
  wield mcp install tickets.mcpb --set token=env:TICKETS_TOKEN --net`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := mcpbundle.Open(args[0])
			if err != nil {
				return cli.UsageErrorf("%w", err)
			}
			defer b.Close()
			if name == "" {
				name = strings.Trim(notInName.ReplaceAllString(b.Name, "-"), "-")
			}
			fmt.Fprintln(app.Stderr, "wield:",
				policy.Visible(fmt.Sprintf("%s %s by %s: %s", b.Name, b.Release, b.Author.Name, b.Description)))
			r, err := app.Load(config.Options{File: *file, Getenv: app.Getenv})
			if err != nil {
				return err
			}
			dir, err := filepath.Abs(filepath.Join(r.Data, bundlesDir, name))
			if err != nil {
				return err
			}
			values, err := options(app, b, set)
			if err != nil {
				return err
			}
			setup, err := b.Setup(dir, home(app), values)
			if err != nil {
				return cli.UsageErrorf("%w", err)
			}
			f := more
			f.Command, f.Env = setup.Command, setup.Env
			f.Readable = append(append([]string{dir}, setup.Readable...), more.Readable...)
			made, err := f.file(name)
			if err != nil {
				return err
			}
			if p.dryRun {
				return p.write(app, *file, made)
			}
			return place(b, dir, func() error { return p.write(app, *file, made) })
		},
	}
	p.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&name, "name", "", "`NAME` of the server (default: the bundle's)")
	fl.StringArrayVar(&set, "set", nil, "value of an option of the bundle, as `OPTION=VALUE`; repeatable")
	fl.StringArrayVar(&more.Readable, "read", nil, "`PATH` that the program may read; repeatable")
	fl.StringArrayVar(&more.Writable, "write", nil, "`PATH` that the program may change; repeatable")
	fl.BoolVar(&more.Net, "net", false, "allow network access")
	return cmd
}

func home(app *cli.App) string {
	if runtime.GOOS == "windows" {
		return app.Getenv("USERPROFILE")
	}
	return app.Getenv("HOME")
}

// place unpacks a bundle, in place of the one that was there, once its server is written.
func place(b *mcpbundle.Bundle, dir string, write func() error) error {
	fresh := dir + ".new"
	err := os.RemoveAll(fresh)
	if err == nil {
		err = b.Unpack(fresh)
	}
	if err == nil {
		err = write()
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

// options returns what is set of a bundle's options, and asks for what is missing at a terminal.
func options(app *cli.App, b *mcpbundle.Bundle, set []string) (map[string][]string, error) {
	values := map[string][]string{}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, cli.UsageErrorf("--set is OPTION=VALUE, not %q", pair)
		}
		values[key] = append(values[key], value)
	}
	missing := b.Missing(values)
	if in, ok := app.Stdin.(*os.File); !ok || !term.IsTerminal(int(in.Fd())) {
		if len(missing) == 0 {
			return values, nil
		}
		var lines []string
		for _, key := range missing {
			lines = append(lines, fmt.Sprintf("  --set %s=VALUE  %s", key, about(b, key)))
		}
		return nil, cli.UsageErrorf("the bundle has to be configured:\n%s", strings.Join(lines, "\n"))
	}
	lines := bufio.NewScanner(app.Stdin)
	for _, key := range missing {
		fmt.Fprintf(app.Stderr, "%s\n%s: ", about(b, key), key)
		if !lines.Scan() {
			return nil, cli.UsageErrorf("%s is not set", key)
		}
		values[key] = []string{strings.TrimSpace(lines.Text())}
	}
	return values, nil
}

// about says what an option is.
func about(b *mcpbundle.Bundle, key string) string {
	o := b.Options[key]
	text := strings.TrimSuffix(o.Title, ".") + " (" + o.Type + ")"
	if o.Sensitive {
		text = strings.TrimSuffix(o.Title, ".") + " (a secret: env:NAME or file:PATH)"
	}
	if o.Description != "" {
		text += ": " + o.Description
	}
	return policy.Visible(text)
}
