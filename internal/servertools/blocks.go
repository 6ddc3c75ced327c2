package servertools

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"wield/chat"
)

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
		"input": object{kinds[v.kind].argument: v.argument(c)}})
}

const (
	typeUse    = "server_tool_use"
	typeResult = "_tool_result"
)

// resultBlock is a result in the Messages protocol. It holds the text that the model reads, for when the client
// sends the block back.
func resultBlock(v *served, c *chat.Call, r *result) chat.Detail {
	text, kind := r.text(), string(v.kind)+typeResult
	var content any
	switch {
	case v.kind == CodeExecution:
		out := object{"type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0,
			"content": []any{}}
		if r.fault != "" {
			out["stdout"], out["stderr"], out["return_code"] = "", text, 1
		}
		content = out
	case r.fault != "":
		content = object{"type": kind + "_error", "error_code": r.fault}
	case v.kind == WebFetch:
		source := object{"type": "text", "media_type": "text/plain", "data": text}
		content = object{"type": "web_fetch_result", "url": v.argument(c),
			"retrieved_at": time.Now().UTC().Format(time.RFC3339),
			"content":      object{"type": "document", "title": v.argument(c), "source": source}}
	default:
		content = searchResults(v.argument(c), text, r.pages)
	}
	return opaque(chat.ProtocolAnthropic, kind, object{"type": kind, "tool_use_id": blockID(c.ID), "content": content})
}

// searchResults are the pages of a search. The first has the text of all. A search that names no pages is one page
// without an address.
func searchResults(query, text string, pages []searchHit) []object {
	if len(pages) == 0 {
		pages = []searchHit{{title: query}}
	}
	list := make([]object, len(pages))
	for i, p := range pages {
		list[i] = object{"type": "web_search_result", "url": p.url, "title": p.title, "encrypted_content": "",
			"page_age": nil}
	}
	list[0]["encrypted_content"] = base64.StdEncoding.EncodeToString([]byte(text))
	return list
}

// item is a call with its result in the Responses protocol.
func item(v *served, c *chat.Call, r *result) chat.Detail {
	item := object{"type": "web_search_call", "id": "ws_w_" + c.ID, "status": "completed"}
	switch v.kind {
	case CodeExecution:
		item = object{"type": "code_interpreter_call", "id": "ci_w_" + c.ID, "status": "completed",
			"code": v.argument(c), "container_id": "cntr_wield",
			"outputs": []object{{"type": "logs", "logs": r.text()}}}
	case WebFetch:
		item["action"] = object{"type": "open_page", "url": v.argument(c)}
	default:
		sources := []object{}
		for _, p := range r.pages {
			sources = append(sources, object{"type": "url", "url": p.url})
		}
		item["action"] = object{"type": "search", "query": v.argument(c), "sources": sources}
	}
	if r.fault != "" {
		item["status"] = "failed"
	}
	return opaque(chat.ProtocolResponses, "item", item)
}

// codePart is a program in the Gemini API; its other tools have no part for a call.
func codePart(v *served, c *chat.Call) chat.Detail {
	if v.kind != CodeExecution {
		return nil
	}
	code := object{"language": "PYTHON", "code": v.argument(c)}
	return opaque(chat.ProtocolGemini, "part", object{"executableCode": code})
}

// A grounding holds all searches and pages of an answer: the Gemini API lists them together.
type grounding struct {
	queries []string
	chunks  []object
	pages   []object
}

// metadata returns a result in the Gemini API.
func (g *grounding) metadata(v *served, c *chat.Call, r *result) chat.Detail {
	switch v.kind {
	case CodeExecution:
		ran := object{"outcome": "OUTCOME_OK", "output": r.text()}
		if r.fault != "" {
			ran["outcome"] = "OUTCOME_FAILED"
		}
		return opaque(chat.ProtocolGemini, "part", object{"codeExecutionResult": ran})
	case WebFetch:
		status := "URL_RETRIEVAL_STATUS_SUCCESS"
		if r.fault != "" {
			status = "URL_RETRIEVAL_STATUS_ERROR"
		}
		g.pages = append(g.pages, object{"retrievedUrl": v.argument(c), "urlRetrievalStatus": status})
		return opaque(chat.ProtocolGemini, "urlContextMetadata", object{"urlMetadata": g.pages})
	}
	g.queries = append(g.queries, v.argument(c))
	for _, p := range r.pages {
		g.chunks = append(g.chunks, object{"web": object{"uri": p.url, "title": p.title}})
	}
	return opaque(chat.ProtocolGemini, "groundingMetadata",
		object{"webSearchQueries": g.queries, "groundingChunks": g.chunks})
}
