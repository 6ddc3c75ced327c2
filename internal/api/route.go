package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"wield/internal/shorten"
)

// A route answers the requests of one method at the addresses of one pattern. What it says of itself is what the
// OpenAPI document says, and what requests are held to.
type route struct {
	method string
	path   string // below the prefix; {name} stands for one piece that is not empty
	name   string // of the operation
	doc    string

	stored bool   // it needs the journal
	driven bool   // it needs the runs of this process
	open   bool   // for everybody, with a key or without
	may    []Role // who may use it, if it is not open
	link   bool   // also with the token of a link
	query  []param
	in     reflect.Type // of the body; nil: there is none
	most   int64        // bytes of the body; 0: as many as of any other
	out    reflect.Type // of the answer; nil: it has no body, or media says what it is
	media  string       // content type of an answer that is no JSON
	made   int          // status of the answer; 0: 200, or 204 without a body
	none   bool         // it may also answer 204: there is nothing more, and there will be nothing
	fails  []Kind       // errors beside those that every route can answer with

	serve func(*exchange) (any, error)
	write func(*exchange) error // in place of serve: writes the answer itself
}

// A param is a parameter in the query.
type param struct {
	name, doc string
	words     []string // the only ones allowed; empty: any
	number    bool
	min, max  int64
}

var (
	limitParam  = param{name: "limit", doc: "how many, 20 if it is left out", number: true, min: 1, max: maxPage}
	filterParam = param{name: "q",
		doc: "a filter: terms such as tool:x, model:x, dialect:x, status:error, repaired:true, bounced:true, " +
			"dur:>2s, kind:run, each with - before it for what must not be, and words or \"texts\""}
	beforeParam = param{name: "before", doc: "the next of the page before", number: true, min: 1, max: 1<<53 - 1}
)

// Bounds of a page.
const (
	defaultPage = 20
	maxPage     = 100
)

// check reports what is wrong with a parameter's value.
func (p *param) check(value string) error {
	if p.number {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < p.min || n > p.max {
			return invalid(p.name, "%s must be a number from %d to %d, not %s", p.name, p.min, p.max,
				shorten.Quoted(value))
		}
	}
	if len(p.words) > 0 && !slices.Contains(p.words, value) {
		return invalid(p.name, "%s must be one of %s, not %s", p.name, strings.Join(p.words, ", "),
			shorten.Quoted(value))
	}
	return nil
}

// status returns that of a good answer.
func (r *route) status() int {
	switch {
	case r.made != 0:
		return r.made
	case r.out == nil && r.media == "":
		return http.StatusNoContent
	}
	return http.StatusOK
}

// kinds returns the errors that the route can answer with.
func (r *route) kinds() []Kind {
	var kinds []Kind
	if r.stored {
		kinds = append(kinds, KindInternal, KindUnavailable)
	} else if r.driven {
		kinds = append(kinds, KindUnavailable)
	}
	if !r.open {
		kinds = append(kinds, KindUnknown, KindForbidden)
	}
	if len(r.query) > 0 || r.in != nil {
		kinds = append(kinds, KindInvalid)
	}
	if r.in != nil {
		kinds = append(kinds, KindTooLarge, KindMedia, KindSlow)
	}
	if strings.Contains(r.path, "{") {
		kinds = append(kinds, KindNotFound)
	}
	return append(kinds, r.fails...)
}

// match returns what stands for the names in the route's path.
func (r *route) match(path string) ([]string, bool) {
	pattern, pieces := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(pattern) != len(pieces) {
		return nil, false
	}
	var args []string
	for i, p := range pattern {
		switch {
		case strings.HasPrefix(p, "{") && pieces[i] != "":
			args = append(args, pieces[i])
		case p != pieces[i]:
			return nil, false
		}
	}
	return args, true
}

// names returns the names in the route's path.
func (r *route) names() []string {
	var names []string
	for p := range strings.SplitSeq(r.path, "/") {
		if name, ok := strings.CutPrefix(p, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// driving returns the routes as those that need the runs of this process.
func driving(routes ...route) []route {
	for i := range routes {
		routes[i].driven = true
	}
	return routes
}

// journaled returns the routes as those that need the journal.
func journaled(routes ...route) []route {
	for i := range routes {
		routes[i].stored = true
	}
	return routes
}

// find returns the route of a request, and what stands for the names in its path.
func (s *Server) find(method, path string) (*route, []string, *Fault) {
	var methods []string
	for i := range s.routes {
		r := &s.routes[i]
		args, ok := r.match(path)
		switch {
		case !ok:
		case r.method == method || r.method == http.MethodGet && method == http.MethodHead:
			return r, args, nil
		default:
			methods = append(methods, r.method)
		}
	}
	if len(methods) > 0 {
		return nil, methods, fault(KindMethod, "%s is not answered here, only %s", shorten.Quoted(method),
			strings.Join(methods, ", "))
	}
	return nil, nil, fault(KindNotFound, "there is nothing at %s", shorten.Quoted(Prefix+path)).
		with("GET " + Prefix + "/openapi.json says what there is")
}
