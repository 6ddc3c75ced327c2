package mcp

import (
	"context"
	"fmt"
	"iter"

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
		o.Prompts, err = gather(c.Prompts(ctx, nil))
		note("prompts")
	}
	if s.o.Resources && has.Resources != nil {
		o.Resources, err = gather(c.Resources(ctx, nil))
		note("resources")
		o.Templates, err = gather(c.ResourceTemplates(ctx, nil))
		note("templates of resources")
	}
	return o, problems
}

// gather returns the first of a list that may have no end.
func gather[T any](all iter.Seq2[T, error]) (list []T, err error) {
	for one, err := range all {
		if err != nil {
			return list, err
		}
		if list = append(list, one); len(list) == maxOthers {
			break
		}
	}
	return list, nil
}
