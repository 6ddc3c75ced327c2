package config

import (
	"wield/tool"
	"wield/tool/dir"
)

// A ShTool is a tool that is one line of shell.
type ShTool struct {
	Description string             `key:"description" required:"true" doc:"Description for the model."`
	Command     string             `key:"command" required:"true" doc:"Shell command with placeholders {NAME} or {NAME:TYPE}."`
	Params      map[string]ShParam `key:"params" doc:"Parameters. A placeholder without an entry is a required string."`
	Network     bool               `key:"network" doc:"Allow network access."`
	ReadOnly    bool               `key:"read_only" doc:"It changes nothing, and can write nowhere."`

	Enabled          bool     `key:"enabled" doc:"Offer it."`
	Auto             []string `key:"auto" doc:"Offer only if the user's message contains one of these words."`
	Mode             string   `key:"mode" enum:"ro|rw" doc:"rw: it may change things."`
	Timeout          Duration `key:"timeout" min:"1s" max:"300s" doc:"Timeout of one call."`
	Cache            Duration `key:"cache" doc:"Reuse results of identical calls for this long; 0s: never."`
	Debounce         Duration `key:"debounce" doc:"Identical calls within this time share one run."`
	RequiresApproval bool     `key:"requires_approval" doc:"Ask a person before each call."`
}

// A ShParam is one parameter of a ShTool.
type ShParam struct {
	Type        string   `key:"type" enum:"string|integer|number|boolean|path|url|list|paths" doc:"Type; the policy checks path and url."`
	Description string   `key:"description" doc:"Description for the model."`
	Required    bool     `key:"required" doc:"Required."`
	Enum        []string `key:"enum" doc:"Allowed values."`
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
	l := dir.Line{Name: name, Description: s.Description, Command: s.Command, Params: map[string]dir.LineParam{},
		Network: s.Network, ReadOnly: s.ReadOnly}
	for name, p := range s.Params {
		l.Params[name] = dir.LineParam{Type: p.Type, Description: p.Description, Required: p.Required, Enum: p.Enum}
	}
	t, err := l.Tool()
	if err != nil {
		return nil, err
	}
	b := Builtin{Enabled: s.Enabled, Auto: s.Auto, Mode: s.Mode, Timeout: s.Timeout, Cache: s.Cache,
		Debounce: s.Debounce, RequiresApproval: s.RequiresApproval}
	t = b.Configured(t)
	t.Source = "tools.sh." + name
	return t, nil
}

// SourceLine is the source of tools that a command line makes.
const SourceLine = "--sh"
