package servertools

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/internal/hosted"
)

// recall replaces the blocks of the history that show what wield ran by calls and results, as the model read them. It
// reports false if there are none.
func recall(messages []chat.Message) ([]chat.Message, bool) {
	return hosted.Recall(messages, func(message, part int) hosted.Recalled {
		c, r := readBlock(&messages[message].Parts[part])
		if c != nil && c.ID == "" {
			c.ID = fmt.Sprintf("hosted_%d_%d", message, part)
		}
		return hosted.Recalled{Call: c, Result: r}
	})
}

// readBlock returns the call or the result that a part stands for; neither if it is something else.
func readBlock(p *chat.Part) (*chat.Call, *chat.Result) {
	if p.Kind != chat.PartOpaque {
		return nil, nil
	}
	var b struct {
		ID      string
		UseID   string `json:"tool_use_id"`
		Name    string
		Input   json.RawMessage
		Content json.RawMessage

		Code *struct{ Code string } `json:"executableCode"`
		Ran  *struct {
			Outcome, Output string
		} `json:"codeExecutionResult"`
	}
	if json.Unmarshal(p.Raw, &b) != nil {
		return nil, nil
	}
	anthropic, gemini := p.Protocol == chat.ProtocolAnthropic, p.Protocol == chat.ProtocolGemini
	switch {
	case anthropic && p.Name == typeUse && strings.HasPrefix(b.ID, idPrefix):
		return &chat.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input), Complete: true}, nil
	case anthropic && strings.HasSuffix(p.Name, typeResult) && strings.HasPrefix(b.UseID, idPrefix):
		text, bad := readContent(b.Content)
		return nil, &chat.Result{CallID: b.UseID, Parts: chat.Text(text), IsError: bad}
	case gemini && b.Code != nil:
		arguments, _ := json.Marshal(map[string]string{"code": b.Code.Code})
		return &chat.Call{Name: string(CodeExecution), Arguments: string(arguments), Complete: true}, nil
	case gemini && b.Ran != nil:
		return nil, &chat.Result{Parts: chat.Text(b.Ran.Output), IsError: b.Ran.Outcome != "OUTCOME_OK"}
	}
	return nil, nil
}

// readContent returns the text that a block of the Messages protocol holds.
func readContent(raw json.RawMessage) (text string, bad bool) {
	var pages []struct {
		Text string `json:"encrypted_content"`
	}
	if json.Unmarshal(raw, &pages) == nil {
		for _, p := range pages {
			part, _ := base64.StdEncoding.DecodeString(p.Text)
			text += string(part)
		}
		return text, false
	}
	var one struct {
		Code    string `json:"error_code"`
		Stdout  string
		Stderr  string
		Status  int `json:"return_code"`
		Content any
	}
	json.Unmarshal(raw, &one)
	if one.Code != "" {
		return "Error: " + one.Code, true
	}
	if document, ok := one.Content.(object); ok {
		source, _ := document["source"].(object)
		return member(source, "data"), false
	}
	return one.Stdout + one.Stderr, one.Status != 0
}
