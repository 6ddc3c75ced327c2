package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/worker"
	"wield/tool"
	"wield/tool/builtin/conversation"
	"wield/tool/mcp"
	"wield/tool/policy"
	"wield/tool/runner"
)

// workerTools finds the tools of workers, where the service takes any.
func workerTools(t *Toolbox, c *config.Config, env *ToolEnvironment) (toolSource, error) {
	t.Pins = Pins(c, env.Getenv)
	return &workerSource{box: t, cluster: env.Cluster, pools: c.WorkerPools(), edition: -1, began: time.Now(),
		tools: map[string]*tool.Tool{}, left: map[string]time.Time{}, held: map[string]bool{}}, nil
}

// A workerSource keeps the tools of pools. A tool stays for a while after its last worker has left, and those that were
// known at the start wait for theirs, so that a restart on either side takes no tool away from a run.
type workerSource struct {
	box     *Toolbox
	cluster *cluster.Cluster // nil: the service takes no workers
	pools   map[string]config.Pool
	began   time.Time

	mu       sync.Mutex
	edition  int // of what workers offer, when they were asked
	problems []error
	tools    map[string]*tool.Tool // by the name that models see
	hashes   map[string]string     // of their definitions
	left     map[string]time.Time  // when the last worker of a tool left
	held     map[string]bool       // pools of which a tool has changed
}

// toolStays is the time that a tool is offered after its last worker has left.
const toolStays = 30 * time.Second

// PoolPins is how a pool is known among the definitions that were agreed to. MCP servers have other names.
func PoolPins(pool string) string { return "workers " + pool }

// Load implements toolSource.
func (s *workerSource) Load(context.Context) ([]*tool.Tool, []error) {
	if s.cluster == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if edition := s.cluster.Edition(); edition != s.edition || len(s.held) > 0 || len(s.left) > 0 {
		s.edition = edition
		s.look(time.Now())
	}
	list := make([]*tool.Tool, 0, len(s.tools))
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		list = append(list, s.tools[name])
	}
	return list, s.problems
}

// look asks for what the workers offer now.
func (s *workerSource) look(now time.Time) {
	before, hashes := s.tools, s.hashes
	s.tools, s.hashes, s.problems, s.held = map[string]*tool.Tool{}, map[string]string{}, nil, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		p := s.pools[name]
		pool := cluster.Pool{Name: name, Keys: p.Keys, Labels: p.Labels}
		agreed, err := s.agreed(name, wantedOf(&p, s.cluster.Offers(&pool)))
		if err != nil {
			s.problems = append(s.problems, fmt.Errorf("pool %s: %w", name, err))
		}
		for i := range agreed {
			s.offer(pool, agreed[i], before, hashes)
		}
		if hashes == nil {
			for _, d := range s.kept(name, &p) {
				s.stay(s.cluster.Tool(pool, d), d.Hash(), s.began)
			}
		}
	}
	for name, t := range before {
		if s.tools[name] == nil {
			s.stay(t, hashes[name], now)
		}
	}
	for name, at := range s.left {
		if now.Sub(at) > toolStays {
			delete(s.left, name)
			delete(s.tools, name)
			delete(s.hashes, name)
		}
	}
}

// offer adds a tool; one whose definition has not changed is the same as before.
func (s *workerSource) offer(pool cluster.Pool, d cluster.Definition, before map[string]*tool.Tool,
	hashes map[string]string) {
	t := s.cluster.Tool(pool, d)
	name := t.Name()
	if len(name) > maxToolName {
		s.problems = append(s.problems,
			fmt.Errorf("pool %s: %s has a name of more than %d bytes with that of its pool", pool.Name,
				policy.Visible(d.Name), maxToolName))
		return
	}
	hash := d.Hash()
	if hashes[name] == hash {
		t = before[name]
	}
	s.tools[name], s.hashes[name] = t, hash
	delete(s.left, name)
}

// maxToolName is the longest name that all protocols accept.
const maxToolName = 64

// stay keeps a tool that no worker offers at the moment.
func (s *workerSource) stay(t *tool.Tool, hash string, since time.Time) {
	if s.tools[t.Name()] != nil {
		return
	}
	if s.left[t.Name()].IsZero() {
		s.left[t.Name()] = since
	}
	s.tools[t.Name()], s.hashes[t.Name()] = t, hash
}

