package gateway

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/shorten"
	"wield/internal/trace"
	"wield/wire/anthropic"
	"wield/wire/jsonbody"
	"wield/wire/openai"
)

// A clientProtocol is one protocol that clients speak: how its requests are read, and how answers and errors are said
// in it. Which URLs belong to it stands in the table of endpoints.
type clientProtocol struct {
	name string // for logs and counters

	// decode reads a request for an answer of a model.
	decode func(body []byte) (*chat.Request, error)
	// whole and stream say an answer as one body and as it is made.
	whole  func(head) collector
	stream func(head) framer
	// framed says how the frames of streams are sent, of several answers in one; nil: as they are.
	framed func(of framer, answers int) framer
	// choices is how many answers a request asks for, and join says several as one body; nil: there is only one in this
	// protocol.
	choices func(*chat.Request) int
	join    func(dst []byte, answers []collector) []byte

	// appendError says an error as a whole body; status is the status of an error of this kind that a model's
	// stream ended with.
	appendError func(dst []byte, e *chat.Error) []byte
	status      func(chat.ErrorKind) int

	messages   string   // the field of a request that holds its messages, for errors about them
	form       string   // the field that says which form an answer is to have; "": response_format
	schema     string   // where a tool holds its schema; "": .function.parameters
	streamType []string // of a stream, as a header's value
	keepAlive  string   // what is sent into a stream that is silent for long; "": nothing can be
	idHeader   string   // in which clients of this protocol look for the id of a request, beside X-Request-Id; "": none
	tagged     bool     // clients put a tag behind the name of a model that has none
}

// latest is the tag of a model whose name has none.
const latest = ":latest"

// A head holds what an answer says about itself before it begins.
type head struct {
	now   time.Time
	model string // the name that the client used
	req   *chat.Request

	id     string // of the whole answer, where several are told apart by their number; "": a new one
	choice int    // that number

	annotations bool // the model's option of that name
}

// A collector makes one body of an answer's events. openai.Response is one.
type collector interface {
	Add(chat.Event)
	Append(dst []byte) []byte
}

// A framer makes the frames of a stream of an answer's events. openai.StreamWriter is one.
type framer interface {
	Append(dst []byte, e chat.Event) []byte
	AppendError(dst []byte, e *chat.Error) []byte
}

// keepAliveComment is a comment of an event stream, which every reader of one passes over.
const keepAliveComment = ": keep-alive\n\n"

// completionsFront is the OpenAI protocol for chat completions. Errors at URLs of no front are said in its form.
var completionsFront = &clientProtocol{
	name:        "openai",
	decode:      openai.DecodeRequest,
	whole:       func(h head) collector { return openai.NewResponse(completionsHead(h)) },
	stream:      func(h head) framer { return openai.NewStreamWriter(completionsHead(h)) },
	choices:     openai.Choices,
	join:        joiner(openai.AppendChoices),
	appendError: openai.AppendError,
	status:      openai.Status,
	messages:    "messages",
	streamType:  []string{"text/event-stream; charset=utf-8"},
	keepAlive:   keepAliveComment,
}

func completionsHead(h head) openai.ResponseOptions {
	return openai.ResponseOptions{ID: h.newID("chatcmpl-"), Choice: h.choice, Created: h.now.Unix(), Model: h.model,
		Usage: openai.IncludeUsage(h.req), Legacy: openai.Legacy(h.req), Custom: openai.CustomTools(h.req),
		Annotations: h.annotations}
}

// answer answers a request for an answer of a model, in the protocol of the URL.
func (x *exchange) answer(body []byte) *failure {
	req, m, f := x.decode(body)
	if f != nil {
		return f
	}
	return x.converse(m, req)
}

