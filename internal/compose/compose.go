package compose

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/accesstoken"
	"wield/internal/capture"
	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/firstchoice"
	"wield/internal/gateway"
	"wield/internal/metrics"
	"wield/internal/module"
	"wield/internal/responsetemplate"
	"wield/internal/runs"
	"wield/internal/script"
	"wield/internal/stats"
	"wield/internal/stop"
	"wield/internal/trace"
	"wield/model/route"
	"wield/prompt"
	"wield/schema"
)

// An Environment holds what a running service has beside its configuration.
type Environment struct {
	Getenv     func(string) string // for secrets
	Log        *slog.Logger        // nil: none
	Catalogue  fs.FS               // scenarios that are named without a file; nil: those in the program
	Metrics    *metrics.Metrics    // counts what the models do; nil: nothing is counted
	Stats      *stats.Store        // counts it hour by hour; nil: nothing does
	Capture    *capture.Ring       // keeps exchanges; nil: nothing is kept
	Trace      *trace.Tracer       // sends spans; nil: none
	Backend    chat.Model          // answers in place of every backend; nil: those of the configuration do
	Templates  bool                // servers are asked for the chat templates of models whose names say nothing
	Candidates bool                // models tell of every place where a call could have begun
	Edits      bool                // blocks that are plainly edits are calls, whatever the dialect
	// carries on the runs of models with tools of wield's; nil: such models are served without them
	Hub     *runs.Hub
	File    string           // that the configuration was read from, so that no tool writes to it
	Self    string           // this program, see ToolEnvironment
	Cluster *cluster.Cluster // of workers; nil: none are taken
	// that this one takes the place of; nil: none. Backends that stay as they were are taken over
	Before *Service
}

// A Service is built from a configuration, ready to be served.
type Service struct {
	Gateway gateway.Options
	Agents  []runs.Agent // for the hub
	Plain   []runs.Agent // for the hub as well: models that wield runs no tools for, for conversations that it keeps
	Tools   *Toolbox     // that they use; nil: there are none
	mcp     *mcpFront    // nil: nothing is offered by MCP

	Tokens *accesstoken.Verifier // of access tokens for what is offered by MCP; nil: none are taken

	closers []func()
	servers map[string]*standing
}

// Close gives back the connections to servers that no request uses.
func (s *Service) Close() {
	for _, f := range s.closers {
		f()
	}
}

// New builds all models with what stands between them and a client, and says what the gateway serves.
// Secrets are looked up here, and scenarios are read; nothing is asked of a server yet. The error names the
// key that it comes from.
func New(c *config.Config, env Environment) (*Service, error) {
	w := newBuilder(c, env)
	keys, err := w.keys()
	if err != nil {
		return nil, err
	}
	o := gateway.Options{
		Keys:    keys,
		Hosts:   c.Hosts,
		MaxBody: int64(c.Limits.Body),
		Metrics: env.Metrics,
		Capture: env.Capture,
		Trace:   env.Trace,

		LogContent: c.Log.Content,
		Log:        w.env.Log,
	}
	for _, origin := range c.Origins {
		o.Origins = append(o.Origins, string(origin))
	}
	s := &Service{}
	if err := w.fill(s, o); err != nil {
		s.closers = w.closers
		s.Close()
		if w.box != nil {
			err = errors.Join(err, w.box.Close())
		}
		return nil, err
	}
	s.closers, s.servers, s.Tools = w.closers, w.servers, w.box
	return s, nil
}

// fill makes what a service serves.
func (w *builder) fill(s *Service, o gateway.Options) error {
	if err := w.openTools(); err != nil {
		return err
	}
	for _, name := range w.config.ModelNames() {
		m, err := w.model(name)
		if err != nil {
			return err
		}
		o.Models = append(o.Models, m)
	}
	s.Gateway = o
	if err := w.agents(s); err != nil {
		return err
	}
	s.Plain = w.plain(o.Models)
	return nil
}

// A builder holds what models share while they are built.
type builder struct {
	config   *config.Config
	env      Environment
	backends map[string]chat.Model // by name, for those that many models can use
	bridges  map[string]chat.Model // by the name of the model
	schemas  *schema.Cache
	decoders *dialect.Cache
	blocks   *prompt.Cache
	closers  []func()
	servers  map[string]*standing // by name
	box      *Toolbox             // of the tools that wield runs; nil: there are none
}

func newBuilder(c *config.Config, env Environment) *builder {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	if env.Catalogue == nil {
		env.Catalogue = script.Catalogue("")
	}
	return &builder{
		config:   c,
		env:      env,
		backends: map[string]chat.Model{},
		bridges:  map[string]chat.Model{},
		schemas:  &schema.Cache{},
		decoders: &dialect.Cache{},
		blocks:   &prompt.Cache{},
		servers:  map[string]*standing{},
	}
}

