package main

import (
	"wield/internal/api"
	"wield/internal/compose"
)

// settings tells what is configured, and where, of the configuration in force.
func (s *site) settings() api.Settings {
	_, c := s.inForce()
	if c == nil {
		return api.Settings{Items: []api.Setting{}, Keys: []api.Key{}}
	}
	out := compose.Settings(c)
	if len(c.Keys) == 0 {
		out.Keys = append(out.Keys, api.Key{Name: ownKey, Role: api.RoleAdmin, From: "made at the start"})
	}
	return out
}
