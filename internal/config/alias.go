package config

import (
	"context"
	"iter"

	"wield/chat"
)

// CustomTools are keys of lumo-tamer's configuration that have another name here.
type CustomTools struct {
	Enabled *bool   `key:"enabled" doc:"The same as calls.enabled."`
	Prefix  *string `key:"prefix" doc:"The same as calls.prefix."`
}

// adopt takes what is said under other names to where it belongs. Said under both it must be the same.
func (m *Model) adopt(d *decoder, path string) {
	t := &m.CustomTools
	if t.Enabled != nil {
		if d.has(path+".calls.enabled") && *t.Enabled != m.Calls.Enabled {
			d.at(path+".customTools.enabled", "%v, but calls.enabled, which is the same key, is %v", *t.Enabled, m.Calls.Enabled)
		}
		m.Calls.Enabled = *t.Enabled
	}
	if t.Prefix != nil {
		if d.has(path+".calls.prefix") && *t.Prefix != m.Calls.Prefix {
			d.at(path+".customTools.prefix", "%q, but calls.prefix, which is the same key, is %q", *t.Prefix, m.Calls.Prefix)
		}
		m.Calls.Prefix = *t.Prefix
	}
}

// quiet is a model whose reasoning nobody sees.
type quiet struct{ chat.Model }

func (q quiet) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		q.Model.Stream(ctx, req)(func(e chat.Event, err error) bool {
			return err == nil && e.Kind == chat.KindReasoning || yield(e, err)
		})
	}
}
