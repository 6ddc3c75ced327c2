package config

// OpenAPISuffix is how the name of a file ends that holds one OpenAPITools, in a directory of tools.
const OpenAPISuffix = ".openapi.yaml"

// OpenAPITools are the tools that an OpenAPI document describes.
type OpenAPITools struct {
	Document   string                 `key:"document" required:"true" doc:"OpenAPI document, 3.0 or 3.1, JSON or YAML, relative to this file."`
	Server     URL                    `key:"server" doc:"Server address. Empty: the document's."`
	Prefix     string                 `key:"prefix" doc:"Prefix of tool names."`
	Tags       []string               `key:"tags" doc:"Only operations with these tags; * is a wildcard."`
	Operations []string               `key:"operations" doc:"Only operations with these ids or tool names; * is a wildcard."`
	Paths      []string               `key:"paths" doc:"Only operations on these paths; * is a wildcard."`
	Methods    []string               `key:"methods" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"Only operations with these methods."`
	Auth       map[string]OpenAPIAuth `key:"auth" doc:"Credentials, by security scheme."`
	Accept     []string               `key:"accept" doc:"Accepted content types. Empty: JSON, XML, YAML and text."`
	MaxBytes   Size                   `key:"max_bytes" min:"1B" max:"64MiB" doc:"Largest response that is read."`

	Enabled          bool     `key:"enabled" doc:"Offer it."`
	Auto             []string `key:"auto" doc:"Offer only if the user's message contains one of these words."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether tools may change anything; ro sends only GET and HEAD."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"Timeout of one call."`
	Cache            Duration `key:"cache" doc:"Reuse results of identical calls for this long; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls within this time share one run."`
	RequiresApproval bool     `key:"requires_approval" doc:"Ask a person before each call."`
}

// OpenAPIAuth answers one security scheme.
type OpenAPIAuth struct {
	Token    Secret `key:"token" doc:"Key or token, as env:NAME or file:PATH."`
	User     Value  `key:"user" doc:"User for the scheme basic."`
	Password Secret `key:"password" doc:"Password, as env:NAME or file:PATH."`
}

func (o *OpenAPITools) setDefaults() {
	o.Mode = "ro"
	o.MaxBytes = 1 << 20
	o.Timeout = Duration(defaultToolTimeout)
}

// check has nothing to say: the document is read when the tools are made, and problems of it stand in it.
func (o *OpenAPITools) check(*decoder, string) {}
