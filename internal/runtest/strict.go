package runtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/wire/anthropic"
	"wield/wire/openai"
)

// Transcript returns the conversation of a run as its records have it: what was said, the answers, and behind each
// answer the results of its calls. A call without a result, and a result or a start without a call, are errors.
func Transcript(entries []journal.Entry) ([]chat.Message, error) {
	var list []chat.Message
	results := map[string]*journal.Entry{}
	starts := map[string]bool{}
	for i := range entries {
		switch r := &entries[i].Record; r.Kind {
		case record.KindMessage:
			list = append(list, r.Message.Message)
		case record.KindTurnEnd:
			if r.TurnEnd.Error == nil { // else the model is asked again
				list = append(list, r.TurnEnd.Message)
			}
		case record.KindStart:
			starts[r.Start.CallID] = true
		case record.KindResult:
			if results[r.Result.CallID] != nil {
				return nil, fmt.Errorf("call %s has two results", r.Result.CallID)
			}
			results[r.Result.CallID] = &entries[i]
		}
	}
	var messages []chat.Message
	for _, m := range list {
		messages = append(messages, m)
		for _, c := range m.Calls {
			e := results[c.ID]
			if e == nil {
				return nil, fmt.Errorf("call %s of %s has no result", c.ID, c.Name)
			}
			result := e.Record.Result.Result.Chat(&c, tool.StylePlain)
			messages = append(messages, result.Message())
			delete(results, c.ID)
			delete(starts, c.ID)
		}
	}
	if len(results) > 0 || len(starts) > 0 {
		return nil, fmt.Errorf("%d results and %d starts have no call", len(results), len(starts))
	}
	return messages, nil
}

// Strict holds a conversation to what servers want that look at the order of its messages: in itself, and as it is
// sent in the protocols of OpenAI and of Anthropic.
func Strict(messages []chat.Message) error {
	if err := ordered(messages); err != nil {
		return err
	}
	req := &chat.Request{Model: "m", Messages: messages, MaxTokens: 10}
	sent, err := openai.AppendRequest(nil, req, openai.RequestOptions{})
	if err == nil {
		err = openaiTakes(sent)
	}
	if err != nil {
		return fmt.Errorf("a server of OpenAI's protocol: %w", err)
	}
	sent, err = anthropic.AppendRequest(nil, req, anthropic.RequestOptions{})
	if err == nil {
		err = anthropicTakes(sent)
	}
	if err != nil {
		return fmt.Errorf("a server of Anthropic's protocol: %w", err)
	}
	return nil
}

// ordered reports a call that has not exactly one result, right behind its message and in its place, and an id that
// is there twice.
func ordered(messages []chat.Message) error {
	seen := map[string]bool{}
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		if m.Role == chat.RoleTool {
			return fmt.Errorf("message %d is a result of %q, which does not stand behind its call", i, m.CallID)
		}
		for _, c := range m.Calls {
			if c.ID == "" || seen[c.ID] {
				return fmt.Errorf("message %d: the id %q is empty or was there before", i, c.ID)
			}
			seen[c.ID] = true
		}
		for _, c := range m.Calls {
			i++
			if i >= len(messages) || messages[i].Role != chat.RoleTool {
				return fmt.Errorf("message %d: the result of %q is missing", i, c.ID)
			}
			if id := messages[i].CallID; id != c.ID {
				return fmt.Errorf("message %d: the result of %q stands where that of %q belongs", i, id, c.ID)
			}
		}
	}
	return nil
}

// openaiTakes looks at a request as a server of OpenAI's protocol does: behind a message with tool_calls there is a
// message of the role tool for each of them, and nowhere else.
func openaiTakes(body []byte) error {
	var req struct {
		Messages []struct {
			Role      string `json:"role"`
			CallID    string `json:"tool_call_id"`
			ToolCalls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	var open []string
	for i, m := range req.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d: no tool_calls right before it has %q", i, m.CallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: the tool_call_ids %q have no response", i, open)
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("at the end the tool_call_ids %q have no response", open)
	}
	return nil
}

// anthropicTakes looks at a request as a server of Anthropic's protocol does: the user begins, and each tool_use has
// its tool_result at the beginning of the very next message. Messages of one role that follow each other are one for
// such a server.
func anthropicTakes(body []byte) error {
	type block struct {
		Type      string `json:"type"`
		ID        string `json:"id"`
		ToolUseID string `json:"tool_use_id"`
	}
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	if len(req.Messages) == 0 {
		return errors.New("there are no messages")
	}
	if first := req.Messages[0].Role; first != "user" {
		return fmt.Errorf("the first message is of the role %s", first)
	}
	want := map[string]bool{}
	for i, m := range req.Messages {
		var blocks []block
		if len(m.Content) > 0 && m.Content[0] == '[' {
			if err := json.Unmarshal(m.Content, &blocks); err != nil {
				return err
			}
		}
		next, over := map[string]bool{}, false
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				next[b.ID] = true
			case "tool_result":
				if over || !want[b.ToolUseID] {
					return fmt.Errorf("message %d: the tool_result of %q is behind other blocks, there twice, or "+
						"without its tool_use", i, b.ToolUseID)
				}
				delete(want, b.ToolUseID)
				continue
			}
			over = true
		}
		if len(want) > 0 {
			return fmt.Errorf("message %d: %d tool_use have no tool_result", i, len(want))
		}
		want = next
	}
	if len(want) > 0 {
		return fmt.Errorf("at the end %d tool_use have no tool_result", len(want))
	}
	return nil
}
