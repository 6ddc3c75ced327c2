package compose

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/lumo"
	"wield/model/exchange"
)

func lumoServer(b *config.Backend, o exchange.Options, key string) serverModel {
	return lumo.New(lumoOptions(b, o, key))
}

func lumoOptions(b *config.Backend, o exchange.Options, key string) lumo.Options {
	return lumo.Options{URL: o.URL, Key: key, Headers: o.Headers, Version: b.Lumo.Version,
		WebSearch: b.Lumo.EnableWebSearch, Tools: b.Lumo.Tools, Titles: b.Lumo.Titles, Connection: o.Connection}
}

// natives returns the model with the native tools that are left for it.
func natives(m *config.Model, b *config.Backend, served chat.Model) chat.Model {
	if b.Kind != "lumo" || len(m.Native.Off)+len(m.Native.Replace) == 0 {
		return served
	}
	o := lumoOptions(b, exchange.Options{}, "")
	left := slices.DeleteFunc(o.NativeTools(), func(name string) bool {
		return slices.Contains(m.Native.Off, name) || slices.Contains(m.Native.Replace, name)
	})
	list, _ := json.Marshal(left) // names always can be
	return withNatives{served, chat.Extra{Protocol: chat.ProtocolLumo, Key: lumo.ExtraTools, Value: list}}
}

// withNatives asks a model with native tools of its own.
type withNatives struct {
	model chat.Model
	tools chat.Extra
}

func (m withNatives) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	r := *req
	r.Extra = append(slices.Clone(req.Extra), m.tools)
	return m.model.Stream(ctx, &r)
}