func (w *builder) keys() ([]gateway.Key, error) {
	var keys []gateway.Key
	for _, k := range w.config.Keys {
		hash, err := k.Secret.Hash(w.env.Getenv)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.Name, err)
		}
		key := gateway.Key{
			Name:       k.Name,
			Hash:       hash,
			Role:       gateway.Role(k.Role),
			RPM:        k.Limits.RPM,
			Concurrent: k.Limits.Concurrent,
		}
		for _, pattern := range k.Models {
			key.Models = append(key.Models, string(pattern))
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// model builds one model as clients see it.
func (w *builder) model(name string) (gateway.Model, error) {
	m := w.config.Models[name]
	if m.Runs() && w.env.Hub != nil {
		return w.finished(name, &m, w.env.Hub.Model(name))
	}
	served, err := w.bridge(name)
	if err != nil {
		return gateway.Model{}, err
	}
	if len(m.Fallback) > 0 {
		chain := []chat.Model{served}
		for _, next := range m.Fallback {
			b, err := w.bridge(next)
			if err != nil {
				return gateway.Model{}, err
			}
			chain = append(chain, b)
		}
		served = route.Fallback(chain...)
	}
	modules, err := w.modules(m.Agent.Modules)
	if err != nil {
		return gateway.Model{}, err
	}
	return w.finished(name, &m, module.New(served, module.Options{Modules: modules, Log: w.env.Log}))
}

// finished returns a model with what stands between it and its clients.
func (w *builder) finished(name string, m *config.Model, served chat.Model) (gateway.Model, error) {
	if !m.Reasoning {
		served = quiet{served}
	}
	if m.Commands.Enabled {
		served = gateway.Commands(served, gateway.CommandOptions{Name: name, WakeWord: m.Commands.WakeWord})
	}
	g := gateway.Model{Name: name, Match: m.Talk.Match, FromUser: m.Talk.FromUser,
		Model: w.env.Metrics.Front(name, served), Annotations: m.Native.Annotations, NoTools: !m.Calls.Enabled,
		NoImages: !m.Images, Thinking: m.Reasoning && w.config.ProfileOf(name).Thinking != dialect.Thinking{}}
	if !m.Runs() || w.env.Hub == nil { // what runs of agents do is counted by what they record
		g.Model = w.env.Stats.Model(name, AgentPrices(w.config, name), g.Model)
	}
	if s := w.servers[m.Backend]; s != nil {
		g.Relay, g.Backend, g.Upstream, g.Speaks = s.relay, m.Backend, m.Model,
			config.Kinds[w.config.Backends[m.Backend].Kind].Speaks
	}
	if g.NeedsKey = m.NeedsKey() && w.box != nil; m.Runs() && g.NeedsKey {
		g.Annotations = g.Annotations || m.Agent.Activity == string(runs.ActivityItems)
		if !m.Commands.Enabled { // a command is no task, and is over at once
			g.Lasting = lasting{answers: w.env.Hub.Answers(name), metrics: w.env.Metrics, name: name,
				quiet: !m.Reasoning}
		}
	}
	if m.Expose == "tool_request" {
		g.Expose = gateway.ExposeToolRequest
	}
	return g, nil
}

// bridge returns the bridge of one model, which is built once even if others fall back on it.
func (w *builder) bridge(name string) (chat.Model, error) {
	if b := w.bridges[name]; b != nil {
		return b, nil
	}
	m := w.config.Models[name]
	if m.Model == "" {
		m.Model = name
	}
	backend, err := w.backend(&m)
	if err != nil {
		return nil, err
	}
	o, err := w.bridgeOptions(&m, name)
	if err != nil {
		return nil, err
	}
	model, err := w.learner(backend, &m, o)
	if err != nil {
		return nil, err
	}
	if m.FirstChoice {
		model = firstchoice.New(model)
	}
	b, err := w.hosting(model, name)
	if err != nil {
		return nil, err
	}
	w.bridges[name] = b
	return b, nil
}

func (w *builder) bridgeOptions(m *config.Model, name string) (bridge.Options, error) {
	repair, ok := dialect.ParseRepair(m.Repair)
	if !ok {
		return bridge.Options{}, fmt.Errorf("models.%s.repair: no level %q", name, m.Repair)
	}
	o := bridge.Options{
		Mode: bridge.Mode(m.Mode),
		Decode: dialect.Options{
			Dialect: string(m.Dialect),
			Repair:  repair,
			Prefix:  m.Calls.Prefix,
			Trace:   w.env.Candidates,
			Edits:   w.env.Edits,
			Cache:   w.decoders,
		},
		Release:  bridge.Release(m.Release),
		Strict:   m.StrictFormat,
		Bounce:   bridge.BounceOptions{Off: m.Bounce.Max == 0 || len(m.Bounce.On) == 0, Max: m.Bounce.Max},
		MaxCalls: m.Calls.MaxPerTurn,
		Passive:  m.Expose == "tool_request",
		NoTools:  !m.Calls.Enabled,
		NamedIDs: m.Calls.IDs == "named",
		Schemas:  w.schemas,
		Log:      w.env.Log,
		Server: bridge.Server{
			Backend:    m.Backend,
			Protocol:   config.Kinds[w.config.Backends[m.Backend].Kind].Speaks,
			Probe:      m.Probe,
			Count:      w.counts(m),
			Stops:      w.stops(m),
			NoImages:   !m.Images,
			Constraint: w.hold(m),
		},
		Prompt: prompt.Options{
			Template:      m.Instructions.Template,
			ForTools:      m.Instructions.ForTools,
			ForToolBounce: m.Instructions.ForToolBounce,
			Fallback:      m.Instructions.Fallback,
			InjectInto:    prompt.Inject(m.Instructions.InjectInto),
			Cache:         w.blocks,
		},
	}
	for _, reason := range m.Bounce.On {
		o.Bounce.On = append(o.Bounce.On, chat.Reason(reason))
	}
	for i, r := range m.Instructions.ReplacePatterns {
		p, err := prompt.NewPattern(r.Pattern, r.Replacement)
		if err != nil {
			return o, fmt.Errorf("models.%s.instructions.replacePatterns[%d].pattern: %w", name, i, err)
		}
		o.Prompt.Replace = append(o.Prompt.Replace, p)
	}
	if err := w.readTemplate(m, name, &o); err != nil {
		return o, err
	}
	var err error
	if o.Template, err = w.chatTemplate(m, name); err != nil {
		return o, err
	}
	family := w.config.ProfileFor(m, m.Model)
	o.SetProfile(&family)
	return o, nil
}

// readTemplate completes the options with the response template that the model names.
func (w *builder) readTemplate(m *config.Model, name string, o *bridge.Options) error {
	if m.ResponseTemplate == "" || o.Passive {
		return nil
	}
	at := "models." + name + ".response_template"
	data, err := os.ReadFile(m.ResponseTemplate)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	imported, err := responsetemplate.Read("imported", data)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", at, m.ResponseTemplate, err)
	}
	imported.Apply(&o.Decode)
	return nil
}