// wantedOf returns the definitions of the tools that the configuration wants of a pool.
func wantedOf(p *config.Pool, defs []cluster.Definition) []cluster.Definition {
	if len(p.Allow) == 0 {
		return defs
	}
	return slices.DeleteFunc(defs, func(d cluster.Definition) bool { return !named(p.Allow, d.Name) })
}

// agreed returns one definition of each tool: that which was agreed to, or is the first. Workers that have another one
// are given no calls of it, and the problem says so.
func (s *workerSource) agreed(pool string, defs []cluster.Definition) (list []cluster.Definition, err error) {
	var problems []string
	seen := map[string]bool{}
	for _, d := range defs {
		held, err := s.box.Pins.Check(PoolPins(pool), []mcp.Definition{pinOf(&d)})
		if err != nil {
			return list, err
		}
		switch {
		case len(held) > 0:
			s.held[pool] = true
			problems = append(problems, fmt.Sprintf(
				"the definition of %s has changed since it was agreed to, and calls do not go to workers that have "+
					"it: "+
					"wield cluster show %s prints what has changed, wield cluster accept %s %s agrees to it", d.Name,
				pool, pool, d.Name))
		case seen[d.Name]:
			problems = append(problems, fmt.Sprintf(
				"workers have several definitions of %s; the one of the worker that has run for the longest time is "+
					"used", d.Name))
		default:
			seen[d.Name] = true
			list = append(list, d)
		}
	}
	if len(problems) > 0 {
		err = errors.New(strings.Join(problems, "; "))
	}
	return list, err
}

// kept returns the definitions of a pool that were agreed to.
func (s *workerSource) kept(pool string, p *config.Pool) (list []cluster.Definition) {
	pins, err := s.box.Pins.Agreed(PoolPins(pool))
	if err != nil && !os.IsNotExist(err) {
		s.problems = append(s.problems, err)
	}
	for _, d := range pins {
		one := cluster.Definition{Name: d.Name, Description: d.Description, Parameters: d.Input}
		if json.Unmarshal(d.Annotations, &one.Traits) == nil {
			list = append(list, one)
		}
	}
	return wantedOf(p, list)
}

// pinOf returns a definition as it is kept.
func pinOf(d *cluster.Definition) mcp.Definition {
	traits, err := json.Marshal(&d.Traits)
	if err != nil {
		panic(err) // they are numbers and flags
	}
	return mcp.Definition{Name: d.Name, Description: d.Description, Input: d.Parameters, Annotations: traits}
}

// A WorkerSide holds what wield worker offers.
type WorkerSide struct {
	Box     *Toolbox
	Options worker.Options // without who it is and whom it connects to
}

// OpenWorker makes the tools that a worker offers, with its own policy.
func OpenWorker(c *config.Config, env ToolEnvironment) (*WorkerSide, error) {
	box, err := OpenToolbox(c, env)
	if err != nil {
		return nil, err
	}
	tools := workerOffer{offeredTools{box: box, own: &runner.Registry{}, wanted: c.Worker.Tools, off: c.Disabled}}
	def, err := runPolicy(c, c.Worker.Policy, tools.Entries(), RunRules{},
		append([]string{env.File, box.State}, box.Dirs...)...)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	rules, err := policy.New(def)
	if err != nil {
		return nil, errors.Join(err, box.Close())
	}
	runner := box.Runner.With(func(s *runner.Settings) { s.Policy = rules })
	return &WorkerSide{Box: box, Options: worker.Options{Labels: c.Worker.Labels, Concurrent: c.Worker.Concurrent,
		Drain:  time.Duration(c.Timeouts.Drain),
		Runner: runner, Tools: tools, Asks: c.Worker.Approvals == "service"}}, nil
}

// workerOffer are the tools of a worker: none that look into conversations, which are the service's.
type workerOffer struct{ offeredTools }

// Lookup implements worker.Tools.
func (o workerOffer) Lookup(name string) (*runner.Entry, bool) {
	e, ok := o.offeredTools.Lookup(name)
	if !ok || e.Tool.Name() == tool.ReadOutputName || slices.ContainsFunc(conversation.Tools(),
		func(t *tool.Tool) bool { return t.Name() == e.Tool.Name() }) {
		return nil, false
	}
	return e, true
}

// Entries implements worker.Tools.
func (o workerOffer) Entries() []*runner.Entry {
	return slices.DeleteFunc(o.entries(), func(e *runner.Entry) bool { _, ok := o.Lookup(e.Tool.Name()); return !ok })
}
