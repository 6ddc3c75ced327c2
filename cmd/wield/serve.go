package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wield/internal/api"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/mask"
	"wield/internal/metrics"
	"wield/internal/script"
	"wield/internal/web"
)

// serveFlags are the flags of wield serve.
type serveFlags struct {
	listen   string
	file     string
	upstream config.Upstream
	scenario string
	log      cli.LogFlags
}

func newServeCmd(app *cli.App) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve models with tools over HTTP, and the web page",
		Long: `Starts the gateway and its web page. Clients use the OpenAI, Anthropic, Ollama or Gemini protocol;
those that send tools get tool calls, whatever the model writes.

Models come from the configuration file, or from --upstream and --model. If the configuration has no
models, it serves the scripted model demo; without a configuration file also demo-agent, which runs
tools in its own directory and asks before changes. If a server rejects or ignores tools, use --mode text: wield describes the tools in the
prompt.

serve prints its address, a login link for the page, and commands to try. It logs to standard error.
SIGINT or SIGTERM: graceful shutdown (timeouts.drain). SIGHUP or a changed configuration file:
reload; an invalid file changes nothing.`,
		Example: `  wield serve
  wield serve --upstream http://127.0.0.1:11434/v1 --model qwen2.5-coder:14b
  wield serve --upstream http://127.0.0.1:11434/v1 --model gemma3:4b --mode text --dialect tool-call-tag
  wield serve --upstream https://api.example/v1 --upstream-key env:EXAMPLE_KEY --model gpt-4o-mini
  wield serve --scenario my.scenario.yaml       # demo answers from this file
  wield serve --scenario scenarios/             # a model for each scenario in the directory`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return serve(cmd.Context(), app, &f, cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "`HOST:PORT` to listen on; port 0: any free port (default 127.0.0.1:8420)")
	flags.StringVar(&f.file, "config", "", "configuration `FILE`")
	flags.StringVar(&f.upstream.URL, "upstream", "", "base `URL` of an OpenAI-compatible server")
	flags.StringVar(&f.upstream.Key, "upstream-key", "", "key of that server: `REF` is env:NAME or file:PATH")
	flags.StringVar(&f.upstream.Model, "model", "", "`NAME` of the model at that server, and for clients")
	flags.StringVar(&f.upstream.Mode, "mode", "", "`MODE` of tool calls: text, native, template or auto (default auto)")
	flags.StringVar(&f.upstream.Dialect, "dialect", "", "`NAME` of the tool-call format to ask for (default auto)")
	flags.StringVar(&f.upstream.Profile, "profile", "", "`NAME` of a profile (default auto: by model name)")
	flags.StringVar(&f.scenario, "scenario", "",
		"scenario `FILE` or catalogue name for demo, or directory with a model per file")
	f.log.Add(cmd, app)
	return cmd
}

func serve(ctx context.Context, app *cli.App, f *serveFlags, cmd *cobra.Command) error {
	log, err := f.log.Logger(app.Stderr)
	if err != nil {
		return err
	}
	lines := new(api.Log)
	log = slog.New(mask.Handler(lines.Handler(log.Handler()), app.Hidden))
	o := config.Options{File: f.file, Getenv: app.Getenv, Upstream: f.upstream}
	if cmd.Flags().Changed("listen") {
		o.Flags = append(o.Flags, config.Flag{Name: "--listen", Path: "listen", Value: f.listen})
	}
	s := site{app: app, again: make(chan again), lines: lines, options: o, scenario: f.scenario,
		environment: compose.Environment{
			Getenv:    app.Getenv,
			Templates: true,
			Self:      app.Self,
			Log:       log,
			Catalogue: script.Catalogue(app.Getenv("WIELD_CATALOGUE")),
			Metrics:   metrics.New(cli.ThisBuild().Version),
		}}
	defer s.close()
	c, err := s.build(ctx)
	if err != nil {
		return err
	}
	certificate, err := c.TLS.Server(log)
	if err != nil {
		return err
	}
	l, err := cli.Listen(ctx, string(c.Listen))
	if err != nil {
		return err
	}
	address := l.Addr()
	if certificate != nil {
		l = tls.NewListener(l, certificate)
	}
	var g *gateway.Gateway
	s.tell(func(o gateway.Options) { g = gateway.New(o) })
	s.gateway.Store(g)
	ctx = leaving(ctx, g, time.Duration(c.Timeouts.Leave))
	defer context.AfterFunc(ctx, s.api.Close)() // its streams do not hold the end up
	base := baseURL(address, c.Config)
	s.environment.Hub.SetAddress(base + pageOfApproval)
	// From the first line on somebody may rely on it that signals are heard, that changes are seen and that
	// others are told.
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	if err := s.sender.Begin(ctx); err != nil && ctx.Err() == nil {
		log.Error("early events may not reach webhooks", "error", err)
	}
	printWelcome(app.Stdout, address, base, c, s.key, s.api.Token)
	for _, name := range c.ModelNames() {
		if p := c.ProfileOf(name); p.Name != "" {
			log.Debug("profile", "model", name, "profile", p.Name, "dialects", strings.Join(p.Dialects, ","))
		}
	}
	log.Info("serving", "address", address.String(), "models", strings.Join(c.ModelNames(), ","), "config", c.File)
	following, leave := context.WithCancel(ctx)
	followed := s.follow(following, g, hangUp)
	if err := s.environment.Hub.Recover(ctx); err != nil {
		log.Error("cannot resume runs of an earlier process", "error", err)
	}
	g.Recover(ctx)
	if err := s.hearOthers(); err != nil {
		log.Error("cannot answer requests of other services", "error", err)
	}
	keys := s.tellKeys(following, g)
	told := s.tellOthers(following)
	asked := s.watchJournal(following, c.Config, g)
	counted := s.keepCount(following)
	offered := s.followMCP(following)
	drained := s.drainAfter(following, time.Duration(c.Timeouts.Drain))
	err = g.Serve(ctx, l, time.Duration(c.Timeouts.Drain))
	leave()
	<-followed
	<-drained
	<-told
	<-keys
	<-asked
	<-counted
	<-offered
	if err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// leaving returns a context that ends some time after ctx does. Meanwhile whoever distributes requests is told.
func leaving(ctx context.Context, g *gateway.Gateway, before time.Duration) context.Context {
	if before <= 0 {
		return ctx
	}
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		g.Leave()
		time.AfterFunc(before, end)
	})
	return later
}

