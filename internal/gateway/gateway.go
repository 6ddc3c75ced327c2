package gateway

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"wield/internal/modellist"
	"wield/wire/jsonbody"
)

// A Gateway is the http.Handler that New makes. Its fields do not change: what Replace puts in its place is a
// Gateway of its own, which answers from the next request on, while exchanges under way keep the one they
// began with.
type Gateway struct {
	opts    Options
	made    time.Time
	models  map[string]*Model
	names   []string // of the models, in the order given
	passive bool     // some model is exposed as ExposeToolRequest
	holders []*holder
	routes  *routes
	mounts  []Mount // the longest prefix first
	*memory
}

// memory outlives a change of the options. All that a gateway learns while it runs belongs here.
type memory struct {
	current       atomic.Pointer[Gateway] // that answers the next request
	conversations conversations
	threads       threads
	responses     responseStore
	jobs          jobs
	guesses       guesses
	logged        loggedNames
	running       atomic.Int64 // completions under way
	asked         atomic.Int64 // requests so far, of any kind
	leaving       atomic.Bool  // requests are still taken, and those who distribute them are asked to send no more
	unready       atomic.Bool  // the journal cannot be reached
	draining      atomic.Bool
	stopping      chan struct{} // closed when draining begins
}

var _ http.Handler = (*Gateway)(nil)

// New returns a gateway that serves what o says. Of two models with one name the later one counts.
func New(o Options) *Gateway {
	o.setDefaults()
	m := &memory{stopping: make(chan struct{})}
	m.responses.journal, m.responses.log = o.Journal, o.Log
	m.jobs.open()
	g := newGateway(o, m)
	g.current.Store(g)
	return g
}

// Replace makes g serve what o says from the next request on. Exchanges under way are not touched: they end
// with the models and under the rules that they began with. Keys of a name that was there before go on with
// what their limits remember.
func (g *Gateway) Replace(o Options) {
	next := newGateway(o, g.memory)
	takeUses(next.holders, g.current.Load().holders)
	g.current.Store(next)
}

func newGateway(o Options, m *memory) *Gateway {
	o.setDefaults()
	g := &Gateway{opts: o, made: time.Now(), routes: endpoints, models: make(map[string]*Model, len(o.Models)),
		memory: m}
	g.holders, g.mounts = newHolders(o.Keys, g.made), sortMounts(o.Mounts)
	for i := range o.Models {
		m := o.Models[i]
		if _, ok := g.models[m.Name]; !ok {
			g.names = append(g.names, m.Name)
		}
		if m.Created.IsZero() {
			m.Created = g.made
		}
		if m.OwnedBy == "" {
			m.OwnedBy = "wield"
		}
		g.models[m.Name] = &m
		g.passive = g.passive || m.Expose == ExposeToolRequest
	}
	return g
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g = g.current.Load()
	g.asked.Add(1)
	x := &exchange{g: g, w: w, r: r, rc: *http.NewResponseController(w), start: time.Now(), front: completionsFront,
		id: requestID(r.Header)}
	defer x.end()
	x.set("X-Request-Id", x.id)
	if r.ContentLength != 0 {
		x.rc.SetReadDeadline(x.start.Add(g.opts.BodyTimeout)) // for whoever reads the body, and for nobody
	}
	if f := g.route(x); f != nil {
		x.fail(f)
	}
}

// visible returns the names of the models that a key's holder may use.
func (g *Gateway) visible(h *holder) []string {
	names := make([]string, 0, len(g.names))
	for _, n := range g.names {
		if h.maySee(n) {
			names = append(names, n)
		}
	}
	return names
}

// find returns the model that a request names. A request that names none gets the only one there is.
func (g *Gateway) find(h *holder, name string) (*Model, *failure) {
	if name == "" {
		known := g.visible(h)
		if len(known) != 1 {
			return nil, badField("model", jsonbody.CodeMissing, "the field model is missing; "+listOf(known))
		}
		name = known[0]
	}
	m := g.lookUp(name)
	if m == nil || !h.maySee(m.Name) {
		return nil, unknownModel(name, g.visible(h))
	}
	if m.NeedsKey && h == nil {
		return nil, noKey
	}
	return m, nil
}

// lookUp returns the model of a name; nil: there is none. Where none is called just so, the case of letters
// does not count, and neither does the provider that clients put in front of the names of Lumo's models.
func (g *Gateway) lookUp(name string) *Model {
	if m := g.models[name]; m != nil {
		return m
	}
	plain := name
	if len(name) > len(lumoProvider) && strings.EqualFold(name[:len(lumoProvider)], lumoProvider) {
		plain = name[len(lumoProvider):]
	}
	var found *Model
	for known, m := range g.models {
		if strings.EqualFold(known, name) || strings.EqualFold(known, plain) {
			if found != nil {
				return nil // it is not clear which is meant
			}
			found = m
		}
	}
	return found
}

// lumoProvider stands in front of the names of Lumo's models in some clients.
const lumoProvider = "proton/"

// listModels answers GET /v1/models.
func (x *exchange) listModels() *failure {
	x.tellMessages()
	if x.front == geminiFront {
		return x.listGemini()
	}
	if f := x.authenticate(); f != nil {
		return f
	}
	names := x.g.visible(x.holder)
	if x.front == messagesFront {
		x.body(http.StatusOK, x.g.appendMessagesModels(nil, names))
		return nil
	}
	infos := make([]modellist.OpenAIModel, len(names))
	for i, n := range names {
		infos[i] = x.g.models[n].info()
	}
	x.body(http.StatusOK, modellist.AppendOpenAIModels(nil, infos))
	return nil
}

// showModel answers GET /v1/models/NAME. A name may hold slashes.
func (x *exchange) showModel() *failure {
	x.tellMessages()
	if x.front == geminiFront {
		return x.showGemini()
	}
	if f := x.authenticate(); f != nil {
		return f
	}
	name := x.arg
	m := x.g.lookUp(name)
	if m == nil || !x.holder.maySee(m.Name) {
		return unknownModel(name, x.g.visible(x.holder))
	}
	if x.front == messagesFront {
		x.body(http.StatusOK, modellist.AppendAnthropicModel(nil, m.messagesInfo()))
		return nil
	}
	x.body(http.StatusOK, modellist.AppendOpenAIModel(nil, m.info()))
	return nil
}

func (m *Model) info() modellist.OpenAIModel {
	return modellist.OpenAIModel{ID: m.Name, Created: m.Created.Unix(), OwnedBy: m.OwnedBy}
}
