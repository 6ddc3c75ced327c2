// Package doctor looks at the models of a service one by one and says what works, what does not, and what mends it.
//
// Words:
//
//   - A finding is one thing that was looked at: how it is, and where it is not well, a fix.
//   - A patient is one model as its backend serves it, before any bridge.
//
// Each finding rests on a request that was really made. What cannot be looked at because something before it
// failed is passed over, and says so.
package doctor

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/internal/browser"
	"wield/internal/tune"
	"wield/model/openai"
)

// A State says how something is.
type State string

// The states, from good to bad.
const (
	OK      State = "ok"
	Note    State = "note" // works, but could work better
	Failed  State = "failed"
	Skipped State = "skipped"
)

// A Finding reports one check.
type Finding struct {
	About string `json:"about"` // what was looked at, such as a model or the configuration
	Check string `json:"check"`
	State State  `json:"state"`
	Says  string `json:"says"`
	Fix   string `json:"fix,omitempty"`
}

// A Patient is one model as its backend serves it.
type Patient struct {
	Scripted bool           // it answers from a scenario, so that a call that it does not make is no fault
	Name     string         // for clients
	Backend  string         // in the configuration
	Model    chat.Model     // without a bridge
	Bridge   bridge.Options // of its bridge
	Served   string         // its name at the backend
	Address  string         // of the backend; empty: it runs inside wield
	Set      tune.Candidate // how the configuration gives it tools; Mode auto if that is left open
}

// Options say how closely to look.
type Options struct {
	Timeout  time.Duration // of one request; 0: a minute
	Quick    bool          // ask for no calls of tools
	Dialects []string      // to ask for calls in; nil: those of the model's family and a few that most models follow
}

// common are dialects that models follow that were never taught one, and the one that most were taught.
var common = []string{"json-fence", "hermes"}

// Examine looks at a patient and yields each finding as it is made.
func Examine(ctx context.Context, p Patient, o Options) iter.Seq[Finding] {
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	return func(yield func(Finding) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		v := visit{ctx: ctx, cancel: cancel, p: p, o: o, yield: yield, about: "model " + p.Name}
		v.examine()
	}
}

func (v *visit) examine() {
	if !v.answers() {
		for _, check := range []string{"streams", "function calling", "dialect"} {
			v.say(check, Skipped, "the model does not answer", "")
		}
		return
	}
	v.streams()
	v.constrains()
	if v.o.Quick {
		v.say("function calling", Skipped, "not tested with --quick", "")
		v.say("dialect", Skipped, "not tested with --quick", "")
		return
	}
	v.calls()
}

// A visit is one examination.
type visit struct {
	p     Patient
	o     Options
	yield func(Finding) bool
	about string

	ctx    context.Context // of the requests; it ends when nobody wants to know more
	cancel context.CancelFunc
}

func (v *visit) say(check string, s State, says, fix string) {
	if v.ctx.Err() == nil && !v.yield(Finding{About: v.about, Check: check, State: s, Says: says, Fix: fix}) {
		v.cancel()
	}
}

// answers asks for a word, whole. It tells apart that nobody is there, that the key is refused and that the
// model is unknown.
func (v *visit) answers() bool {
	start := time.Now()
	text, _, err := v.ask(false)
	took := time.Since(start).Round(time.Millisecond)
	if err == nil {
		v.say("reachable", OK, v.where(), "")
		v.say("authorized", OK, "the backend accepts the request", "")
		if strings.TrimSpace(text) == "" {
			v.say("answers", Note, fmt.Sprintf("empty response after %v", took),
				"check the log of the backend; a reasoning model may need a higher token limit")
			return true
		}
		v.say("answers", OK, fmt.Sprintf("after %v", took), "")
		return true
	}
	e := chat.AsError(err)
	d, ok := codes[e.Code]
	if !ok && !(e.Kind == chat.ErrUnavailable && e.Status >= http.StatusInternalServerError) {
		// who answers so is there
		d = diagnoses[e.Kind]
	}
	if d.check == "" {
		d = diagnosis{"answers", "check the log of the backend: " + v.where()}
	}
	if d.check != "reachable" && d.check != "browser" {
		v.say("reachable", OK, v.where(), "")
	}
	if d.check == "answers" {
		v.say("authorized", OK, "the backend accepts the key", "")
	}
	v.say(d.check, Failed, e.Error(), strings.NewReplacer("ADDRESS", v.where(), "BACKEND", v.p.Backend, "NAME",
		v.p.Name, "SERVED", v.p.Served).Replace(d.fix))
	return false
}

