package anthropic

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// A toolset is a set of tools that the protocol defines and the client runs, by the family that its calls name. A
// request declares it by its type; to a model that was not trained on it each member has to be told.
type toolset struct {
	family, prefix string
	properties     map[string]string // the schema of each, by name
	members        []member
}

// A member is a tool of a set. It takes properties of the set, of which those with ! are required.
type member struct {
	name, about, takes string
	off                bool // unless the request asks for it
}

const (
	corner   = `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2,"description":"x and y, in pixels from the top left corner"}`
	area     = `{"type":"array","items":{"type":"integer"},"minItems":4,"maxItems":4,"description":"x0, y0, x1 and y1, in pixels"}`
	wayward  = `{"type":"string","enum":["up","down","left","right"]}`
	words    = `{"type":"string"}`
	seconds  = `{"type":"number","description":"Seconds"}`
	repeated = `{"type":"integer","description":"How often; 1 unless said"}`

	point = `{"type":"object","properties":{"type":{"const":"coordinate"},"x":{"type":"number"},` +
		`"y":{"type":"number"}},"required":["type","x","y"],"description":"A point, in pixels from the top left corner of the viewport"}`
	element = `{"type":"object","properties":{"type":{"const":"ref"},"ref":{"type":"string"}},"required":["type","ref"],` +
		`"description":"An element, by the reference that read_page or find gave, such as ref_7"}`
	strs = `{"type":"array","items":{"type":"string"}}`
)

var toolsets = []toolset{
	{"computer", "computer_toolset_", map[string]string{
		"coordinate": corner, "start_coordinate": corner, "region": area, "text": words, "duration": seconds,
		"repeat": repeated, "scroll_direction": wayward,
		"scroll_amount": `{"type":"integer","description":"Clicks of the wheel"}`,
		"hold":          `{"type":"string","description":"Keys to hold down meanwhile, as in ctrl+shift"}`,
	}, []member{
		{name: "key", about: "Presses a key, or keys together, as in ctrl+s.", takes: "text! repeat"},
		{name: "hold_key", about: "Holds down a key, or keys together.", takes: "text! duration!"},
		{name: "type", about: "Types a text.", takes: "text!"},
		{name: "cursor_position", about: "Returns where the cursor is."},
		{name: "mouse_move", about: "Moves the cursor without a click.", takes: "coordinate!"},
		{name: "left_mouse_down", about: "Presses the left button of the mouse and holds it."},
		{name: "left_mouse_up", about: "Releases the left button of the mouse."},
		{name: "left_click", about: "Clicks at a point, or where the cursor is.",
			takes: "coordinate text:hold"},
		{name: "left_click_drag", about: "Drags from start_coordinate to coordinate.",
			takes: "start_coordinate! coordinate! text:hold"},
		{name: "right_click", about: "Clicks the right button at a point, or where the cursor is.",
			takes: "coordinate text:hold"},
		{name: "middle_click", about: "Clicks the middle button at a point, or where the cursor is.",
			takes: "coordinate text:hold"},
		{name: "double_click", about: "Clicks twice at a point, or where the cursor is.",
			takes: "coordinate text:hold"},
		{name: "triple_click", about: "Clicks three times at a point, or where the cursor is.",
			takes: "coordinate text:hold"},
		{name: "scroll", about: "Scrolls at a point, or where the cursor is.",
			takes: "scroll_direction! scroll_amount! coordinate text:hold"},
		{name: "wait", about: "Waits.", takes: "duration!"},
		{name: "screenshot", about: "Takes a picture of the screen."},
		{name: "zoom", about: "Takes an enlarged picture of a part of the screen.", takes: "region!"},
	}},
	{"browser", "browser_toolset_", map[string]string{
		"target": `{"anyOf":[` + point + `,` + element + `]}`, "point": point, "element": element, "region": area,
		"tab_id": `{"type":"string","description":"The tab; the active one unless said"}`, "url": words, "query": words, "text": words,
		"modifiers":     `{"type":"string","description":"Keys to hold down meanwhile, as in ctrl+shift"}`,
		"value":         `{"type":["string","number","boolean"],"description":"A boolean for a checkbox, an option's value or text for a select"}`,
		"document_ids":  strs,
		"paths":         strs,
		"depth":         `{"type":"integer","description":"How deep; 15 unless said"}`,
		"filter":        `{"type":"string","enum":["all","interactive"],"description":"all: those out of the viewport, too"}`,
		"ref":           `{"type":"string","description":"The element whose subtree to read; the whole page unless said"}`,
		"duration":      seconds,
		"repeat":        repeated,
		"scroll_amount": `{"type":"integer","description":"Notches of the wheel, 1 to 10; 3 unless said"}`, "scroll_direction": wayward,
	}, []member{
		{name: "navigate", about: "Opens a URL; back, forward and reload go through the history.",
			takes: "url! tab_id"},
		{name: "list_tabs", about: "Lists the tabs: tab_id, title and URL of each."},
		{name: "new_tab", about: "Opens an empty tab and returns its tab_id."},
		{name: "switch_tab", about: "Makes a tab the active one.", takes: "tab_id!"},
		{name: "close_tab", about: "Closes a tab.", takes: "tab_id!"},
		{name: "read_page", about: "Returns the accessibility tree of the page, with references of its elements. " +
			"It is cut after 50,000 characters.", takes: "ref depth filter tab_id"},
		{name: "get_page_text", about: "Returns the visible text of the page.", takes: "tab_id"},
		{name: "read_console", about: "Returns what was written to the console since the last call.",
			takes: "tab_id", off: true},
		{name: "read_network", about: "Returns the requests of the page since the last call.",
			takes: "tab_id", off: true},
		{name: "find", about: "Finds elements by a description, and returns references of at most 20.",
			takes: "query! tab_id"},
		{name: "form_input", about: "Sets the value of an element of a form.",
			takes: "target!:element value! tab_id"},
		{name: "file_upload", about: "Sets the files of a file input, by paths or document_ids.",
			takes: "target!:element paths document_ids tab_id", off: true},
		{name: "scroll_to", about: "Scrolls an element into view.", takes: "target!:element tab_id"},
		{name: "screenshot", about: "Takes a picture of the viewport.", takes: "tab_id"},
		{name: "zoom", about: "Takes an enlarged picture of a part of the viewport.", takes: "region! tab_id"},
		{name: "left_click", about: "Clicks at a point or an element.", takes: "target! modifiers tab_id"},
		{name: "right_click", about: "Clicks the right button at a point or an element.",
			takes: "target! modifiers tab_id"},
		{name: "middle_click", about: "Clicks the middle button at a point or an element.",
			takes: "target! modifiers tab_id"},
		{name: "double_click", about: "Clicks twice at a point or an element.",
			takes: "target! modifiers tab_id"},
		{name: "triple_click", about: "Clicks three times at a point or an element.",
			takes: "target! modifiers tab_id"},
		{name: "hover", about: "Moves the pointer to a point or an element without a click.",
			takes: "target! tab_id"},
		{name: "left_click_drag", about: "Drags from a point to another.",
			takes: "from!:point target!:point tab_id"},
		{name: "left_mouse_down", about: "Presses the left button of the mouse at a point and holds it.",
			takes: "target!:point tab_id"},
		{name: "left_mouse_up", about: "Releases the left button of the mouse at a point.",
			takes: "target!:point tab_id"},
		{name: "mouse_move", about: "Moves the pointer to a point without a click.",
			takes: "target!:point tab_id"},
		{name: "scroll", about: "Scrolls at a point.",
			takes: "target!:point scroll_direction! scroll_amount tab_id"},
		{name: "type", about: "Types a text where the focus is.", takes: "text! tab_id"},
		{name: "key", about: "Presses a key, keys together as in ctrl+a, or several, separated by blanks.",
			takes: "text! repeat tab_id"},
		{name: "hold_key", about: "Holds down a key, or keys together, for at most 30 seconds.",
			takes: "text! duration! tab_id"},
		{name: "wait", about: "Waits for at most 30 seconds.", takes: "duration! tab_id"},
		{name: "javascript_exec", about: "Runs JavaScript in the page and returns the value of the last expression, " +
			"which is written without return.", takes: "text! tab_id", off: true},
	}},
}

