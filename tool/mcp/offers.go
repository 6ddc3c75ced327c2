package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Offers lists what a server has beside tools.
type Offers struct {
	Prompts   []*sdk.Prompt
	Resources []*sdk.Resource
	Templates []*sdk.ResourceTemplate
	Completes bool // it completes arguments
}

// Offers returns what the server said last that it has beside tools, without asking it.
func (s *Server) Offers() Offers {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offers
}

// others asks for prompts and resources, as far as they are wanted. What cannot be had is a problem, and the tools
// work.
func (s *Server) others(ctx context.Context, c *sdk.ClientSession) (o Offers, problems []error) {
	r := c.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return o, nil
	}
	has := r.Capabilities
	o.Completes = has.Completions != nil
	var err error
	note := func(what string) {
		if err != nil {
			problems = append(problems, &ServerError{s.o.Name, fmt.Errorf("listing its %s: %w", what, err)})
		}
	}
	if s.o.Prompts && has.Prompts != nil {
		o.Prompts, err = gather(func(at string) ([]*sdk.Prompt, string, error) {
			p, err := c.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: at})
			if err != nil {
				return nil, "", err
			}
			return p.Prompts, p.NextCursor, nil
		})
		note("prompts")
	}
	if s.o.Resources && has.Resources != nil {
		o.Resources, err = gather(func(at string) ([]*sdk.Resource, string, error) {
			p, err := c.ListResources(ctx, &sdk.ListResourcesParams{Cursor: at})
			if err != nil {
				return nil, "", err
			}
			return p.Resources, p.NextCursor, nil
		})
		note("resources")
		o.Templates, err = gather(func(at string) ([]*sdk.ResourceTemplate, string, error) {
			p, err := c.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: at})
			if err != nil {
				return nil, "", err
			}
			return p.ResourceTemplates, p.NextCursor, nil
		})
		note("templates of resources")
	}
	return o, problems
}

// gather returns the first of a list that may have no end. page returns a part of it, and where the next one begins.
func gather[T any](page func(cursor string) ([]T, string, error)) (list []T, err error) {
	cursor := ""
	for range maxPages {
		part, next, err := page(cursor)
		if list = append(list, part...); err != nil || next == "" || len(list) >= maxOthers {
			return list[:min(len(list), maxOthers)], err
		}
		cursor = next
	}
	return list, fmt.Errorf("the list has more than %d pages", maxPages)
}