// backend returns the model behind a bridge.
func (w *builder) backend(m *config.Model) (chat.Model, error) {
	if w.env.Backend != nil {
		return w.env.Backend, nil
	}
	b := w.config.Backends[m.Backend]
	if b.Kind == "script" {
		return w.scripted(&b, m)
	}
	if _, ok := config.Kinds[b.Kind]; !ok {
		return nil, fmt.Errorf("backends.%s.kind: kind %s is not built yet", m.Backend, b.Kind)
	}
	shared, err := w.server(&b, m.Backend)
	if err != nil {
		return nil, err
	}
	return natives(m, &b, renamed{shared, m.Model}), nil
}

// scripted returns the model that answers from a scenario: from the file that the backend names, or from that
// of the model's name in the directory or catalogue.
func (w *builder) scripted(b *config.Backend, m *config.Model) (chat.Model, error) {
	live, err := w.openScenario(b.Scenario, m.Model)
	if err != nil {
		return nil, fmt.Errorf("backends.%s.scenario: %w", m.Backend, err)
	}
	return w.counted(b, m.Backend, stop.New(live.Model(script.Options{Dialect: w.taught(m)}))), nil
}

// taught returns the dialect that a model is taught: what its scenario writes where that names none. A model behind
// tool_request is told to write nothing else.
func (w *builder) taught(m *config.Model) string {
	switch {
	case m.Expose == "tool_request":
		return "tool-request"
	case m.Dialect != "auto":
		return string(m.Dialect)
	}
	family := w.config.ProfileFor(m, m.Model)
	return family.Taught()
}

func (w *builder) openScenario(scenario, model string) (*script.Live, error) {
	if info, err := os.Stat(scenario); err == nil && info.IsDir() {
		return script.Open(filepath.Join(scenario, model+script.Suffix), w.env.Log)
	}
	return script.Find(w.env.Catalogue, scenario, w.env.Log)
}
