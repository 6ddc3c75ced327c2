package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/builtin/local"
	"wield/tool/dir"
)

// ToolNews names the tools that were added, changed or removed since the last look.
type ToolNews struct {
	Added, Changed, Removed []string
}

// Empty reports whether all is as it was.
func (n ToolNews) Empty() bool { return len(n.Added)+len(n.Changed)+len(n.Removed) == 0 }

// Refresh looks for tools that are new, have changed or are gone, and for what commands have changed since,
// and brings the registry in line. A call that is under way continues with the tool that it began with. What
// cannot be loaded stays as it was; the errors say what is wrong now.
func (t *Toolbox) Refresh(ctx context.Context) (ToolNews, []error) {
	t.loading.Lock()
	defer t.loading.Unlock()
	before := t.stamp
	state, err := t.readState()
	if err != nil {
		return ToolNews{}, []error{err}
	}
	news, errs := t.load(ctx, state)
	errs = append(errs, t.problems(state)...)
	if t.stamp != before {
		for _, name := range slices.Concat(slices.Sorted(maps.Keys(t.builtin)), slices.Sorted(maps.Keys(t.own))) {
			one := t.own[name]
			if one == nil {
				one = t.builtin[name]
			}
			if err := t.put(one, state); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return news, errs
}

// toolsEvery is the interval between checks for changed tools.
const toolsEvery = 2 * time.Second

// Follow refreshes the tools until ctx ends, and logs what it finds.
func (t *Toolbox) Follow(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(toolsEvery)
	defer tick.Stop()
	told := errors.Join(t.Problems...)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		news, errs := t.Refresh(ctx)
		if !news.Empty() {
			log.Info("tools changed", "added", news.Added, "changed", news.Changed, "removed", news.Removed)
		}
		now := errors.Join(errs...)
		if now != nil && ctx.Err() == nil && (told == nil || told.Error() != now.Error()) {
			log.Error("cannot load some tools", "error", now)
		}
		told = now
	}
}

// readState reads what commands have changed.
func (t *Toolbox) readState() (*ToolState, error) {
	if t.State == "" {
		return &ToolState{}, nil
	}
	stamp := ""
	if info, err := os.Stat(t.State); err == nil {
		stamp = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	state, err := LoadToolState(t.State, t.file)
	if err == nil {
		t.stamp = stamp
	}
	return state, err
}

// load brings what the sources find now into the registry.
func (t *Toolbox) load(ctx context.Context, state *ToolState) (ToolNews, []error) {
	now, order, errs := map[string]*tool.Tool{}, []string(nil), []error(nil)
	for _, source := range t.sources {
		tools, problems := source.Load(ctx)
		errs = append(errs, problems...)
		if servers, ok := source.(*mcpSource); ok {
			t.Registry.SetMissing(servers.missing())
		}
		for _, one := range tools {
			name := one.Name()
			switch other := now[name]; {
			case other != nil:
				errs = append(errs, fmt.Errorf("%s: the name %s is taken by %s", one.Source, name, other.Source))
				continue
			case t.builtin[name] != nil && t.builtin[name].Source != local.Source && !dir.IsLLF(one):
				errs = append(errs, fmt.Errorf("%s: the name %s is taken by a built-in tool", one.Source, name))
				continue
			}
			now[name], order = one, append(order, name)
		}
	}
	var news ToolNews
	for _, name := range slices.Sorted(maps.Keys(t.own)) {
		if now[name] == nil {
			t.remove(name, state)
			news.Removed = append(news.Removed, name)
		}
	}
	for _, name := range order {
		old := t.own[name]
		if old == now[name] {
			continue
		}
		if err := t.put(now[name], state); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", now[name].Source, err))
			if old == nil {
				continue
			}
			now[name] = old // it stays in force
		}
		if t.own[name] = now[name]; old == nil {
			news.Added = append(news.Added, name)
		} else if old != now[name] {
			news.Changed = append(news.Changed, name)
		}
	}
	return news, errs
}

// remove takes a tool away; the built-in one whose place it took comes back.
func (t *Toolbox) remove(name string, state *ToolState) {
	delete(t.own, name)
	if one := t.builtin[name]; one == nil || t.put(one, state) != nil {
		t.Registry.Remove(name)
	}
}

// put puts a tool into the registry as the configuration and the commands want it.
func (t *Toolbox) put(one *tool.Tool, state *ToolState) error {
	return t.Registry.Replace(t.wanted(one, state))
}

// wanted returns a tool as it is to be offered: as it comes, then what the configuration says, then what
// commands have changed.
func (t *Toolbox) wanted(one *tool.Tool, state *ToolState) *tool.Tool {
	name := one.Name()
	var w tool.Tool
	switch {
	case name == tool.ReadOutputName:
		w = *one
	case t.builtin[name] == one:
		w = *t.config.BuiltinTool(one)
	default:
		w = *own(t.config, t.whole(one))
	}
	if change, ok := state.Tools[name]; ok {
		change.apply(&w)
	}
	if t.config.Disabled(name) {
		w.State, w.States = tool.StateDisabled, nil
	}
	return &w
}

// whole returns a tool with a handler: an entry of a registry of LLF may be about a built-in one.
func (t *Toolbox) whole(one *tool.Tool) *tool.Tool {
	builtin := t.builtin[one.Name()]
	if one.Handler != nil || builtin == nil {
		return one
	}
	w := *builtin
	w.State, w.States, w.Guard, w.Style, w.Auto, w.Rules = one.State, one.States, one.Guard, one.Style, one.Auto,
		one.Rules
	return &w
}

// problems says what in the file of changes cannot be followed.
func (t *Toolbox) problems(state *ToolState) []error {
	var errs []error
	if len(state.lost) > 0 && t.file != "" {
		errs = append(errs,
			fmt.Errorf(
				"%s: what an earlier version kept there (of %s) names no configuration, and holds only without one; "+
					"repeat wield tool enable and the like for this one",
				t.State, strings.Join(state.lost, ", ")))
	}
	for _, name := range slices.Sorted(maps.Keys(state.Tools)) {
		c := state.Tools[name]
		if _, ok := tool.ParseState(c.State); !ok && c.State != "" {
			errs = append(errs, fmt.Errorf("%s: tool %s: no state %q", t.State, name, c.State))
		}
		if _, err := config.ParseToolTimeout(c.Timeout); err != nil && c.Timeout != "" {
			errs = append(errs, fmt.Errorf("%s: tool %s: %w", t.State, name, err))
		}
	}
	return errs
}

// apply makes of a tool what commands have made of it, as far as it can be that.
func (c ToolChange) apply(t *tool.Tool) {
	if s, ok := tool.ParseState(c.State); ok && s != tool.StateDefault &&
		(t.States == nil || slices.Contains(t.States, s)) {
		t.State = s
	}
	guard := tool.Guard{}
	if t.Guard != nil {
		guard = *t.Guard
	}
	if c.Mode != "" {
		guard.Mode = tool.Mode(c.Mode)
	}
	if d, err := config.ParseToolTimeout(c.Timeout); err == nil {
		guard.Timeout = d
	}
	if c.RequiresApproval != nil {
		guard.RequiresApproval = *c.RequiresApproval
	}
	guard.Whitelist = c.whitelist(guard.Whitelist)
	t.Guard = &guard
}
