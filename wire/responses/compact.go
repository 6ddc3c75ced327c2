package responses

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// compactionMark begins the content of compactions that wield has made. Those of other servers are encrypted.
const compactionMark = "wield.1."

// A Compaction takes in the summary that a model writes, and makes the body of a compacted response of it: the user's
// messages, then an item with the summary.
type Compaction struct {
	o       ResponseOptions
	summary strings.Builder
	usage   *chat.Usage
}

// NewCompaction returns a Compaction of the conversation in o.Request.
func NewCompaction(o ResponseOptions) *Compaction { return &Compaction{o: o} }

// Add takes in one event of the model.
func (c *Compaction) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		c.summary.WriteString(e.Text)
	case chat.KindUsage:
		c.usage = e.Detail.(*chat.Usage)
	}
}

// Append appends the body.
func (c *Compaction) Append(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, c.o.ID)
	dst = append(dst, `,"object":"response.compaction","created_at":`...)
	dst = strconv.AppendInt(dst, c.o.Created, 10)
	dst = append(dst, `,"output":[`...)
	stem, n := strings.TrimPrefix(c.o.ID, prefixResponse)+"m", 0
	for _, items := range [][]Item{c.o.Request.Before, c.o.Request.Input} {
		for i := range items {
			if it := &items[i]; it.Type == "message" && it.message != nil && it.message.Role == chat.RoleUser {
				n++
				dst = append(jsonbody.AppendCompact(dst, it.Named(stem+strconv.Itoa(n)).Raw), ',')
			}
		}
	}
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, "cmp_"+strings.TrimPrefix(c.o.ID, prefixResponse))
	dst = append(dst, `,"type":"compaction","encrypted_content":`...)
	summary := []byte(strings.TrimSpace(c.summary.String()))
	dst = shape.AppendQuoted(dst, compactionMark+base64.RawURLEncoding.EncodeToString(summary))
	dst = append(dst, `}],"usage":`...)
	return append(appendUsage(dst, c.usage), '}')
}

// compactionItem reads a summary that wield has made. One of another server is left to servers of the protocol.
func (d *requestReader) compactionItem(it *rawItem) {
	for _, x := range it.message.Opaque {
		var content string
		if x.Key != "encrypted_content" || json.Unmarshal(x.Value, &content) != nil {
			continue
		}
		encoded, ok := strings.CutPrefix(content, compactionMark)
		if summary, err := base64.RawURLEncoding.DecodeString(encoded); ok && err == nil {
			text := "Summary of the conversation so far:\n\n" + string(summary)
			it.message = chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
			return
		}
	}
	d.opaqueItem(it)
}

// opaqueItem keeps what the protocol's own server did, which only such a server can go on with.
func (d *requestReader) opaqueItem(it *rawItem) {
	it.message.Role = chat.RoleAssistant
	it.message.Parts = []chat.Part{{Kind: chat.PartOpaque, Name: it.Type, Raw: it.Raw,
		Protocol: chat.ProtocolResponses}}
}
