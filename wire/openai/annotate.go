package openai

import (
	"encoding/json"
	"strconv"

	"wield/chat"
	"wield/schema/shape"
)

// annotations tell of tools that the backend itself ran: one annotation for each of their calls, and, as the protocol
// has it for searches, one for each page that was found.
type annotations struct {
	wanted bool
	calls  []nativeCall // that have no result yet
}

type nativeCall struct{ id, name, arguments string }

// add appends the annotations that e makes, joined by commas, none for most events.
func (a *annotations) add(dst []byte, e chat.Event) []byte {
	switch {
	case !a.wanted:
	case e.Kind == chat.KindNativeCall:
		a.calls = append(a.calls, nativeCall{e.ID, e.Name, e.Text})
	case e.Kind == chat.KindNativeResult:
		result, ok := e.Detail.(*chat.Result)
		return appendCitations(appendNative(dst, a.take(e), &e.Text, ok && result.IsError), e.Text)
	case e.Kind == chat.KindFinish:
		for i, c := range a.calls {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendNative(dst, c, nil, false)
		}
		a.calls = nil
	}
	return dst
}

// take returns the call that a result belongs to.
func (a *annotations) take(e chat.Event) nativeCall {
	for i, c := range a.calls {
		if c.id == e.ID {
			a.calls = append(a.calls[:i], a.calls[i+1:]...)
			return c
		}
	}
	return nativeCall{id: e.ID, name: e.Name}
}

// appendNative appends the annotation of a call. The protocol has no type for it; clients pass over those that they
// do not know.
func appendNative(dst []byte, c nativeCall, result *string, failed bool) []byte {
	dst = shape.AppendQuoted(append(dst, `{"type":"native_tool","native_tool":{"id":`...), c.id)
	dst = shape.AppendQuoted(append(dst, `,"name":`...), c.name)
	dst = shape.AppendQuoted(append(dst, `,"arguments":`...), c.arguments)
	dst = append(dst, `,"result":`...)
	if result == nil {
		dst = append(dst, "null"...)
	} else {
		dst = shape.AppendQuoted(dst, *result)
	}
	dst = strconv.AppendBool(append(dst, `,"is_error":`...), failed)
	return append(dst, "}}"...)
}

// appendCitations appends the pages that a search has found. Where in the text they are used nobody says.
func appendCitations(dst []byte, result string) []byte {
	var found struct {
		Results []struct {
			URL   string `json:"url"`
			Title string `json:"title"`
		} `json:"results"`
	}
	if json.Unmarshal([]byte(result), &found) != nil {
		return dst
	}
	for _, p := range found.Results {
		if p.URL == "" {
			continue
		}
		dst = shape.AppendQuoted(append(dst, `,{"type":"url_citation","url_citation":{"url":`...), p.URL)
		dst = shape.AppendQuoted(append(dst, `,"title":`...), p.Title)
		dst = append(dst, `,"start_index":0,"end_index":0}}`...)
	}
	return dst
}

// appendAnnotations appends a frame with the annotations that e makes.
func (w *StreamWriter) appendAnnotations(dst []byte, e chat.Event) []byte {
	list := w.natives.add(nil, e)
	if len(list) == 0 {
		return dst
	}
	dst = w.appendRole(w.flushText(dst))
	dst = append(dst, w.head...)
	dst = append(append(dst, `{"annotations":[`...), list...)
	return append(append(dst, "]}"...), w.tail...)
}

// addAnnotations takes in the annotations that e makes.
func (r *Response) addAnnotations(e chat.Event) {
	at := len(r.annotations)
	if at > 0 {
		r.annotations = append(r.annotations, ',')
	}
	if r.annotations = r.natives.add(r.annotations, e); len(r.annotations) == at+1 && at > 0 {
		r.annotations = r.annotations[:at]
	}
}
