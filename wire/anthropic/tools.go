package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
)

// A clientTool is a tool that the protocol defines and the client runs. Its definition in a request is only its type
// and its name; to a model that was not trained on it its schema has to be told.
type clientTool struct{ prefix, about, schema string }

// clientTools are all of them, by what their types begin with.
var clientTools = []clientTool{
	{"bash_", "Runs a command in a bash session that persists on the user's machine, and returns its output. restart " +
		"begins a new session.",
		`{"type":"object","properties":{"command":{"type":"string","description":"The command, unless the session is restarted"},` +
			`"restart":{"type":"boolean"}}}`},
	{"text_editor_", "Views and edits text files. view shows a file or lists a directory; create writes a whole " +
		"file; str_replace replaces " +
		"old_str, which must occur exactly once, by new_str; insert puts insert_text behind the line insert_line.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},` +
			`"path":{"type":"string","description":"Absolute path of a file or directory"},"file_text":{"type":"string","description":"For create"},` +
			`"old_str":{"type":"string","description":"For str_replace"},"new_str":{"type":"string","description":"For str_replace"},` +
			`"insert_line":{"type":"integer","description":"For insert; 0 is the beginning"},"insert_text":{"type":"string","description":"For insert"},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view: first and last line, -1 for the end"}},` +
			`"required":["command","path"]}`},
	{"memory_", "Keeps notes in files below /memories, across conversations.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
			`"path":{"type":"string","description":"Below /memories; for all commands but rename"},"view_range":{"type":"array","items":{"type":"integer"}},` +
			`"file_text":{"type":"string","description":"For create"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string","description":"For rename"},` +
			`"new_path":{"type":"string","description":"For rename"}},"required":["command"]}`},
	{"computer_2", "Uses the mouse and the keyboard of a computer, and takes pictures of its screen. Coordinates are " +
		"pixels from the top left corner.",
		`{"type":"object","properties":{"action":{"type":"string","enum":["screenshot","left_click","right_click","middle_click","double_click","triple_click",` +
			`"left_click_drag","left_mouse_down","left_mouse_up","mouse_move","scroll","type","key","hold_key","wait","cursor_position","zoom"]},` +
			`"coordinate":{"type":"array","items":{"type":"integer"},"description":"x and y"},` +
			`"start_coordinate":{"type":"array","items":{"type":"integer"},"description":"For left_click_drag"},` +
			`"text":{"type":"string","description":"What to type, or the key or keys to press, as in ctrl+s"},` +
			`"scroll_direction":{"type":"string","enum":["up","down","left","right"]},"scroll_amount":{"type":"integer"},` +
			`"duration":{"type":"number","description":"Seconds, for wait and hold_key"},"region":{"type":"array","items":{"type":"integer"},"description":"For zoom"}},` +
			`"required":["action"]}`},
}

// typedTool completes a tool of a type of the protocol. What clients run gets its schema; all else only a server of
// the protocol runs.
func typedTool(t *chat.Tool, kind string, raw []byte) {
	t.Raw, t.Protocol = raw, chat.ProtocolAnthropic
	for _, c := range clientTools {
		if strings.HasPrefix(kind, c.prefix) {
			t.Description, t.Parameters = c.about, json.RawMessage(c.schema)
			if kind == "text_editor_20241022" || kind == "text_editor_20250124" {
				// these take the text to insert by another name
				t.Parameters = json.RawMessage(strings.Replace(c.schema,
					`,"insert_text":{"type":"string","description":"For insert"}`, "", 1))
				t.Description = strings.Replace(c.about, "insert_text", "new_str", 1)
			}
			t.Description += screen(raw)
			t.Opaque = slices.DeleteFunc(t.Opaque, func(x chat.Extra) bool {
				return strings.HasPrefix(x.Key, "display_") && strings.HasSuffix(x.Key, "_px")
			})
			return
		}
	}
	t.Members = membersOf(kind, raw)
	if len(t.Members) > 0 {
		t.Members[0].Opaque = slices.DeleteFunc(t.Opaque, func(x chat.Extra) bool { return x.Key == "configs" })
	}
	t.Opaque = nil
	if t.Name == "" {
		t.Name = kind
	}
	t.Hosted = chat.HostedRequired
	if strings.HasPrefix(kind, "tool_search_tool_") { // all tools are shown, so that there is nothing to search
		t.Hosted = chat.HostedOptional
	}
}

// screen says how large the screen is that a definition tells of.
func screen(raw []byte) string {
	var size struct {
		Width  int `json:"display_width_px"`
		Height int `json:"display_height_px"`
	}
	if json.Unmarshal(raw, &size) != nil || size.Width <= 0 || size.Height <= 0 {
		return ""
	}
	return fmt.Sprintf(" The screen is %d pixels wide and %d high.", size.Width, size.Height)
}

const (
	keyToolset = "toolset_name" // of a call and its result: the set that the tool is of, of the protocol's own

	keyDefer  = "defer_loading" // of a tool that a search, the client's or the server's, has to find first
	foundTool = "Tool: "        // stands before the name of one that was found
)

// describeFound describes a deferred tool in the first result that names it, and so not in front of the conversation:
// the prompt of the turn before stays the front of this one's.
func (d *requestReader) describeFound() {
	deferred := map[string]*chat.Tool{}
	for i := range d.req.Tools {
		t := &d.req.Tools[i]
		if slices.ContainsFunc(t.Opaque, func(x chat.Extra) bool {
			return x.Key == keyDefer && string(x.Value) == "true"
		}) {
			deferred[t.Name] = t
		}
	}
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			name, ok := strings.CutPrefix(p.Text, foundTool)
			t := deferred[name]
			if !ok || t == nil || m.Role != chat.RoleTool || p.Protocol != chat.ProtocolAnthropic {
				continue
			}
			p.Text, t.Deferred = definition(t), true
			delete(deferred, name)
		}
	}
}

// definition writes a tool as a model reads it in a result.
func definition(t *chat.Tool) string {
	text, _ := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{t.Name, t.Description, t.Parameters})
	return foundTool + string(text)
}