// A diagnosis explains an error of a backend, by its kind.
type diagnosis struct{ check, fix string }

var diagnoses = map[chat.ErrorKind]diagnosis{
	chat.ErrUnavailable: {"reachable", "start the server at ADDRESS, or correct backends.BACKEND.url"},
	chat.ErrTimeout: {"reachable",
		"the server at ADDRESS does not respond: wait until the model is loaded, or use a longer --timeout"},
	chat.ErrProtocol: {"reachable",
		"the server at ADDRESS does not speak the protocol of backends.BACKEND.kind: check the path of url, which " +
			"ends in /v1 for most servers"},
	chat.ErrAuth: {"authorized",
		"set backends.BACKEND.key to env:VARIABLE or file:PATH, and check that the key may use the model"},
	chat.ErrNotFound:   {"answers", "the backend has no model SERVED: set models.NAME.model to its name there"},
	chat.ErrRateLimit:  {"answers", "the rate limit of the backend is reached: try again later, or use another key"},
	chat.ErrOverloaded: {"answers", "the backend is overloaded: try again later"},
}

// codes are the diagnoses of errors with a code of their own. Where there is no fix, the error has one.
var codes = map[string]diagnosis{
	openai.CodePath: {"reachable",
		"set backends.BACKEND.url to the complete address: for most servers it ends in /v1"},
	browser.CodeBrowser: {"browser",
		"install Chromium, or set backends.BACKEND.browser.program to the path of a browser"},
	browser.CodeSandbox: {"browser",
		"run wield as a user other than root, or, in a container of its own, set backends.BACKEND.browser.sandbox: " +
			"false"},
	browser.CodeInUse: {"browser",
		"close the other browser with this profile, or set backends.BACKEND.browser.profile to another directory"},
	browser.CodeLoad: {"reachable",
		"open ADDRESS in your own browser; check backends.BACKEND.url, proxy and hosts"},
	browser.CodeLogin: {"authorized", "run wield browser login BACKEND"},
	browser.CodeSelector: {"answers",
		"open ADDRESS in a browser, find the element with its developer tools, and set its selector under " +
			"backends.BACKEND.browser"},
	browser.CodeSend: {"answers",
		"under backends.BACKEND, browser.prompt must select the input field and browser.send the send button"},
	browser.CodeClosed: {"answers", "try again; if it fails again, open ADDRESS in your own browser"},
}

func (v *visit) where() string {
	if v.p.Address == "" {
		return "inside wield"
	}
	return v.p.Address
}

// streams asks for a few words as they are written.
func (v *visit) streams() {
	_, pieces, err := v.ask(true)
	switch {
	case err != nil:
		v.say("streams", Failed, chat.AsError(err).Error(),
			"the backend fails with stream: true; check whether it needs an option for streaming")
	case pieces < 2:
		v.say("streams", Note, "the response arrives in one piece",
			"a proxy may buffer the response; clients see the text late, but it is complete")
	default:
		v.say("streams", OK, fmt.Sprintf("%d chunks", pieces), "")
	}
}

// constrainedTo is an answer that no model would give unless it is constrained to it.
const constrainedTo = "berth 7"

