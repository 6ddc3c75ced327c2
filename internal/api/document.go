package api

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"wield/schema"
)

// The parts of an OpenAPI document that the table has something for.
type (
	openAPI struct {
		OpenAPI    string                          `json:"openapi"`
		Info       info                            `json:"info"`
		Servers    []server                        `json:"servers"`
		Security   []map[string][]string           `json:"security"`
		Paths      map[string]map[string]operation `json:"paths"`
		Components components                      `json:"components"`
	}
	info struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	server struct {
		URL string `json:"url"`
	}
	operation struct {
		ID         string                 `json:"operationId"`
		Summary    string                 `json:"summary"`
		Security   *[]map[string][]string `json:"security,omitempty"`
		Roles      []Role                 `json:"x-roles,omitempty"`
		Parameters []parameter            `json:"parameters,omitempty"`
		Body       *body                  `json:"requestBody,omitempty"`
		Responses  map[string]response    `json:"responses"`
	}
	parameter struct {
		Name        string          `json:"name"`
		In          string          `json:"in"`
		Description string          `json:"description,omitempty"`
		Required    bool            `json:"required,omitempty"`
		Schema      json.RawMessage `json:"schema"`
	}
	body struct {
		Required bool               `json:"required"`
		Content  map[string]content `json:"content"`
	}
	response struct {
		Description string             `json:"description"`
		Content     map[string]content `json:"content,omitempty"`
	}
	content struct {
		Schema json.RawMessage `json:"schema,omitempty"`
	}
	components struct {
		Schemas  map[string]json.RawMessage `json:"schemas"`
		Security map[string]scheme          `json:"securitySchemes"`
	}
	scheme struct {
		Type   string `json:"type"`
		Scheme string `json:"scheme,omitempty"`
		In     string `json:"in,omitempty"`
		Name   string `json:"name,omitempty"`
	}
)

// document writes the OpenAPI document of routes.
func document(routes []route, version string) ([]byte, error) {
	d := openAPI{
		OpenAPI:  "3.1.0",
		Info:     info{"wield", cmp.Or(version, "dev")},
		Servers:  []server{{Prefix}},
		Security: []map[string][]string{{"key": {}}, {"cookie": {}}},
		Paths:    map[string]map[string]operation{},
		Components: components{Schemas: map[string]json.RawMessage{}, Security: map[string]scheme{
			"key":    {Type: "http", Scheme: "bearer"},
			"cookie": {Type: "apiKey", In: "cookie", Name: cookieName},
			"link":   {Type: "apiKey", In: "query", Name: "token"},
		}},
	}
	for i := range routes {
		r := &routes[i]
		o, err := d.operation(r)
		if err != nil {
			return nil, err
		}
		if d.Paths[r.path] == nil {
			d.Paths[r.path] = map[string]operation{}
		}
		d.Paths[r.path][strings.ToLower(r.method)] = o
	}
	return encode(&d)
}

// operation describes a route, and puts the types that it needs among the components.
func (d *openAPI) operation(r *route) (operation, error) {
	o := operation{ID: r.name, Summary: r.doc, Roles: r.may, Responses: map[string]response{}}
	switch {
	case r.open:
		o.Security = &[]map[string][]string{}
	case r.link:
		all := append(slices.Clone(d.Security), map[string][]string{"link": {}})
		o.Security = &all
	}
	for _, name := range r.names() {
		o.Parameters = append(o.Parameters, parameter{Name: name, In: "path", Description: "id", Required: true,
			Schema: json.RawMessage(`{"type":"string"}`)})
	}
	for i := range r.query {
		o.Parameters = append(o.Parameters, r.query[i].parameter())
	}
	if r.in != nil {
		ref, err := d.component(r.in)
		if err != nil {
			return o, err
		}
		o.Body = &body{Required: true, Content: map[string]content{"application/json": {ref}}}
	}
	good := response{Description: http.StatusText(r.status())}
	switch {
	case r.out != nil:
		ref, err := d.component(r.out)
		if err != nil {
			return o, err
		}
		good.Content = map[string]content{"application/json": {ref}}
	case r.media != "":
		good.Content = map[string]content{r.media: {}}
	}
	o.Responses[strconv.Itoa(r.status())] = good
	if r.none {
		o.Responses[strconv.Itoa(
			http.StatusNoContent)] = response{Description: "there is nothing more, and there will be nothing"}
	}
	return o, d.failures(r, &o)
}

// failures adds the errors that a route can answer with, by their statuses.
func (d *openAPI) failures(r *route, o *operation) error {
	ref, err := d.component(reflect.TypeFor[Failure]())
	if err != nil {
		return err
	}
	byStatus := map[int][]string{}
	for _, k := range r.kinds() {
		if s := statuses[k]; !slices.Contains(byStatus[s], string(k)) {
			byStatus[s] = append(byStatus[s], string(k))
		}
	}
	for s, kinds := range byStatus {
		o.Responses[strconv.Itoa(s)] = response{"error of kind " + strings.Join(kinds, " or "),
			map[string]content{"application/json": {ref}}}
	}
	return nil
}

// component returns a reference to the schema of a type.
func (d *openAPI) component(t reflect.Type) (json.RawMessage, error) {
	name := t.Name()
	if d.Components.Schemas[name] == nil {
		raw, err := schema.ForType(t, known)
		if err != nil {
			return nil, err
		}
		d.Components.Schemas[name] = raw
	}
	return json.Marshal(struct {
		Ref string `json:"$ref"`
	}{"#/components/schemas/" + name})
}

// parameter describes a parameter in the query.
func (p *param) parameter() parameter {
	s := json.RawMessage(`{"type":"string"}`)
	switch {
	case p.number:
		s = json.RawMessage(`{"type":"integer","minimum":` + strconv.FormatInt(p.min, 10) + `,"maximum":` +
			strconv.FormatInt(p.max, 10) + `}`)
	case len(p.words) > 0:
		s = words(p.words...)
	}
	return parameter{Name: p.name, In: "query", Description: p.doc, Schema: s}
}
