package config

// OpenAPISuffix is how the name of a file ends that holds one OpenAPITools, in a directory of tools.
const OpenAPISuffix = ".openapi.yaml"

// OpenAPITools are the tools that an OpenAPI document describes.
type OpenAPITools struct {
	Document   string                 `key:"document" required:"true" doc:"File with the document, in JSON or YAML, of version 3.0 or 3.1, relative to this file."`
	Server     URL                    `key:"server" doc:"Address in place of the document's own."`
	Prefix     string                 `key:"prefix" doc:"In front of the name of each tool."`
	Tags       []string               `key:"tags" doc:"Only operations with one of these tags; * stands for any characters."`
	Operations []string               `key:"operations" doc:"Only operations whose operationId or tool has one of these names; * stands for any characters."`
	Paths      []string               `key:"paths" doc:"Only operations on one of these paths; * stands for any characters."`
	Methods    []string               `key:"methods" enum:"GET|HEAD|POST|PUT|PATCH|DELETE" doc:"Only operations with one of these methods."`
	Auth       map[string]OpenAPIAuth `key:"auth" doc:"Credentials, by the names of the document's security schemes."`
	Accept     []string               `key:"accept" doc:"Types of answers that are taken, such as application/json. Empty: JSON, XML, YAML and text."`
	MaxBytes   Size                   `key:"max_bytes" min:"1B" max:"64MiB" doc:"How much of an answer is read."`

	Enabled          bool     `key:"enabled" doc:"Whether the tools are offered."`
	Auto             []string `key:"auto" doc:"Words: the tools are offered only when one of them stands in the user's message. Goes with enabled."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether the tools may change anything: with ro only GET and HEAD are sent."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls that begin within this time share one run and its result."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run."`
}

// OpenAPIAuth answers one security scheme.
type OpenAPIAuth struct {
	Token    Secret `key:"token" doc:"Key or token, as env:NAME or file:PATH."`
	User     Value  `key:"user" doc:"Name, as text, env:NAME or file:PATH, for the scheme basic."`
	Password Secret `key:"password" doc:"Password, as env:NAME or file:PATH, for the scheme basic."`
}

func (o *OpenAPITools) setDefaults() {
	o.Mode = "ro"
	o.MaxBytes = 1 << 20
	o.Timeout = Duration(defaultToolTimeout)
}

// check has nothing to say: the document is read when the tools are made, and problems of it stand in it.
func (o *OpenAPITools) check(*decoder, string) {}
