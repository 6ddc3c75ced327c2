package servertools

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"wield/chat"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// An object is JSON as a protocol has it.
type object = map[string]any

func opaque(p chat.Protocol, key string, value any) chat.Detail {
	raw, _ := json.Marshal(value) // of texts and numbers
	return chat.Opaque{{Protocol: p, Key: key, Value: raw}}
}

// idPrefix begins the ids of blocks in the Messages protocol that are wield's, so that they are known again.
const idPrefix = "srvtoolu_w_"

func blockID(id string) string {
	return idPrefix + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

// useBlock is a call in the Messages protocol.
func useBlock(v *served, c *chat.Call) chat.Detail {
	return opaque(chat.ProtocolAnthropic, typeUse, object{"type": typeUse, "id": blockID(c.ID), "name": string(v.kind),
		"input": object{kinds[v.kind].argument: argument(v.kind, c)}})
}

const (
	typeUse    = "server_tool_use"
	typeResult = "_tool_result"
)

// resultBlock is a result in the Messages protocol. The text that the model reads is in it, so that it is known when the
// client sends the block back.
func resultBlock(v *served, c *chat.Call, r *result) chat.Detail {
	m := r.chat.Message()
	text, kind := m.Text(), string(v.kind)+typeResult
	var content any
	switch {
	case v.kind == CodeExecution:
		out := object{"type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0, "content": []any{}}
		if r.fault != "" {
			out["stdout"], out["stderr"], out["return_code"] = "", text, 1
		}
		content = out
	case r.fault != "":
		content = object{"type": kind + "_error", "error_code": r.fault}
	case v.kind == WebFetch:
		content = object{"type": "web_fetch_result", "url": argument(v.kind, c), "retrieved_at": time.Now().UTC().Format(time.RFC3339),
			"content": object{"type": "document", "title": argument(v.kind, c),
				"source": object{"type": "text", "media_type": "text/plain", "data": text}}}
	default:
		content = searchResults(argument(v.kind, c), text, r.pages)
	}
	return opaque(chat.ProtocolAnthropic, kind, object{"type": kind, "tool_use_id": blockID(c.ID), "content": content})
}

// searchResults are the pages of a search. The first has the text of all. A search that names no pages is one page
// without an address.
func searchResults(query, text string, pages []page) []object {
	if len(pages) == 0 {
		pages = []page{{title: query}}
	}
	list := make([]object, len(pages))
	for i, p := range pages {
		list[i] = object{"type": "web_search_result", "url": p.url, "title": p.title, "encrypted_content": "", "page_age": nil}
	}
	list[0]["encrypted_content"] = base64.StdEncoding.EncodeToString([]byte(text))
	return list
}

// item is a call with its result in the Responses protocol.
func item(v *served, c *chat.Call, r *result) chat.Detail {
	status := "completed"
	if r.fault != "" {
		status = "failed"
	}
	m := r.chat.Message()
	switch v.kind {
	case CodeExecution:
		return opaque(chat.ProtocolResponses, "item", object{"type": "code_interpreter_call", "id": "ci_w_" + c.ID, "status": status,
			"code": argument(v.kind, c), "container_id": "cntr_wield", "outputs": []object{{"type": "logs", "logs": m.Text()}}})
	case WebFetch:
		return opaque(chat.ProtocolResponses, "item", object{"type": "web_search_call", "id": "ws_w_" + c.ID, "status": status,
			"action": object{"type": "open_page", "url": argument(v.kind, c)}})
	}
	sources := []object{}
	for _, p := range r.pages {
		sources = append(sources, object{"type": "url", "url": p.url})
	}
	return opaque(chat.ProtocolResponses, "item", object{"type": "web_search_call", "id": "ws_w_" + c.ID, "status": status,
		"action": object{"type": "search", "query": argument(v.kind, c), "sources": sources}})
}

// codePart is a program in the Gemini API; its other tools have no part for a call.
func codePart(v *served, c *chat.Call) chat.Detail {
	if v.kind != CodeExecution {
		return nil
	}
	return opaque(chat.ProtocolGemini, "part", object{"executableCode": object{"language": "PYTHON", "code": argument(v.kind, c)}})
}

// A grounding is what the Gemini API tells of all searches and pages of an answer.
type grounding struct {
	queries []string
	chunks  []object
	pages   []object
}

// metadata returns a result in the Gemini API.
func (g *grounding) metadata(v *served, c *chat.Call, r *result) chat.Detail {
	m := r.chat.Message()
	switch v.kind {
	case CodeExecution:
		outcome := "OUTCOME_OK"
		if r.fault != "" {
			outcome = "OUTCOME_FAILED"
		}
		return opaque(chat.ProtocolGemini, "part", object{"codeExecutionResult": object{"outcome": outcome, "output": m.Text()}})
	case WebFetch:
		status := "URL_RETRIEVAL_STATUS_SUCCESS"
		if r.fault != "" {
			status = "URL_RETRIEVAL_STATUS_ERROR"
		}
		g.pages = append(g.pages, object{"retrievedUrl": argument(v.kind, c), "urlRetrievalStatus": status})
		return opaque(chat.ProtocolGemini, "urlContextMetadata", object{"urlMetadata": g.pages})
	}
	g.queries = append(g.queries, argument(v.kind, c))
	for _, p := range r.pages {
		g.chunks = append(g.chunks, object{"web": object{"uri": p.url, "title": p.title}})
	}
	return opaque(chat.ProtocolGemini, "groundingMetadata", object{"webSearchQueries": g.queries, "groundingChunks": g.chunks})
}
