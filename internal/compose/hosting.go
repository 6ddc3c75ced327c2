package compose

import (
	"fmt"
	"slices"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/servertools"
	"wield/model/toolsearch"
)

// hosting returns a model with the tools that wield runs during its answers: server tools, and the search among many.
func (w *builder) hosting(model chat.Model, name string) (chat.Model, error) {
	m := w.config.Models[name]
	model, err := w.servingTools(model, name, &m)
	if err != nil {
		return nil, fmt.Errorf("models.%s.server_tools: %w", name, err)
	}
	return toolsearch.New(model, toolsearch.Options{
		Above: m.ToolSearch, Protocol: config.Kinds[w.config.Backends[m.Backend].Kind].Speaks, Log: w.env.Log,
	}), nil
}

// servingTools returns a model for which wield carries out server tools, if any are configured. Searches and pages are
// allowed by being named, unless there are policies; code always needs a policy.
func (w *builder) servingTools(model chat.Model, name string, m *config.Model) (chat.Model, error) {
	t := &m.ServerTools
	if len(t.Names()) == 0 || w.box == nil {
		return model, nil
	}
	allowed := slices.DeleteFunc([]string{t.WebSearch, t.WebFetch}, func(n string) bool {
		return n == "" || n == t.CodeExecution
	})
	runner, err := w.runner(m, w.pickNames("models."+name+".server_tools", t.Names()), allowed)
	if err != nil {
		return nil, err
	}
	tools := map[servertools.Kind]string{
		servertools.WebSearch:     t.WebSearch,
		servertools.WebFetch:      t.WebFetch,
		servertools.CodeExecution: t.CodeExecution,
	}
	return servertools.New(model, servertools.Options{Tools: tools, Runner: runner, Log: w.env.Log}), nil
}
