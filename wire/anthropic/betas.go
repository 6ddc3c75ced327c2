package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// keyBetas is the key of the Extra with the features in beta that a request uses, which the header anthropic-beta
// lists. Some clients send it as a field of this name.
const keyBetas = "betas"

// maxBetas bounds the list.
const maxBetas = 64

// Betas returns the features in beta that a request names.
func Betas(req *chat.Request) (list []string) {
	if i := betasAt(req); i >= 0 {
		_ = json.Unmarshal(req.Extra[i].Value, &list) // AddBetas wrote it
	}
	return list
}

func betasAt(req *chat.Request) int {
	return slices.IndexFunc(req.Extra, func(x chat.Extra) bool {
		return x.Protocol == chat.ProtocolAnthropic && x.Key == keyBetas
	})
}

// AddBetas adds what headers list to the features in beta that a request names. Only names are taken: the list becomes
// part of a header again. All else counts as unread.
func AddBetas(req *chat.Request, headers []string) {
	list := Betas(req)
	for _, header := range headers {
		for _, name := range strings.Split(header, ",") {
			name = strings.TrimSpace(name)
			switch {
			case name == "" || slices.Contains(list, name):
			case isBeta(name) && len(list) < maxBetas:
				list = append(list, name)
			case len(req.Unread) < maxBetas:
				req.Unread = append(req.Unread, "anthropic-beta="+name)
			}
		}
	}
	if len(list) == 0 {
		return
	}
	i := betasAt(req)
	if i < 0 {
		i = len(req.Extra)
		req.Extra = append(req.Extra, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: keyBetas})
	}
	req.Extra[i].Value, _ = json.Marshal(list) // of texts
}

// isBeta reports whether a word can be the name of a feature.
func isBeta(word string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}
	return len(word) <= 100 && !strings.ContainsFunc(word, other)
}

// betas reads the field of that name.
func (d *requestReader) betas() {
	if d.Null() {
		return
	}
	var list []string
	d.Each(func() {
		if name := d.Text(); isBeta(name) {
			list = append(list, name)
		} else {
			d.Refuse(jsonbody.CodeInvalidValue, "this must be the name of a feature in beta")
		}
	})
	AddBetas(d.req, list)
}