// decode reads a request for an answer, and finds the model that it names.
func (x *exchange) decode(body []byte) (*chat.Request, *Model, *failure) {
	req, err := x.front.decode(body)
	if err != nil {
		return nil, nil, &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	if x.front == messagesFront {
		anthropic.AddBetas(req, x.r.Header[headerBetas])
	}
	if f := manyStops(req); f != nil {
		return nil, nil, f
	}
	m, f := x.find(req.Model)
	return req, m, f
}

// manyStops refuses a request that names too many stop sequences.
func manyStops(req *chat.Request) *failure {
	if len(req.Stop) <= maxStop {
		return nil
	}
	return refuse(http.StatusBadRequest, chat.ErrBadRequest, codeTooLarge,
		"the request names more than "+strconv.Itoa(maxStop)+" stop sequences: name fewer")
}

// maxStop is how many stop sequences a request may name; each is looked for at every place of the answer.
const maxStop = 1000

// take answers a request with a body, which take is given, within the limits of whoever asks.
func (x *exchange) take(take func(*exchange, []byte) *failure) *failure {
	leave, f := x.enter()
	if f != nil {
		return f
	}
	defer leave()
	body, f := x.readBody()
	if f != nil {
		return f
	}
	return take(x, body)
}

// enter finds out who asks, and takes a place within their limits, which leave gives back.
func (x *exchange) enter() (leave func(), f *failure) {
	if f := x.authenticate(); f != nil {
		return nil, f
	}
	if f := x.takePlace(); f != nil {
		return nil, f
	}
	return x.leave, nil
}

// takePlace takes a place within the limits of the holder's key, which leave gives back.
func (x *exchange) takePlace() *failure {
	if limit, wait := x.holder.start(x.start); limit != "" {
		return overLimit(x.holder, limit, wait)
	}
	x.g.running.Add(1)
	x.placed = true
	return nil
}

// leave gives back the place that enter has taken, unless it was given back or is a job's. That happens
// before the client is sent the end of its answer: it may ask for the next one then.
func (x *exchange) leave() {
	if x.placed && !x.lent {
		x.g.giveBack(x.holder)
	}
	x.placed = false
}

// giveBack gives back a place that enter has taken.
func (g *Gateway) giveBack(h *holder) {
	g.running.Add(-1)
	h.end()
}

// find returns the model of this name, if the holder may use it, and notes it for the log.
func (x *exchange) find(name string) (*Model, *failure) {
	if x.front.tagged && x.g.lookUp(name) == nil {
		name = strings.TrimSuffix(name, latest)
	}
	m, f := x.g.find(x.holder, name)
	if f == noKey {
		f = x.g.unknownKey(x.r)
	}
	if f == nil {
		x.model = m.Name
	}
	return m, f
}

// converse asks m and answers in the form that the request wants.
func (x *exchange) converse(m *Model, req *chat.Request) *failure {
	if f := x.checkMessages(req.Messages); f != nil {
		return f
	}
	x.recognise(m, req)
	h := head{now: x.start, model: m.Name, req: req, annotations: m.Annotations}
	if x.front.choices != nil {
		if n := x.front.choices(req); n > 1 {
			return x.converseTimes(n, m, h)
		}
	}
	if req.Stream {
		return x.stream(m.Model, req, x.front.stream(h))
	}
	return x.whole(m.Model, req, x.front.whole(h))
}

// prepare completes a request for a model, and refuses what no model here does.
func (x *exchange) prepare(req *chat.Request) *failure {
	req.Caller, req.Trace = x.holder.keyName(), trace.Read(x.r.Header)
	for i := range req.Extra {
		e := &req.Extra[i]
		if e.Key != paramPasses {
			continue
		}
		switch mode := string(e.Value); mode {
		case `"single_pass"`, "null":
		case `"dual_pass_write_only"`, `"dual_pass_all"`:
			return badField(paramPasses, codePasses,
				"the value "+mode+" is refused: it has the model answer without tools first, then runs its tools "+
					"unseen and throws their answer away, so that the answer tells of what was not done; use "+
					"single_pass, or leave the field out")
		default:
			return badField(paramPasses, codePasses, "the only value of "+paramPasses+" is single_pass, not "+
				shorten.Quoted(mode))
		}
	}
	return nil
}

// paramPasses is a field in which a client may say how tools are to be run.
const paramPasses = "tool_execution_mode"

// checkMessages refuses a conversation in which nobody has said anything yet: chat templates fail on it in
// ways that name neither the field nor the reason.
func (x *exchange) checkMessages(messages []chat.Message) *failure {
	for i := range messages {
		switch messages[i].Role {
		case chat.RoleSystem, chat.RoleDeveloper:
		default:
			return nil
		}
	}
	field := x.front.messages
	if len(messages) == 0 {
		return badField(field, jsonbody.CodeMissingMsgs, field+" is empty: it must hold at least one message")
	}
	return badField(field, codeUserTurn, field+
		" holds nothing but instructions: it must hold a message of the role user")
}
