package parsing

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/cli"
	"wield/internal/responsetemplate"
)

func newDialectImportCmd(app *cli.App) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Convert a model's response template to a dialect",
		Long: `Converts the response_template of a tokenizer_config.json, or the template alone, to a dialect, and
checks that the dialect reads back what it writes, however it is split. Unsupported parts are errors
with their place.

Nothing is written. To use it, set models.NAME.response_template to the file.

Exit codes: 0 the dialect works, 1 it does not read what it writes, 2 the template cannot be read.`,
		Example: `  wield dialect import tokenizer_config.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return cli.UsageErrorf("%w", err)
			}
			m, err := responsetemplate.Read(name, data)
			if err != nil {
				return cli.UsageErrorf("%s: %w", args[0], err)
			}
			return checkImported(app.Stdout, args[0], m)
		},
	}
	cmd.Flags().StringVar(&name, "name", "imported", "the dialect's `NAME` in events and captures")
	return cmd
}

// checkImported runs the kit over what the dialect writes, and says what was imported.
func checkImported(w io.Writer, file string, m *responsetemplate.Imported) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if m.Thinking.Closer != "" {
		fmt.Fprintf(t, "reasoning\t%s .. %s\n", m.Thinking.Opener, m.Thinking.Closer)
	}
	for _, token := range m.Drop {
		fmt.Fprintf(t, "left out\t%s\n", token)
	}
	if m.Dialect == nil {
		fmt.Fprintf(t, "calls\tnone: the template has no tool_calls\n")
		return t.Flush()
	}
	text, err := readBack(m)
	if err != nil {
		return fmt.Errorf("dialect import: %w", err)
	}
	fmt.Fprintf(t, "calls\t%s\nin the configuration\tresponse_template: %s\n", m.Dialect.Class, file)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nTwo calls, read back however they are cut:\n\n%s\n", text)
	return err
}

// readBack writes two calls in the dialect and reads them, whole and in pieces.
func readBack(m *responsetemplate.Imported) (string, error) {
	calls := []chat.Call{{Name: "get_weather", Arguments: `{"city":"Ghent","days":3}`, Complete: true},
		{Name: "get_weather", Arguments: `{"city":"a \"b\" & c","days":0}`, Complete: true, Index: 1}}
	text, err := m.Dialect.AppendCalls(nil, calls)
	if err != nil {
		return "", err
	}
	sample := dialecttest.Case{ID: "import", Text: string(text),
		Tools: []dialecttest.Tool{{Type: "function", Function: dialecttest.Function{Name: "get_weather",
			Parameters: []byte(
				`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}}}`)}}}}
	o, err := sample.Options()
	if err != nil {
		return "", err
	}
	o.Only = true
	m.Apply(&o)
	read, err := dialect.Parse(string(text), o)
	if err != nil {
		return "", err
	}
	for i := range calls {
		if len(read.Calls) != len(calls) || read.Calls[i].Name != calls[i].Name ||
			read.Calls[i].Arguments != calls[i].Arguments {
			return "", fmt.Errorf("what the dialect writes is read otherwise: %q gives %d calls", text, len(read.Calls))
		}
	}
	return string(text), dialecttest.All(func() dialecttest.Decoder {
		d, _ := dialect.New(o) // the same options read the text above
		return d
	}, string(text))
}
