package gateway

import (
	"net/http"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
	"wield/schema/near"
)

// The URLs that are named elsewhere.
const (
	pathCompletions     = "/v1/chat/completions"
	pathModels          = "/v1/models"
	pathTextCompletions = "/v1/completions"
	pathHealth          = "/health"
	pathMetrics         = "/metrics"
	pathChat            = "/api/chat" // Ollama's
	pathShow            = "/api/show"
	pathAdmin           = "/admin/"
	pathCaptures        = pathAdmin + "captures"

	basePath = "/v1" // of most, and the end of many clients' base URLs
)

// An endpoint answers the requests of one method at the URLs of one pattern.
type endpoint struct {
	method string // GET stands for HEAD as well
	// path may hold a *, which stands for any text that is not empty, slashes included; exchange.arg has it, and with a
	// second one at the end all from the first on. Of several that fit, the one with the most of its own text counts.
	path  string
	front *clientProtocol // whose protocol it is
	serve func(*exchange) *failure
	// in place of serve: what answers a body, within the limits of whoever sends it
	take func(*exchange, []byte) *failure
}

// endpoints are all URLs that are answered.
var endpoints = newRoutes(
	endpoint{http.MethodPost, pathCompletions, completionsFront, nil, (*exchange).complete},
	endpoint{http.MethodPost, pathResponses, responsesFront, nil, (*exchange).respond},
	endpoint{http.MethodPost, pathInputTokens, responsesFront, nil, (*exchange).countInput},
	endpoint{http.MethodPost, pathCompact, responsesFront, nil, (*exchange).compact},
	endpoint{http.MethodGet, pathResponses + "/*", responsesFront, (*exchange).showResponse, nil},
	endpoint{http.MethodDelete, pathResponses + "/*", responsesFront, (*exchange).deleteResponse, nil},
	endpoint{http.MethodPost, pathResponses + "/*/cancel", responsesFront, (*exchange).cancelResponse, nil},
	endpoint{http.MethodGet, pathResponses + "/*/input_items", responsesFront, (*exchange).listInput, nil},
	endpoint{http.MethodPost, pathConversations, responsesFront, (*exchange).createConversation, nil},
	endpoint{http.MethodGet, pathConversations + "/*", responsesFront, (*exchange).showConversation, nil},
	endpoint{http.MethodPost, pathConversations + "/*", responsesFront, (*exchange).changeConversation, nil},
	endpoint{http.MethodDelete, pathConversations + "/*", responsesFront, (*exchange).deleteConversation, nil},
	endpoint{http.MethodGet, pathConversations + "/*/items", responsesFront, (*exchange).listConversation, nil},
	endpoint{http.MethodPost, pathConversations + "/*/items", responsesFront, (*exchange).extendConversation, nil},
	endpoint{http.MethodGet, pathConversations + "/*/items/*", responsesFront, (*exchange).showItem, nil},
	endpoint{http.MethodDelete, pathConversations + "/*/items/*", responsesFront, (*exchange).deleteItem, nil},
	endpoint{http.MethodPost, pathMessages, messagesFront, nil, (*exchange).answer},
	endpoint{http.MethodPost, pathCountTokens, messagesFront, nil, (*exchange).countTokens},
	endpoint{http.MethodPost, pathGemini + "/*:generateContent", geminiFront, nil, (*exchange).generate},
	endpoint{http.MethodPost, pathGemini + "/*:streamGenerateContent", geminiFront, nil, (*exchange).generateStream},
	endpoint{http.MethodPost, pathGemini + "/*:countTokens", geminiFront, nil, (*exchange).countContent},
	endpoint{http.MethodPost, pathModels + "/*:generateContent", geminiFront, nil, (*exchange).generate},
	endpoint{http.MethodPost, pathModels + "/*:streamGenerateContent", geminiFront, nil, (*exchange).generateStream},
	endpoint{http.MethodPost, pathModels + "/*:countTokens", geminiFront, nil, (*exchange).countContent},
	endpoint{http.MethodGet, pathGemini, geminiFront, (*exchange).listGemini, nil},
	endpoint{http.MethodGet, pathGemini + "/*", geminiFront, (*exchange).showGemini, nil},
	endpoint{http.MethodPost, "/v1/embeddings", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, pathTextCompletions, completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/rerank", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/moderations", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/images/generations", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/images/edits", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/images/variations", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/audio/speech", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/audio/transcriptions", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, "/v1/audio/translations", completionsFront, nil, (*exchange).relay},
	endpoint{http.MethodPost, pathFiles, completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathFiles, completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathFiles + "/*", completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodDelete, pathFiles + "/*", completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathFiles + "/*/content", completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodPost, pathBatches, completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathBatches, completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathBatches + "/*", completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodPost, pathBatches + "/*/cancel", completionsFront, nil, (*exchange).keep},
	endpoint{http.MethodPost, pathMessageBatches, messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathMessageBatches, messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathMessageBatches + "/*", messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodDelete, pathMessageBatches + "/*", messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodPost, pathMessageBatches + "/*/cancel", messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodGet, pathMessageBatches + "/*/results", messagesFront, nil, (*exchange).keep},
	endpoint{http.MethodPost, pathEmbed, ollamaFront, nil, (*exchange).embed},
	endpoint{http.MethodPost, pathEmbeddings, ollamaFront, nil, (*exchange).embed},
	endpoint{http.MethodGet, pathModels, completionsFront, (*exchange).listModels, nil},
	endpoint{http.MethodGet, pathModels + "/*", completionsFront, (*exchange).showModel, nil},
	endpoint{http.MethodPost, pathChat, ollamaFront, nil, (*exchange).ollamaAnswer},
	endpoint{http.MethodPost, "/api/generate", ollamaGenerate, nil, (*exchange).ollamaAnswer},
	endpoint{http.MethodGet, "/api/tags", ollamaFront, (*exchange).ollamaTags, nil},
	endpoint{http.MethodGet, "/api/ps", ollamaFront, (*exchange).ollamaRunning, nil},
	endpoint{http.MethodPost, pathShow, ollamaFront, (*exchange).ollamaShow, nil},
	endpoint{http.MethodGet, "/api/version", ollamaFront, (*exchange).ollamaVersion, nil},
	endpoint{http.MethodPost, "/api/pull", ollamaFront, (*exchange).ollamaManage, nil},
	endpoint{http.MethodPost, "/api/push", ollamaFront, (*exchange).ollamaManage, nil},
	endpoint{http.MethodPost, "/api/create", ollamaFront, (*exchange).ollamaManage, nil},
	endpoint{http.MethodPost, "/api/copy", ollamaFront, (*exchange).ollamaManage, nil},
	endpoint{http.MethodDelete, "/api/delete", ollamaFront, (*exchange).ollamaManage, nil},
	endpoint{http.MethodGet, pathHealth, completionsFront, (*exchange).health, nil},
	endpoint{http.MethodGet, pathMetrics, completionsFront, (*exchange).metrics, nil},
	endpoint{http.MethodGet, pathCaptures, completionsFront, (*exchange).listCaptures, nil},
	endpoint{http.MethodGet, pathCaptures + "/*", completionsFront, (*exchange).showCapture, nil},
)

// routes are endpoints, ordered for finding one. The paths are few and fixed, so this is all the routing there is; a
// http.ServeMux would answer unknown ones in a form of its own.
type routes struct {
	exact    map[string][]endpoint // by path, one for each method
	patterns []pattern             // with a *, those with the most text first
}

type pattern struct {
	before, behind string // the text around the *
	endpoints      []endpoint
}

// fits returns what stands in the place of the * in a path, and reports whether the path is one of the pattern.
func (p *pattern) fits(path string) (arg string, ok bool) {
	arg, ok = strings.CutPrefix(path, p.before)
	if middle, two := strings.CutSuffix(p.behind, "*"); two {
		first, last, found := strings.Cut(arg, middle)
		return arg, ok && found && first != "" && last != ""
	}
	arg, behind := strings.CutSuffix(arg, p.behind)
	return arg, ok && behind && arg != ""
}

func newRoutes(all ...endpoint) *routes {
	r := &routes{exact: map[string][]endpoint{}}
	for _, e := range all {
		before, behind, ok := strings.Cut(e.path, "*")
		if !ok {
			r.exact[e.path] = append(r.exact[e.path], e)
			continue
		}
		i := slices.IndexFunc(r.patterns, func(p pattern) bool { return p.before == before && p.behind == behind })
		if i < 0 {
			i = len(r.patterns)
			r.patterns = append(r.patterns, pattern{before: before, behind: behind})
		}
		r.patterns[i].endpoints = append(r.patterns[i].endpoints, e)
	}
	slices.SortStableFunc(r.patterns, func(a, b pattern) int {
		return len(b.before) + len(b.behind) - len(a.before) - len(a.behind)
	})
	return r
}

// at returns the endpoints of a path, one for each method, and what stands in the place of the *. There are
// none if nothing is at that path.
func (r *routes) at(path string) (found []endpoint, arg string) {
	if found := r.exact[path]; found != nil {
		return found, ""
	}
	for _, p := range r.patterns {
		if arg, ok := p.fits(path); ok {
			return p.endpoints, arg
		}
	}
	return nil, ""
}

// meant returns the path that a client means whose address lacks /v1, has it twice, or has a slash too many; "" if
// there is none.
func (r *routes) meant(path string) string {
	plain := strings.TrimRight(path, "/")
	for strings.Contains(plain, "//") {
		plain = strings.ReplaceAll(plain, "//", "/")
	}
	for _, p := range []string{plain, basePath + plain, strings.Replace(plain, basePath+basePath+"/",
		basePath+"/", 1)} {
		if _, exact := r.exact[p]; exact && p != path {
			return p
		}
	}
	if found, _ := r.at(plain); plain != path && len(found) > 0 {
		return plain
	}
	return ""
}

// frontOf returns the protocol whose errors the client of an unknown URL can read.
func frontOf(r *http.Request) *clientProtocol {
	switch {
	case r.Header.Get("Anthropic-Version") != "", strings.HasPrefix(r.URL.Path, pathMessages):
		return messagesFront
	case strings.HasPrefix(r.URL.Path, "/api/"), strings.HasPrefix(r.UserAgent(), "ollama-"):
		return ollamaFront
	case strings.HasPrefix(r.URL.Path, "/v1beta"), strings.HasPrefix(r.URL.Path, "/v1alpha"):
		return geminiFront
	}
	return completionsFront
}

// suggest returns what a client that asked for a path which is not there may have meant, "" if nothing is
// like it. Where the service is administered is nobody's mistake, so that it is not told.
func (r *routes) suggest(path string) string {
	var known []string
	for p := range r.exact {
		if !strings.HasPrefix(p, pathAdmin) {
			known = append(known, p)
		}
	}
	slices.Sort(known) // of several that are as near the answer is always the same
	meant := near.Name(path, known)
	for _, p := range []string{strings.TrimRight(path, "/"), basePath + path,
		strings.ReplaceAll(path, basePath+basePath, basePath)} {
		if found, _ := r.at(p); len(found) > 0 {
			meant = p
		}
	}
	if meant == "" || meant == path {
		return ""
	}
	found, _ := r.at(meant)
	return found[0].method + " " + meant
}

// forMethod returns the one of the endpoints that answers the method, or nil.
func forMethod(found []endpoint, method string) *endpoint {
	for i := range found {
		if e := &found[i]; method == e.method || method == http.MethodHead && e.method == http.MethodGet {
			return e
		}
	}
	return nil
}

// methods is the list for the header Allow.
func methods(found []endpoint) string {
	var b strings.Builder
	for i, e := range found {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(e.method)
		if e.method == http.MethodGet {
			b.WriteString(", " + http.MethodHead)
		}
	}
	return b.String()
}

// route checks where a request comes from, and hands it to what its URL names.
func (g *Gateway) route(x *exchange) *failure {
	found, arg := g.routes.at(x.r.URL.Path)
	if len(found) == 0 && (x.r.Method == http.MethodPost || g.mounted(x.r.URL.Path) == nil) {
		if plain := g.routes.meant(x.r.URL.Path); plain != "" {
			u := *x.r.URL
			u.Path = plain
			r := *x.r
			r.URL = &u
			x.r = &r
			found, arg = g.routes.at(plain)
		}
		x.front = frontOf(x.r)
	}
	if len(found) > 0 {
		x.front, x.arg, x.path = found[0].front, arg, found[0].path
		if strings.HasPrefix(x.r.URL.Path, pathFiles) { // two protocols have these
			x.front = frontOf(x.r)
		}
	}
	if x.front.idHeader != "" {
		x.set(x.front.idHeader, x.id)
	}
	if f := g.checkHost(x.r); f != nil {
		return f
	}
	if f := g.checkOrigin(x.w, x.r); f != nil {
		return f
	}
	e := forMethod(found, x.r.Method)
	switch {
	case len(found) == 0:
		if m := g.mounted(x.r.URL.Path); m != nil {
			return x.serveMount(m)
		}
		return g.unknownURL(x.r)
	case e != nil && e.take != nil:
		return x.take(e.take)
	case e != nil:
		return e.serve(x)
	case x.r.Method == http.MethodOptions && g.allowsOrigin(x.r.Header.Get("Origin")):
		x.preflight(methods(found))
		return nil
	case x.front == geminiFront && x.r.Method == http.MethodPost: // MODEL:embedContent and the like
		return g.unknownURL(x.r)
	}
	f := refuse(http.StatusMethodNotAllowed, chat.ErrBadRequest, codeMethod,
		shorten.Quoted(x.r.Method)+" is not answered at this URL, only "+methods(found))
	f.allow = methods(found)
	return f
}

// unknownURL says that nothing is there, and what the client may have meant.
func (g *Gateway) unknownURL(r *http.Request) *failure {
	path := r.URL.Path
	message := "unknown URL: " + r.Method + " " + shorten.Quoted(path) + "; "
	if found, _ := g.routes.at(basePath + path); len(found) > 0 || strings.HasPrefix(path, basePath+basePath+"/") {
		message += "the client's base URL must end in /v1 and hold it once; "
	}
	if meant := g.routes.suggest(path); meant != "" {
		message += "did you mean " + meant + "?"
	} else {
		message += "models are asked with POST " + pathCompletions + ", " + pathResponses + ", " + pathMessages +
			" or " + pathChat
	}
	return refuse(http.StatusNotFound, chat.ErrNotFound, codeURL, message)
}
