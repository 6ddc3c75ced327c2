package bridge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// codeHostedTool is the [chat.Error] code for a tool that only another protocol's server can run.
const codeHostedTool = "unsupported_tool"

// leaveToolsOut takes all tools out of the request, with a note. A call that the request requires cannot be made then.
func (r *run) leaveToolsOut() error {
	const why = "but this model is configured to leave tools out (calls.enabled: false)"
	req := *r.req
	switch c := &req.Choice; c.Mode {
	case chat.ChoiceNamed:
		return unmet(fmt.Sprintf("a call of %q is required, %s", c.Name, why))
	case chat.ChoiceRequired:
		return unmet("a call is required, " + why)
	case chat.ChoiceAuto:
		r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: "tools"})
	}
	req.Tools, req.Choice, req.Parallel = nil, chat.Choice{}, nil
	r.req = &req
	return nil
}

// unmet refuses a tool_choice that no answer could meet.
func unmet(why string) error {
	return &chat.Error{Kind: chat.ErrBadRequest, Param: "tool_choice", Code: codeHostedTool,
		Message: "tool_choice: " + why}
}

// unhost takes the tools out of the request that the backend's server cannot run, where all says that it can run none.
// A tool that a client can do without is noted; any other, and one that must be called, is an error.
func (r *run) unhost(all bool) error {
	for _, x := range r.req.Extra {
		if why := needed[x.Key]; why != "" && x.Protocol == chat.ProtocolAnthropic && x.Protocol != r.o.Protocol &&
			len(x.Value) > len("[]") {
			return &chat.Error{Kind: chat.ErrBadRequest, Param: x.Key, Code: codeHostedTool,
				Message: x.Key + ": " + why}
		}
	}
	if all {
		r.tellToolFields()
		r.tellMessageFields()
	}
	missing := func(t *chat.Tool) bool { return t.Hosted != chat.HostedNot && (all || t.Protocol != r.o.Protocol) }
	if !slices.ContainsFunc(r.req.Tools, func(t chat.Tool) bool { return missing(&t) }) {
		return nil
	}
	req := *r.req
	req.Tools = make([]chat.Tool, 0, len(r.req.Tools))
	gone := map[string]bool{}
	for i := range r.req.Tools {
		t := &r.req.Tools[i]
		if !missing(t) {
			req.Tools = append(req.Tools, *t)
			continue
		}
		if len(t.Members) > 0 {
			req.Tools, gone[t.Name] = append(req.Tools, t.Members...), true
			continue
		}
		path := "tools[" + strconv.Itoa(i) + "]"
		if t.Hosted == chat.HostedRequired {
			return &chat.Error{Kind: chat.ErrBadRequest, Param: path, Code: codeHostedTool, Message: fmt.Sprintf(
				"%s: the tool %q is one that servers of its own protocol run; the server of this model does not: "+
					"leave it out, or offer a tool that the client runs", path, t.Name)}
		}
		gone[t.Name] = true
		r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: path, Before: t.Name})
	}
	c := &req.Choice
	if c.Mode == chat.ChoiceNamed && gone[c.Name] && req.Tool(c.Name) == nil {
		return unmet(fmt.Sprintf("a call of %q is required, but that is a tool that the server of this model does "+
			"not run", c.Name))
	}
	if c.Mode == chat.ChoiceRequired && len(req.Tools) == 0 {
		return unmet("a call is required, but the server of this model runs none of the tools")
	}
	if len(c.Allowed) > 0 {
		named := c.Allowed
		for i := range req.Tools {
			delete(gone, req.Tools[i].Name)
		}
		c.Allowed = slices.DeleteFunc(slices.Clone(named), func(name string) bool { return gone[name] })
		switch {
		case len(c.Allowed) > 0:
		case c.Mode == chat.ChoiceRequired:
			return unmet(fmt.Sprintf("a call of %q is required, but the server of this model does not run it",
				strings.Join(named, ", ")))
		default:
			c.Mode = chat.ChoiceNone
		}
	}
	r.req = &req
	return nil
}

// tellToolFields notes the fields of tools that a prompt says nothing of.
func (r *run) tellToolFields() {
	told := map[string]bool{}
	for i := range r.req.Tools {
		for _, x := range r.req.Tools[i].Opaque {
			for _, name := range x.Fields() {
				if !told[name] {
					told[name] = true
					r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: "tools." + name})
				}
			}
		}
	}
}

// tellMessageFields notes what calls, results and instructions hold that a prompt says nothing of. Failures it tells
// of.
func (r *run) tellMessageFields() {
	told := map[string]bool{}
	note := func(key string) {
		if !told[key] {
			told[key] = true
			r.notes = append(r.notes, chat.NoteDetail{Kind: chat.NoteUnsent, Path: "messages." + key})
		}
	}
	for i := range r.req.Messages {
		m := &r.req.Messages[i]
		if m.Name != "" && (m.Role == chat.RoleSystem || m.Role == chat.RoleDeveloper) {
			note("name")
		}
		for _, x := range m.Opaque {
			for _, name := range x.Fields() {
				if m.Role == chat.RoleTool && name != "is_error" || strings.HasPrefix(name, "content.") {
					note(name)
				}
			}
		}
		for j := range m.Parts {
			for _, key := range m.Parts[j].Besides("") {
				if m.Role == chat.RoleTool {
					note("content." + key)
				}
			}
		}
	}
}

// needed are the fields of the Messages protocol without which an answer would be another one, with what to do instead.
var needed = map[string]string{
	"mcp_servers": "the server of this model connects to no MCP servers: configure them in wield (mcp.servers), or " +
		"offer their tools as tools that the client runs",
}

// clientRun returns the tools among all that clients run.
func clientRun(all []chat.Tool) []chat.Tool {
	hosted := func(t chat.Tool) bool { return t.Hosted != chat.HostedNot }
	if !slices.ContainsFunc(all, hosted) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), hosted)
}
