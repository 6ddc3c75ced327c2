package api

import (
	"context"
	"net/http"
)

// A Connection is a server of models and one model there, as a person types them in.
type Connection struct {
	URL      string `json:"url" jsonschema:"base address of the server, such as http://127.0.0.1:11434/v1"`
	Key      string `json:"key,omitempty" jsonschema:"the server's key; it is kept in a file that only its owner can read"`
	Variable string `json:"variable,omitempty" jsonschema:"name of the environment variable that holds the key, in place of the key"`
	Model    string `json:"model,omitempty" jsonschema:"name of the model at the server"`
	Keep     bool   `json:"keep,omitempty" jsonschema:"if the model answers, write it into the configuration and serve it"`
}

// A Connected holds the result of trying a connection.
type Connected struct {
	OK      bool     `json:"ok" jsonschema:"the model answers"`
	URL     string   `json:"url" jsonschema:"the address that was asked, which may be the one that was typed in with /v1 behind it"`
	Model   string   `json:"model,omitempty" jsonschema:"that was asked"`
	Models  []string `json:"models,omitempty" jsonschema:"those that the server lists"`
	Field   string   `json:"field,omitempty" jsonschema:"what is to be changed: url, key, variable or model"`
	Problem string   `json:"problem,omitempty" jsonschema:"what is wrong"`
	Fix     string   `json:"fix,omitempty" jsonschema:"what to do about it"`
	File    string   `json:"file,omitempty" jsonschema:"that the model was written into"`
}

// A FoundServer is a server of models on the machine of the service.
type FoundServer struct {
	Name   string   `json:"name"`
	URL    string   `json:"url"`
	Models []string `json:"models"`
}

// FoundServers are all that were found.
type FoundServers struct {
	Items []FoundServer `json:"items"`
}

// A Connector connects a service that has no model with its first one.
type Connector interface {
	// Wanted reports whether no model is configured.
	Wanted() bool
	// Find looks for servers of models on this machine.
	Find(ctx context.Context) []FoundServer
	// Connect tries a connection, and keeps it if that is wanted and it works. The error says why it cannot be kept.
	Connect(ctx context.Context, c Connection) (*Connected, error)
}

// connectRoutes returns the routes by which the first model is connected.
func connectRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/connect", name: "findServers",
			doc: "Look for servers of models on the machine of the service, while no model is configured.",
			may: onlyAdmin,
			out: of(FoundServers{}), fails: []Kind{KindConflict}, serve: (*exchange).findServers},
		{method: http.MethodPost, path: "/connect", name: "connectModel", doc: "Try a server and a model there, " +
			"while none is configured, and keep it in the configuration if that is asked for.", may: onlyAdmin,
			in: of(Connection{}), out: of(Connected{}), fails: []Kind{KindConflict}, serve: (*exchange).connectModel},
	}
}

// wantsModel reports whether no model is configured and the caller may connect one.
func (x *exchange) wantsModel() bool {
	return x.s.o.Connector != nil && x.caller.Role == RoleAdmin && x.s.o.Connector.Wanted()
}

// errConnected is the fault of connecting a first model where there is one.
func errConnected() error {
	return fault(KindConflict, "a model is configured already").
		with("add others under backends and models in the configuration")
}

// findServers answers GET /connect.
func (x *exchange) findServers() (any, error) {
	if !x.wantsModel() {
		return nil, errConnected()
	}
	found := x.s.o.Connector.Find(x.r.Context())
	if found == nil {
		found = []FoundServer{}
	}
	return &FoundServers{Items: found}, nil
}

// connectModel answers POST /connect.
func (x *exchange) connectModel() (any, error) {
	if !x.wantsModel() {
		return nil, errConnected()
	}
	out, err := x.s.o.Connector.Connect(x.r.Context(), *x.body.(*Connection))
	if err != nil {
		return nil, fault(KindConflict, "%s", err.Error())
	}
	return out, nil
}
