package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"wield/schema/near"
)

// RoleWorker is the role of keys that workers connect with.
const RoleWorker = "worker"

// Workers says which workers a service takes.
type Workers struct {
	Enabled bool            `key:"enabled" doc:"Accept workers at /api/worker; see wield worker."`
	Pools   map[string]Pool `key:"pools" doc:"Pools by name. Tools are called POOL__TOOL. Without any, each key of role worker is a pool of its name."`
}

// A Pool is workers that may stand for each other.
type Pool struct {
	Keys   []string          `key:"keys" doc:"Keys its workers connect with. Empty: any of role worker."`
	Labels map[string]string `key:"labels" doc:"Labels its workers must have. name, os and arch are always there."`
	Allow  []string          `key:"allow" doc:"Tools to use, by the workers' names; * is a wildcard. Empty: all."`
	Trust  []string          `key:"trust" doc:"Tools that run without approval if there are no policies; * is a wildcard."`
}

// Worker says what wield worker offers to a service.
type Worker struct {
	Connect    string            `key:"connect" doc:"Address of the service, such as https://wield.example."`
	Key        Secret            `key:"key" doc:"Key of role worker, as env:NAME or file:PATH."`
	Name       string            `key:"name" doc:"Name of this worker. Empty: the host name."`
	Labels     map[string]string `key:"labels" doc:"Labels, by which pools choose workers."`
	Tools      []string          `key:"tools" doc:"Tools to offer; * is a wildcard. Empty: all that are enabled."`
	Policy     string            `key:"policy" doc:"Policy that decides on calls here. Empty: default."`
	Approvals  string            `key:"approvals" enum:"service|refuse" doc:"Calls that this policy asks about: let the service ask a person, or refuse."`
	Concurrent int               `key:"concurrent" min:"1" max:"10000" doc:"Concurrent calls."`
}

func defaultWorker() Worker { return Worker{Approvals: "service", Concurrent: 4} }

// WorkerPools returns the pools by name: those that are configured, or one for each key of a worker.
func (c *Config) WorkerPools() map[string]Pool {
	if !c.Workers.Enabled || len(c.Workers.Pools) > 0 {
		return c.Workers.Pools
	}
	pools := map[string]Pool{}
	for _, name := range c.workerKeys() {
		pools[name] = Pool{Keys: []string{name}}
	}
	return pools
}

// PoolOf returns the pool whose tool would have a name; empty: none.
func (c *Config) PoolOf(tool string) string {
	for name := range c.WorkerPools() {
		if strings.HasPrefix(tool, name+"__") {
			return name
		}
	}
	return ""
}

// toolName returns the name that a tool of workers has here, which people also write as TOOL@POOL. Other names stay.
func toolName(text string) (string, error) {
	one, pool, ok := strings.Cut(text, "@")
	switch {
	case !ok:
		return text, nil
	case one == "" || pool == "" || strings.Contains(pool, "@"):
		return "", fmt.Errorf("%q: write a tool of workers as TOOL@POOL or POOL__TOOL", text)
	}
	return pool + "__" + one, nil
}

// checkOwn reports names of tools that have that of their pool, where workers' own names belong.
func checkOwn(d *decoder, path, pool string, names []string) {
	for i, name := range names {
		one, _, ok := strings.Cut(name, "@")
		if after, begins := strings.CutPrefix(name, pool+"__"); begins && pool != "" {
			one, ok = after, true
		}
		if ok {
			d.at(fmt.Sprintf("%s[%d]", path, i), "%q: write the worker's own name of the tool: %s", name, one)
		}
	}
}

func (c *Config) workerKeys() []string {
	var names []string
	for _, k := range c.Keys {
		if k.Role == RoleWorker {
			names = append(names, k.Name)
		}
	}
	return names
}

// check looks at what no key can tell by itself.
func (w *Workers) check(d *decoder, at string, c *Config) {
	keys := c.workerKeys()
	if w.Enabled && len(keys) == 0 {
		d.at(join(at, "enabled"), "workers need a key: add one with role: worker under keys")
	}
	if !w.Enabled {
		if pools := join(at, "pools"); d.has(pools) {
			d.warn(pools, "no effect without workers.enabled")
		}
		return
	}
	for name, p := range c.WorkerPools() {
		path := join(at, "pools."+name)
		if err := CheckMCPName(name); err != nil {
			d.at(path, "%q is no name for a pool: at most 32 letters and digits, with single - and _ between them "+
				"(without pools each key of a worker is one)", name)
		}
		if _, taken := c.MCP.Servers[name]; taken {
			d.at(path, "there is an MCP server %s: their tools would have the same names", name)
		}
		checkOwn(d, path+".allow", name, p.Allow)
		checkOwn(d, path+".trust", name, p.Trust)
		for i, key := range p.Keys {
			if !slices.Contains(keys, key) {
				d.at(fmt.Sprintf("%s.keys[%d]", path, i), "no key %q of role worker%s", key, near.Hint(key, keys))
			}
		}
	}
	c.checkPools(d)
}

// checkPools checks that the pools of the models exist.
func (c *Config) checkPools(d *decoder) {
	for _, name := range c.ModelNames() {
		for i, pool := range c.Models[name].Workers {
			if _, ok := c.WorkerPools()[pool]; !ok && pool != "*" {
				d.at(fmt.Sprintf("models.%s.workers[%d]", name, i), "no pool %q%s", pool,
					near.Hint(pool, slices.Sorted(maps.Keys(c.WorkerPools()))))
			}
		}
	}
}

func (w *Worker) check(d *decoder, at string, c *Config) {
	checkOwn(d, join(at, "tools"), "", w.Tools)
	if _, ok := c.Policies[w.Policy]; !ok && w.Policy != "" {
		d.at(join(at, "policy"), "no policy %q%s", w.Policy, near.Hint(w.Policy, slices.Sorted(maps.Keys(c.Policies))))
	}
	if w.Connect != "" && !strings.HasPrefix(w.Connect, "http://") && !strings.HasPrefix(w.Connect, "https://") {
		d.at(join(at, "connect"), "it begins with https:// or http://")
	}
}
