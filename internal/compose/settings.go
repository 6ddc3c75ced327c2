package compose

import (
	"wield/internal/api"
	"wield/internal/config"
)

// Settings tells what is configured, and where, for whoever looks at the service.
func Settings(r *config.Result) api.Settings {
	out := api.Settings{File: r.File, Items: []api.Setting{}, Keys: []api.Key{}}
	for _, x := range r.Explain() {
		out.Items = append(out.Items, api.Setting{Path: x.Path, Value: x.Value, Layer: x.Layer, From: x.From,
			Note: x.Note, About: x.Doc})
	}
	for _, k := range r.Keys {
		key := api.Key{Name: k.Name, Role: api.Role(k.Role), From: k.Secret.String()}
		for _, pattern := range k.Models {
			key.Models = append(key.Models, string(pattern))
		}
		out.Keys = append(out.Keys, key)
	}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return out
}
