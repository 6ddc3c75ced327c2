package api

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
	"wield/tool/files"
	"wield/tool/policy"
)

// An Attachment is a file that comes with a message.
type Attachment struct {
	Name string `json:"name" jsonschema:"what the model knows it by"`
	Data string `json:"data" jsonschema:"its content in base64: text, a picture (PNG, JPEG, GIF, WebP) or a PDF"`
}

// Bounds of what comes with a message.
const (
	maxAttachments = 8
	maxText        = 360 << 10 // of a file that is text, since the model reads all of it
	maxPicture     = 8 << 20   // of any other
	maxUpload      = 16 << 20  // of a request that brings files
	longestName    = 255
)

// attachable are the files that models take beside text, by what their bytes say that they are.
var attachable = map[string]chat.PartKind{
	"image/png": chat.PartImage, "image/jpeg": chat.PartImage, "image/gif": chat.PartImage,
	"image/webp": chat.PartImage, "application/pdf": chat.PartFile,
}

// spokenMessage returns a message of the user with what comes with it. field is where the text stands in the body,
// empty says what is wrong without any.
func spokenMessage(text, field, empty string, files []Attachment) (chat.Message, error) {
	m := chat.Message{Role: chat.RoleUser}
	if strings.TrimSpace(text) != "" {
		m.Parts = chat.Text(text)
	}
	if len(m.Parts) == 0 && len(files) == 0 {
		return m, invalid(field, "%s", empty)
	}
	if len(files) > maxAttachments {
		return m, invalid("/attachments", "there are %d files, and %d is the most", len(files), maxAttachments).
			with("send the others with the next message")
	}
	for i := range files {
		p, err := files[i].part("/attachments/" + strconv.Itoa(i))
		if err != nil {
			return m, err
		}
		m.Parts = append(m.Parts, p)
	}
	return m, nil
}

// part returns a file as a part of a message.
func (a *Attachment) part(field string) (chat.Part, error) {
	if a.Name == "" || len(a.Name) > longestName || policy.Visible(a.Name) != a.Name {
		return chat.Part{}, invalid(field+"/name", "the name must be a line of 1 to %d bytes that can be seen",
			longestName)
	}
	data, err := base64.StdEncoding.DecodeString(a.Data)
	switch {
	case err != nil:
		return chat.Part{}, invalid(field+"/data", "the content of %s is no base64: %s", shorten.Quoted(a.Name), err).
			with("encode it with the standard alphabet, with padding")
	case len(data) == 0:
		return chat.Part{}, invalid(field+"/data", "%s is empty", shorten.Quoted(a.Name))
	}
	kind := http.DetectContentType(data)
	part, known := attachable[kind]
	switch {
	case known && len(data) > maxPicture:
		return chat.Part{}, tooBig(field, a.Name, len(data), maxPicture)
	case known:
		return chat.Part{Kind: part, MediaType: kind, Data: data, Name: a.Name}, nil
	case !files.IsText(data):
		return chat.Part{}, invalid(field+"/data", "%s is neither text nor a picture (PNG, JPEG, GIF, WebP) nor a PDF",
			shorten.Quoted(a.Name))
	case len(data) > maxText:
		return chat.Part{}, tooBig(field, a.Name, len(data), maxText)
	}
	return chat.Part{Kind: chat.PartText, Text: "=== FILE: " + a.Name + "\n" + string(data)}, nil
}

func tooBig(field, name string, size, most int) *Fault {
	f := fault(KindTooLarge, "%s has %d bytes, and %d is the most", shorten.Quoted(name), size, most).
		with("send less of it, or let the model read it with a tool")
	f.Field = field + "/data"
	return f
}
