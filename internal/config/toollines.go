package config

import (
	"wield/tool"
	"wield/tool/dir"
)

// A ShTool is a tool that is one line of shell.
type ShTool struct {
	Description string             `key:"description" required:"true" doc:"What it does, for the model, with an example of its arguments."`
	Command     string             `key:"command" required:"true" doc:"Command for sh. {NAME} is the place of a parameter, {NAME:TYPE} that of one with a type."`
	Params      map[string]ShParam `key:"params" doc:"Parameters, by name. A place without an entry here is a text that must be given."`
	Network     bool               `key:"network" doc:"Whether it needs the network."`
	ReadOnly    bool               `key:"read_only" doc:"Whether it changes nothing: it then gets no place to write to."`

	Enabled          bool     `key:"enabled" doc:"Whether it is offered."`
	Auto             []string `key:"auto" doc:"Words: it is offered only when one of them stands in the user's message. Goes with enabled."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"Whether it may change anything."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"For one run."`
	Cache            Duration `key:"cache" doc:"How long a result is used again for the same call in the same workspace, if it is no error; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls that begin within this time share one run and its result."`
	RequiresApproval bool     `key:"requires_approval" doc:"Whether a person is asked before each run."`
}

// A ShParam is one parameter of a ShTool.
type ShParam struct {
	Type        string   `key:"type" enum:"string|integer|number|boolean|path|url|list|paths" doc:"Type of the value; a path and an address are looked at by the policy."`
	Description string   `key:"description" doc:"What it means, for the model."`
	Required    bool     `key:"required" doc:"Whether it must be there."`
	Enum        []string `key:"enum" doc:"The values that there are."`
}

func (s *ShTool) setDefaults() {
	s.Mode = "ro"
	s.Timeout = Duration(defaultToolTimeout)
}

func (p *ShParam) setDefaults() { p.Type = "string" }

// check tells what no tool can be made of.
func (s *ShTool) check(d *decoder, path, name string) {
	if s.Command == "" {
		return
	}
	if _, err := s.Tool(name); err != nil {
		d.at(path+".command", "%v", err)
	}
}

// Tool makes the tool.
func (s *ShTool) Tool(name string) (*tool.Tool, error) {
	l := dir.Line{Name: name, Description: s.Description, Command: s.Command, Params: map[string]dir.LineParam{}, Network: s.Network, ReadOnly: s.ReadOnly}
	for name, p := range s.Params {
		l.Params[name] = dir.LineParam{Type: p.Type, Description: p.Description, Required: p.Required, Enum: p.Enum}
	}
	t, err := l.Tool()
	if err != nil {
		return nil, err
	}
	b := Builtin{Enabled: s.Enabled, Auto: s.Auto, Mode: s.Mode, Timeout: s.Timeout, Cache: s.Cache, Debounce: s.Debounce, RequiresApproval: s.RequiresApproval}
	t = b.Configured(t)
	t.Source = "tools.sh." + name
	return t, nil
}

// SourceLine is the source of tools that a command line makes.
const SourceLine = "--sh"
