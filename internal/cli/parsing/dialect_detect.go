package parsing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/chattemplate"
	"wield/internal/cli"
	"wield/internal/config"
	"wield/model/openai"
)

// detectFlags are the flags of wield dialect detect.
type detectFlags struct {
	url, key, model string
	timeout         time.Duration
	asJSON          bool
}

func newDialectDetectCmd(app *cli.App) *cobra.Command {
	var f detectFlags
	cmd := &cobra.Command{
		Use:   "detect [FILE]",
		Short: "Detect a model's dialect from its chat template",
		Long: `Renders conversations with a chat template and prints the dialect of its calls, and which message
sequences the template rejects or omits.

FILE is a template in Jinja or in Ollama's language, a tokenizer_config.json, a chat_template.json,
or - for standard input. With --upstream the server is asked (Ollama's /api/show, llama.cpp's
/props).

Exit codes: 0 a dialect was found, 1 no known dialect, 2 no readable template.`,
		Example: `  wield dialect detect tokenizer_config.json
  wield dialect detect --upstream http://127.0.0.1:11434/v1 --model qwen3:8b
  wield dialect detect --json chat_template.jinja`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runDetect(cmd.Context(), app, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.url, "upstream", "", "base `URL` of a server to ask for the template")
	fl.StringVar(&f.key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringVar(&f.model, "model", "", "`NAME` of the model at that server")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "time limit for one request")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

func runDetect(ctx context.Context, app *cli.App, f *detectFlags, args []string) error {
	data, err := templateSource(ctx, app, f, args)
	if err != nil {
		return err
	}
	t, err := chattemplate.Read(data)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	found, err := t.Inspect()
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if f.asJSON {
		enc := json.NewEncoder(app.Stdout)
		enc.SetEscapeHTML(false)
		err = enc.Encode(found)
	} else {
		err = printFound(app.Stdout, found)
	}
	if err == nil && found.Dialect == "" {
		return errors.New("dialect detect: the template teaches no dialect that is known")
	}
	return err
}

// templateSource returns what the command line names: a file, standard input, or a server's answer.
func templateSource(ctx context.Context, app *cli.App, f *detectFlags, args []string) ([]byte, error) {
	switch {
	case (len(args) == 1) == (f.url != ""):
		return nil, cli.UsageErrorf("name a FILE, or a server with --upstream")
	case f.url == "" && args[0] == "-":
		return io.ReadAll(app.Stdin)
	case f.url == "":
		data, err := os.ReadFile(args[0])
		if err != nil {
			return nil, cli.UsageErrorf("%w", err)
		}
		return data, nil
	}
	secret, err := config.ParseSecret(f.key)
	if err != nil {
		return nil, cli.UsageErrorf("--upstream-key: %w", err)
	}
	key, err := secret.Resolve(app.Getenv)
	if err != nil {
		return nil, cli.UsageErrorf("--upstream-key: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	data, err := openai.Template(ctx, openai.Options{URL: f.url, Key: key}, f.model)
	if err != nil {
		return nil, cli.UsageErrorf("%w", err)
	}
	return data, nil
}

func printFound(w io.Writer, found chattemplate.Found) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	switch found.By {
	case chattemplate.ByCall:
		fmt.Fprintf(t, "dialect\t%s\nseen in\ta call that the template writes\n", found.Dialect)
	case chattemplate.ByPrompt:
		fmt.Fprintf(t, "dialect\t%s\nseen in\twhat the template says about tools: %s\n", found.Dialect, found.Example)
	case chattemplate.ByParser:
		fmt.Fprintf(t, "dialect\t%s\nseen in\tthe parser that the server names: %s\n", found.Dialect, found.Example)
	default:
		fmt.Fprintf(t, "dialect\tnone that is known\n")
	}
	fmt.Fprintf(t, "rules\t%s\n", found.Rules)
	if found.Opens != "" {
		fmt.Fprintf(t, "the prompt ends with\t%s\n", found.Opens)
	}
	if found.Dialect != "" {
		fmt.Fprintf(t, "in the configuration\tdialect: %s\n", found.Dialect)
	}
	if err := t.Flush(); err != nil || found.By != chattemplate.ByCall {
		return err
	}
	_, err := fmt.Fprintf(w, "\nA call:\n\n%s\n", found.Example)
	return err
}
