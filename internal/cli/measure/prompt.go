package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wield/agent"
	"wield/chat"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/script"
	"wield/wire/openai"
)

// promptFlags are the flags of wield prompt.
type promptFlags struct {
	file     string
	upstream config.Upstream
	required bool
	offline  bool
	timeout  time.Duration
	asJSON   bool
}

func NewPromptCmd(app *cli.App) *cobra.Command {
	return cli.Group("prompt", "Show what a model is told",
		"Shows the prompt that wield makes of a request: how tools are described, and how the response is constrained.",
		"  wield prompt show small\n  wield prompt show small request.json --required", newPromptShowCmd(app))
}

func newPromptShowCmd(app *cli.App) *cobra.Command {
	var f promptFlags
	cmd := &cobra.Command{
		Use:   "show [MODEL] [REQUEST]",
		Short: "Show the prompt of a request, with its tokens",
		Long: `Shows what wield sends to the backend for a request, and how many tokens the prompt has.

REQUEST is a file with a chat completions request (- for standard input); its model is ignored.
Without it, a request with one tool, get_weather, is shown. MODEL may be omitted if there is only
one.

The server counts the tokens: it is asked for a response of one token. With --offline nothing is
asked; the number is then an estimate, and chat templates and unsupported features are unknown.`,
		Example: `  wield prompt show small
  wield prompt show small request.json --required
  wield prompt show --offline --json coder request.json`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runPromptShow(cmd.Context(), app, &f, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.file, "config", "", "configuration `FILE`")
	fl.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	fl.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	fl.StringVar(&f.upstream.Model, "model", "", "`NAME` of the model at --upstream")
	fl.BoolVar(&f.required, "required", false, "require a call (tool_choice: required)")
	fl.BoolVar(&f.offline, "offline", false, "do not ask the server")
	fl.DurationVar(&f.timeout, "timeout", 2*time.Minute, "time limit for one request")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON, with the request as a chat completion")
	return cmd
}

// sampleRequest is shown if no request is named.
const sampleRequest = `{"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tools":[{"type":"function","function":{"name":"get_weather",
"description":"Weather of a city","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`

func runPromptShow(ctx context.Context, app *cli.App, f *promptFlags, args []string) error {
	c, err := app.Load(config.Options{File: f.file, Getenv: app.Getenv, Upstream: f.upstream})
	if err != nil {
		return err
	}
	name, file, err := promptArguments(c.Config, f, args)
	if err != nil {
		return err
	}
	req, err := readRequest(app.Stdin, file)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	if f.required {
		req.Choice.Mode = chat.ChoiceRequired
	}
	req.Model = name
	env := compose.Environment{Getenv: app.Getenv, Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE")),
		Templates: !f.offline}
	m, err := compose.NewAgentModel(c.Config, name, env)
	if err != nil {
		return cli.UsageErrorf("%w", err)
	}
	defer m.Close()
	p := shownPrompt{Model: name, Backend: c.Models[name].Backend}
	if f.offline {
		err = p.preview(m.Model, req)
		if err == nil && p.Mode == "text" {
			p.Dialect, err = taughtBy(c.Config, env, name)
		}
	} else {
		ctx, cancel := context.WithTimeout(ctx, f.timeout)
		defer cancel()
		err = p.ask(ctx, m.Model, req)
	}
	if err != nil {
		return fmt.Errorf("prompt show: %w", err)
	}
	if f.asJSON {
		return p.writeJSON(app.Stdout, compose.Constrain(c.Backends[p.Backend]))
	}
	return p.writeText(app.Stdout)
}

// promptArguments returns the model that is meant and the file of the request, "" for the sample.
func promptArguments(c *config.Config, f *promptFlags, args []string) (name, file string, err error) {
	names := c.ModelNames()
	switch {
	case f.upstream.Model != "":
		name = f.upstream.Model
	case len(args) > 0 && (len(names) != 1 || args[0] == names[0]):
		name, args = args[0], args[1:]
	case len(names) == 1:
		name = names[0]
	default:
		return "", "", cli.UsageErrorf("which model? The configuration has %s",
			cmp.Or(strings.Join(names, ", "), "none; for your own: --upstream URL --model NAME"))
	}
	if len(args) > 1 {
		return "", "", cli.UsageErrorf("the model is %s; name one REQUEST and nothing more", name)
	}
	if _, ok := c.Models[name]; !ok {
		return "", "", cli.UsageErrorf("no model %q is configured; there are %s", name, strings.Join(names, ", "))
	}
	return name, strings.Join(args, ""), nil
}

func readRequest(stdin io.Reader, file string) (*chat.Request, error) {
	body, err := []byte(sampleRequest), error(nil)
	switch file {
	case "":
	case "-":
		body, err = io.ReadAll(stdin)
	default:
		body, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) == nil && members != nil { // which has to name a model
		members["model"] = json.RawMessage(`"any"`)
		if body, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	req, err := openai.DecodeRequest(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(file, "the request"), err)
	}
	return req, nil
}

// A shownPrompt holds what a model is sent for a request.
type shownPrompt struct {
	Model   string          `json:"model"`
	Backend string          `json:"backend"`
	Mode    string          `json:"mode"`
	Dialect string          `json:"dialect,omitempty"` // in the modes text and template
	Tokens  int             `json:"tokens"`
	Counted bool            `json:"counted"` // by the server; else it is an estimate
	Notice  string          `json:"notice,omitempty"`
	Request json.RawMessage `json:"request"`

	sent *chat.Request
}

// preview fills in what would be sent as far as it is known without asking.
func (p *shownPrompt) preview(m chat.Model, req *chat.Request) error {
	known, ok := m.(chat.Previewer)
	if !ok {
		return fmt.Errorf("the model %s does not tell what it sends", p.Model)
	}
	sent, inText, err := known.Sent(req)
	if err != nil {
		return err
	}
	if sent == nil {
		return fmt.Errorf("the model %s does not tell what it sends; try without --offline", p.Model)
	}
	p.fill(sent, inText)
	return nil
}

// taughtBy returns the dialect in which the configuration has a model taught.
func taughtBy(c *config.Config, env compose.Environment, name string) (string, error) {
	_, o, done, err := compose.Behind(c, env, name)
	if err != nil {
		return "", err
	}
	done()
	o.Prompt.Dialect = cmp.Or(o.Prompt.Dialect, o.Decode.Dialect)
	return o.Prompt.Taught(), nil
}

// ask sends the request and fills in what was sent. What the first answer teaches, such as that the server drops tools,
// counts for a second one, which alone is counted then.
func (p *shownPrompt) ask(ctx context.Context, m chat.Model, req *chat.Request) error {
	short := *req
	short.MaxTokens, short.Stream = 1, false
	for range 2 {
		var sent *chat.Request
		requests, tokens := 0, 0
		for e, err := range m.Stream(ctx, &short) {
			if err != nil {
				return err
			}
			switch d := e.Detail.(type) {
			case *chat.TurnDetail:
				if e.Kind == chat.KindTurnStart {
					requests++
					sent, p.Dialect, p.Notice = d.Sent, d.Dialect, d.Notice
				}
			case *chat.Usage:
				tokens = d.In
			}
		}
		if sent == nil {
			return fmt.Errorf("the model %s does not tell what it sends", p.Model)
		}
		as := *sent
		as.MaxTokens, as.Stream = req.MaxTokens, req.Stream
		p.fill(&as, len(req.Tools) > 0 && len(as.Tools) == 0)
		if requests == 1 {
			if p.Counted = tokens > 0; p.Counted {
				p.Tokens = tokens
			}
			return nil
		}
	}
	return nil
}

func (p *shownPrompt) fill(sent *chat.Request, inText bool) {
	p.sent, p.Mode, p.Tokens = sent, "native", agent.EstimateTokens(sent.Messages, sent.Tools)
	switch {
	case sent.Prompt != "":
		p.Mode, p.Tokens = "template", agent.EstimateTokens([]chat.Message{{Parts: chat.Text(sent.Prompt)}}, nil)
	case inText:
		p.Mode = "text"
	}
}

func (p *shownPrompt) writeJSON(w io.Writer, constrain openai.Constrain) error {
	body, err := openai.AppendRequest(nil, p.sent, openai.RequestOptions{Stream: p.sent.Stream, Constrain: constrain})
	if err != nil {
		return err
	}
	p.Request = body
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(p)
}

func (p *shownPrompt) writeText(w io.Writer) error {
	var b strings.Builder
	p.writeFacts(&b)
	if p.sent.Prompt != "" {
		fmt.Fprintf(&b, "\n--- prompt\n%s\n", strings.TrimRight(p.sent.Prompt, "\n"))
		_, err := io.WriteString(w, b.String())
		return err
	}
	for _, t := range p.sent.Tools {
		fmt.Fprintf(&b, "\n--- tool %s, described by the server's chat template\n%s\n", t.Name, t.Parameters)
	}
	for i := range p.sent.Messages {
		m := &p.sent.Messages[i]
		fmt.Fprintf(&b, "\n--- %s\n%s\n", m.Role, strings.TrimRight(m.Text(), "\n"))
		for _, call := range m.Calls {
			fmt.Fprintf(&b, "call of %s: %s\n", call.Name, call.Arguments)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFacts writes the rows in front of the prompt.
func (p *shownPrompt) writeFacts(b *strings.Builder) {
	tokens := fmt.Sprintf("%d, counted by the server", p.Tokens)
	if !p.Counted {
		tokens = fmt.Sprintf("about %d, estimated", p.Tokens)
	}
	for _, row := range [][2]string{{"model", p.Model + " on " + p.Backend}, {"mode", p.Mode}, {"dialect", p.Dialect},
		{"notice", p.Notice}, {"tokens", tokens}, {"constrained", constrainedBy(p.sent.Format)},
		{"stops at", strings.Join(quotedAll(p.sent.Stop), " ")}} {
		if row[1] != "" {
			fmt.Fprintf(b, "%-13s%s\n", row[0], row[1])
		}
	}
}

// constrainedBy says in words what the server holds the answer to.
func constrainedBy(f *chat.Format) string {
	switch {
	case f == nil:
		return ""
	case f.Kind == chat.FormatGrammar:
		return "by a grammar of calls"
	case f.Kind == chat.FormatSchema:
		return "to the JSON Schema " + f.Name
	case f.Kind == chat.FormatJSON:
		return "to JSON"
	}
	return ""
}

func quotedAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return out
}
