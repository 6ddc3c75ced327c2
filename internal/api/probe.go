package api

import (
	"context"
	"time"
)

// A Reach says whether the server behind a model can be asked now.
type Reach struct {
	OK      bool   `json:"ok"`
	Message string `json:"message,omitempty" jsonschema:"why not"`
	Fix     string `json:"fix,omitempty" jsonschema:"what to do about it"`
}

// A Probe tries whether the server behind a model can be reached.
type Probe func(ctx context.Context, model string) error

// probeTime bounds a probe: who waits for it wants to write a message.
const probeTime = 2 * time.Second

// reachModel answers GET /models/{model}/reach. A model that nobody knows how to try is taken to be there.
func (x *exchange) reachModel() (any, error) {
	name := x.arg("model")
	known := false
	if x.s.o.Models != nil {
		for _, m := range x.s.o.Models() {
			known = known || m.Name == name && x.caller.sees(name)
		}
	}
	if !known {
		return nil, notFound("model", name)
	}
	if x.s.o.Probe == nil {
		return &Reach{OK: true}, nil
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), probeTime)
	defer cancel()
	if err := x.s.o.Probe(ctx, name); err != nil {
		return &Reach{Message: err.Error(), Fix: "start the server, or change its url under backends"}, nil
	}
	return &Reach{OK: true}, nil
}
