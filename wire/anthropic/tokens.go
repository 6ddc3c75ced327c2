package anthropic

import (
	"strconv"
	"unicode/utf8"

	"wield/chat"
)

// What CountTokens takes for things that are no text, in tokens.
const (
	imageTokens   = 1600 // of an image of the greatest size that is not scaled down
	messageTokens = 4    // of what stands around a message
	toolTokens    = 12   // of what stands around a tool's definition
	callTokens    = 12   // of what stands around a call or a result
)

// CountTokens estimates how many tokens a request has: one for every four ASCII characters, one for every other
// character, and a fixed number for an image and for what stands around each message, tool and call. No tokenizer is
// asked, so that the estimate is the same for every model; it is rather too high than too low.
func CountTokens(req *chat.Request) int {
	var c counter
	for i := range req.Messages {
		m := &req.Messages[i]
		c.more += messageTokens
		for j := range m.Parts {
			c.part(&m.Parts[j])
		}
		c.text(m.Reasoning)
		for j := range m.Calls {
			c.more += callTokens
			c.text(m.Calls[j].Name)
			c.text(m.Calls[j].Arguments)
		}
		if m.Role == chat.RoleTool {
			c.more += callTokens
		}
	}
	for i := range req.Tools {
		t := &req.Tools[i]
		c.more += toolTokens
		c.text(t.Name)
		c.text(t.Description)
		c.text(string(t.Parameters))
	}
	return c.more + c.other + (c.ascii+3)/4
}

// A counter counts characters.
type counter struct{ ascii, other, more int }

func (c *counter) text(s string) {
	for i := range len(s) {
		switch {
		case s[i] < utf8.RuneSelf:
			c.ascii++
		case utf8.RuneStart(s[i]):
			c.other++
		}
	}
}

func (c *counter) part(p *chat.Part) {
	switch p.Kind {
	case chat.PartText:
		c.text(p.Text)
	case chat.PartImage:
		c.more += imageTokens
	case chat.PartFile:
		c.more += len(p.Data) / 4
	}
}

// AppendTokens appends the answer to a request for an estimate.
func AppendTokens(dst []byte, n int) []byte {
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '}')
}
