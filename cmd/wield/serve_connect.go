package main

import (
	"context"
	"errors"

	"wield/internal/api"
	"wield/internal/compose"
	"wield/internal/config"
)

// A connector connects a site that plays the demo with its first model.
type connector struct{ s *site }

// Wanted implements api.Connector.
func (c connector) Wanted() bool {
	_, told := c.s.inForce()
	return told != nil && told.Demo
}

// Find implements api.Connector.
func (c connector) Find(ctx context.Context) []api.FoundServer {
	var list []api.FoundServer
	for _, f := range compose.Discover(ctx) {
		list = append(list, api.FoundServer{Name: f.Name, URL: f.URL, Models: f.Models})
	}
	return list
}

// Connect implements api.Connector.
func (c connector) Connect(ctx context.Context, in api.Connection) (*api.Connected, error) {
	getenv := c.s.environment.Getenv
	out := compose.Try(ctx, in, getenv)
	if !out.OK || !in.Keep {
		return out, nil
	}
	_, told := c.s.inForce()
	file := told.File
	if file == "" {
		if file = config.DefaultFile(getenv); file == "" {
			return nil, errors.New(
				"there is no home directory to put the configuration into: start wield with --config FILE")
		}
	}
	in.URL, in.Model = out.URL, out.Model
	if err := compose.Keep(file, in, getenv); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	select {
	case c.s.again <- again{"page", done}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out.File = file
	return out, <-done
}