// constrains asks for a greeting in a form that excludes it, where the configuration says that the backend takes forms:
// a server that does not know the field leaves it out without a word.
func (v *visit) constrains() {
	f := chat.Format{Kind: chat.FormatSchema, Name: "answer",
		Schema: []byte(`{"type":"object","properties":{"answer":{"type":"string","enum":["` +
			constrainedTo + `"]}},"required":["answer"],"additionalProperties":false}`)}
	switch v.p.Bridge.Constraint {
	case bridge.ConstraintLlamaCPP:
		f = chat.Format{Kind: chat.FormatGrammar, Name: "answer", Grammar: `root ::= "` + constrainedTo + `"`}
	case bridge.ConstraintOpenAI, bridge.ConstraintVLLM, bridge.ConstraintSGLang:
	default:
		return
	}
	text, _, err := v.answer(&chat.Request{Model: v.p.Served, MaxTokens: 64, Format: &f,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Say hello.")}}})
	const fix = "correct backends.BACKEND.constrain, or set it to auto; calls are then checked, and sent back for a " +
		"retry"
	where := strings.ReplaceAll(fix, "BACKEND", v.p.Backend)
	switch {
	case err != nil:
		v.say("constrains", Failed, chat.AsError(err).Error(), where)
	case !strings.Contains(text, constrainedTo):
		v.say("constrains", Failed, fmt.Sprintf("the server ignores constrain: %s", v.p.Bridge.Constraint), where)
	default:
		v.say("constrains", OK, string(v.p.Bridge.Constraint), "")
	}
}

// ask asks for a few words, and counts the pieces in which they come.
func (v *visit) ask(stream bool) (text string, pieces int, err error) {
	return v.answer(&chat.Request{Model: v.p.Served, Stream: stream,
		Messages: []chat.Message{{Role: chat.RoleUser,
			Parts: chat.Text("Count from one to ten in words, and say nothing else.")}}})
}

// answer returns the answer to a request, and the number of its pieces.
func (v *visit) answer(req *chat.Request) (text string, pieces int, err error) {
	ctx, cancel := context.WithTimeout(v.ctx, v.o.Timeout)
	defer cancel()
	var b strings.Builder
	for e, err := range v.p.Model.Stream(ctx, req) {
		if err != nil {
			return "", pieces, err
		}
		switch e.Kind {
		case chat.KindText, chat.KindReasoning:
			b.WriteString(e.Text)
			pieces++
		}
	}
	return b.String(), pieces, nil
}

// calls asks for calls of tools, through function calling and in dialects.
func (v *visit) calls() {
	dialects := v.o.Dialects
	if dialects == nil {
		dialects = append(append(dialects, v.p.Bridge.Decode.Prefer...), common...)
		if d := v.p.Set.Dialect; d != "" && d != "auto" {
			dialects = append([]string{d}, dialects...)
		}
	}
	trials, err := tune.Trials(v.ctx, v.p.Model, tune.Options{Model: v.p.Served, Bridge: v.p.Bridge, Native: true,
		Template: v.templated(), Dialects: dialects, Rounds: 1, Timeout: v.o.Timeout})
	if err != nil {
		v.say("dialect", Failed, err.Error(), "use names that wield dialect list shows")
		return
	}
	var all []tune.Trial
	for t := range trials {
		all = append(all, t)
	}
	if v.ctx.Err() != nil {
		return
	}
	r := tune.Summarise(v.p.Name, all)
	v.native(all)
	v.template(all)
	v.dialect(r, all)
}

// templated reports whether calls are asked for in the model's chat template. Where the configuration wants that and it
// cannot be, it says so.
func (v *visit) templated() bool {
	if v.p.Set.Mode != bridge.ModeTemplate {
		return false
	}
	why := tune.Told(v.ctx, v.p.Bridge.Template)
	if why != nil {
		v.say("mode template", Failed, why.Error(),
			"set mode: text for the model, or chat_template to a file with a template for tools")
	}
	return why == nil
}

func (v *visit) template(trials []tune.Trial) {
	s := scoreOf(trials, tune.Candidate{Mode: bridge.ModeTemplate})
	switch {
	case s.asked == 0:
	case s.err != nil && s.right == 0:
		v.say("mode template", Failed, chat.AsError(s.err).Error(),
			"the backend must complete rendered prompts (/v1/completions, or /api/generate for kind ollama); else "+
				"set mode: text")
	case s.right == 0:
		v.say("mode template", Failed, "the model gets the tools but does not call them",
			"wield tune "+v.p.Name+" tries other ways")
	default:
		v.say("mode template", OK, s.String(), "")
	}
}

// A score counts how often a way of calling tools gave what was wanted.
type score struct {
	right, asked int
	err          error // of the last request that failed
}

func scoreOf(trials []tune.Trial, c tune.Candidate) (s score) {
	for _, t := range trials {
		if t.Candidate != c || t.Wanted == 0 {
			continue // a question without a need for tools says nothing about calls
		}
		s.asked++
		if t.RightArgs {
			s.right++
		}
		if t.Err != nil {
			s.err = t.Err
		}
	}
	return s
}

func (s score) String() string { return fmt.Sprintf("%d of %d calls correct", s.right, s.asked) }

func (v *visit) native(trials []tune.Trial) {
	s := scoreOf(trials, tune.Candidate{Mode: bridge.ModeNative})
	set := v.p.Set.Mode == bridge.ModeNative
	const text = "set mode: text for the model; wield then describes the tools in the prompt and reads the calls " +
		"from the text"
	switch {
	case s.right == s.asked && s.asked > 0:
		v.say("function calling", OK, s.String(), "")
	case v.p.Set.Mode == bridge.ModeText || v.p.Set.Mode == bridge.ModeTemplate:
		v.say("function calling", OK, s.String()+"; not used in mode "+string(v.p.Set.Mode), "")
	case s.err != nil && s.right == 0 && set:
		v.say("function calling", Failed, chat.AsError(s.err).Error(), text)
	case s.err != nil && s.right == 0:
		v.say("function calling", Note, "refused: "+chat.AsError(s.err).Error(), text)
	case s.right == 0 && set:
		v.say("function calling", Failed, "the model gets the tools but does not call them", text)
	default:
		v.say("function calling", Note, s.String(), text+". Do this if a dialect below does better")
	}
}

func (v *visit) dialect(r *tune.Report, trials []tune.Trial) {
	var best tune.Candidate
	var bestScore score
	var said []string
	for _, row := range r.Rows {
		c := row.Candidate
		if c.Mode != bridge.ModeText {
			continue
		}
		s := scoreOf(trials, c)
		said = append(said, fmt.Sprintf("%s %d/%d", c.Dialect, s.right, s.asked))
		if best.Dialect == "" || s.right > bestScore.right {
			best, bestScore = c, s
		}
	}
	says := strings.Join(said, ", ")
	native := scoreOf(trials, tune.Candidate{Mode: bridge.ModeNative})
	template := scoreOf(trials, tune.Candidate{Mode: bridge.ModeTemplate})
	switch {
	case bestScore.right == 0 && template.right > 0:
		v.say("dialect", Note, "follows none: "+says, "keep mode template, which works")
	case bestScore.right == 0 && native.right > 0:
		v.say("dialect", Note, "follows none: "+says, "keep mode auto or native: function calling works")
	case bestScore.right == 0 && v.p.Scripted:
		v.say("dialect", Note, "follows none: "+says, "none needed: this model answers from a scenario")
	case bestScore.right == 0:
		v.say("dialect", Failed, "follows none: "+says,
			"wield tune "+v.p.Name+" tries more dialects and rounds; the model may be too small for tools")
	case v.p.Set.Mode == bridge.ModeText && v.p.Set.Dialect != "auto" && v.p.Set.Dialect != best.Dialect &&
		scoreOf(trials, v.p.Set).right < bestScore.right:
		v.say("dialect", Note, "follows "+says,
			"set dialect: "+best.Dialect+" for the model; wield tune "+v.p.Name+" measures more closely")
	case max(native.right, template.right) < bestScore.right && v.p.Set.Mode != bridge.ModeText:
		v.say("dialect", Note, "follows "+says,
			"set mode: text and dialect: "+best.Dialect+" for the model; wield tune "+v.p.Name+" measures more closely")
	default:
		v.say("dialect", OK, "follows "+says, "")
	}
}