// membersOf returns the tools of the set that a definition declares, under names that say the set; nil: it is none.
func membersOf(kind string, raw []byte) (tools []chat.Tool) {
	for _, set := range toolsets {
		if !strings.HasPrefix(kind, set.prefix) {
			continue
		}
		var said struct {
			Configs map[string]struct{ Enabled *bool }
		}
		_ = json.Unmarshal(raw, &said) // what is odd changes no default
		for _, m := range set.members {
			if on := said.Configs[m.name].Enabled; on == nil && m.off || on != nil && !*on {
				continue
			}
			tools = append(tools, chat.Tool{Name: memberName(set.family, m.name), Description: m.about,
				Parameters: set.schema(m)})
		}
	}
	return tools
}

// schema writes what a member takes: names of properties, with ! where they are required and, behind a colon, that of
// the schema if it is another.
func (s *toolset) schema(m member) json.RawMessage {
	b, required := []byte(`{"type":"object","properties":{`), []byte(nil)
	for i, property := range strings.Fields(m.takes) {
		name, kind, other := strings.Cut(property, ":")
		name, must := strings.CutSuffix(name, "!")
		if !other {
			kind = name
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(shape.AppendQuoted(b, name), ':'), s.properties[kind]...)
		if must {
			required = append(shape.AppendQuoted(required, name), ',')
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = append(append(append(b, `,"required":[`...), required[:len(required)-1]...), ']')
	}
	return append(b, '}')
}

// memberName returns the name of a set's member for the model. Another tool may have the name alone.
func memberName(family, name string) string { return family + "__" + name }

// ownName returns how the protocol names a tool of a request: by its own name, and the family of its set if it has one.
func ownName(req *chat.Request, name string) (own, family string) {
	if req == nil {
		return name, ""
	}
	for i := range req.Tools {
		for j := range req.Tools[i].Members {
			if req.Tools[i].Members[j].Name == name {
				family, own, _ = strings.Cut(name, "__")
				return own, family
			}
		}
	}
	return name, ""
}

// appendName appends the members that name the tool of a call.
func appendName(dst []byte, req *chat.Request, name string) []byte {
	own, family := ownName(req, name)
	dst = shape.AppendQuoted(append(dst, `,"name":`...), own)
	if family != "" {
		dst = shape.AppendQuoted(append(dst, `,"`+keyToolset+`":`...), family)
	}
	return dst
}

// familyOf returns the set that a call says its tool is of; "": none.
func familyOf(more []byte) (family string) {
	s := jsonbody.Scanner{Bytes: more}
	if len(more) == 0 || s.Peek() != '{' {
		return ""
	}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == keyToolset && s.Peek() == '"' {
			family = s.Str()
		} else {
			s.Skip()
		}
	}
	return family
}