// addScenarios adds the scripted models: what --scenario names, or those of the demo if there is no other model.
func (s *site) addScenarios(c *config.Result) error {
	scenario := s.scenario
	if scenario == "" {
		if len(c.Models) == 0 {
			s.addDemo(c)
		}
		return nil
	}
	info, err := os.Stat(scenario)
	if _, missing := fs.Stat(s.environment.Catalogue, scenario+script.Suffix); err != nil && missing != nil {
		return fmt.Errorf("--scenario: %w; wield demo --list shows the built-in ones", err)
	}
	if err != nil || !info.IsDir() {
		c.AddScripted(cli.DemoModel, scenario)
		return nil
	}
	return c.AddScenarios(scenario)
}

// pageOfApproval is where the page shows an approval, whose id follows.
const pageOfApproval = web.Root + "#/approvals/"

// baseURL returns the address by which this machine reaches the service.
func baseURL(addr net.Addr, c *config.Config) string {
	if c.TLS.Cert != "" {
		return "https://" + dialable(addr)
	}
	return "http://" + dialable(addr)
}

// printWelcome says where the service is and how to try it. Where only this machine reaches it, the address
// of the page lets whoever reads it in, once: token makes what does.
func printWelcome(w io.Writer, addr net.Addr, base string, c *config.Result, made string, token func() string) {
	page := base + "/"
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		page = base + api.Prefix + "/login?token=" + token()
	}
	names := c.ModelNames()
	if len(names) == 0 {
		return
	}
	name := names[0]
	scripted := func(name string) bool { return c.Backends[c.Models[name].Backend].Kind == "script" }
	if i := slices.IndexFunc(names, scripted); i >= 0 { // it answers wherever it is tried
		name = names[i]
	}
	fmt.Fprintf(w, "wield listens on %s\n", base)
	if others := elsewhere(addr, base); len(others) > 0 {
		fmt.Fprintf(w, "from other machines: %s\n", strings.Join(others, ", "))
	}
	fmt.Fprintf(w, "page: %s\n", page)
	fmt.Fprintf(w, "models: %s\n", strings.Join(names, ", "))
	if c.Demo {
		fmt.Fprintln(w,
			"  (scripted; connect your own model with the page, wield init, or --upstream URL --model NAME)")
	}
	if made != "" {
		fmt.Fprintf(w,
			"key: %s\n  (export WIELD_KEY=KEY; needed for models whose tools wield runs; "+
				"valid until restart, or set keys in the configuration)\n", made)
	}
	auth, key := "", "any"
	if m := c.Models[name]; len(c.Keys) > 0 || made != "" && m.NeedsKey() {
		auth, key = " \\\n  -H \"Authorization: Bearer $WIELD_KEY\"", "$WIELD_KEY"
	}
	hint := ""
	if !c.Demo {
		hint = "If a small model answers in words, add \"tool_choice\": \"required\".\n\n"
	}
	fmt.Fprintf(w, `
Try it:

curl -s %[1]s/v1/chat/completions -H 'Content-Type: application/json'%[3]s -d '{
  "model": "%[2]s",
  "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
  "tools": [{"type": "function", "function": {"name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
}'

%[5]sAny OpenAI client:

OPENAI_BASE_URL=%[1]s/v1 OPENAI_API_KEY=%[4]s
new OpenAI({baseURL: "%[1]s/v1", apiKey: "..."})       // JavaScript
OpenAI(base_url="%[1]s/v1", api_key="...")            # Python

Any Anthropic client, such as Claude Code:

ANTHROPIC_BASE_URL=%[1]s ANTHROPIC_API_KEY=%[4]s claude --model %[2]s
new Anthropic({baseURL: "%[1]s", apiKey: "..."})       // JavaScript

`, base, name, auth, key, hint)
}

// elsewhere returns the addresses by which other machines reach a listener that listens on all addresses of this one.
func elsewhere(addr net.Addr, base string) []string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return nil
	}
	scheme, _, _ := strings.Cut(base, "://")
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []string
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && (n.IP.To4() != nil || tcp.IP.To4() == nil) {
			list = append(list, scheme+"://"+net.JoinHostPort(n.IP.String(), strconv.Itoa(tcp.Port)))
		}
	}
	return list
}

// dialable returns an address by which this machine reaches a listener, which may listen on all of its addresses.
func dialable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return addr.String()
	}
	if tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return tcp.String()
}
