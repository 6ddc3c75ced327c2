package agent

import (
	"unicode/utf8"

	"wield/chat"
)

// What an estimate takes for things that are no text, in tokens.
const (
	imageTokens   = 1600 // of an image of the greatest size that is not scaled down
	messageTokens = 4    // of what stands around a message
	callTokens    = 12   // of what stands around a call, a result or the definition of a tool
)

// EstimateTokens estimates how many tokens messages and definitions have: one for every four ASCII characters, one for
// every other character, and a fixed number for an image and for what stands around each message, call and definition.
// No tokenizer is asked, so that the estimate is the same for every model; it is rather too high than too low.
func EstimateTokens(messages []chat.Message, tools []chat.Tool) int {
	n := 0
	for i := range messages {
		n += messageSize(&messages[i])
	}
	for i := range tools {
		t := &tools[i]
		n += callTokens + textSize(t.Name) + textSize(t.Description) + textSize(string(t.Parameters))
	}
	return n
}

// messageSize estimates the tokens of a message.
func messageSize(m *chat.Message) int {
	n := messageTokens + textSize(m.Reasoning) + partsSize(m.Parts)
	for i := range m.Calls {
		n += callTokens + textSize(m.Calls[i].Name) + textSize(m.Calls[i].Arguments)
	}
	if m.Role == chat.RoleTool {
		n += callTokens
	}
	return n
}

func partsSize(parts []chat.Part) int {
	n := 0
	for i := range parts {
		switch p := &parts[i]; p.Kind {
		case chat.PartText:
			n += textSize(p.Text)
		case chat.PartImage:
			n += imageTokens
		default:
			n += (len(p.Data) + len(p.Raw)) / 4
		}
	}
	return n
}

// textSize estimates the tokens of a text.
func textSize(s string) int {
	ascii, other := 0, 0
	for i := range len(s) {
		switch {
		case s[i] < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(s[i]):
			other++
		}
	}
	return other + (ascii+3)/4
}

// beginning returns as much of a text as has no more than n tokens by the estimate, to the last whole character.
func beginning(s string, n int) string {
	quarters := 4 * n
	for i, r := range s {
		if r < utf8.RuneSelf {
			quarters--
		} else {
			quarters -= 4
		}
		if quarters < 0 {
			return s[:i]
		}
	}
	return s
}
