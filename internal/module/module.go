package module

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"

	"wield/chat"
)

// An Exchange is one request and its answer, as modules see it.
type Exchange struct {
	// Model is the name that the client asked for.
	Model string
	// Meta is what modules tell each other: what one sets on the way in, the same and others find on the way out. It
	// belongs to this exchange alone and is never nil.
	Meta map[string]string
}

// A Module changes texts. At least one of Input and Output is set.
type Module struct {
	// Name stands in the log and in the configuration.
	Name string
	// Order is the place of the module among others: the lowest sees what a person wrote first, and the answer last.
	Order int

	// Input returns what the model is to read in place of text, one text part of a message. It runs for each message of
	// a request, those of the history too, since a client sends them again every time. It is called from one goroutine.
	Input func(ctx context.Context, x *Exchange, text string) (string, error)
	// Roles says whose messages Input sees. Empty: the user's.
	Roles []chat.Role

	// Output returns what changes one segment of the answer. It is called when the segment begins.
	Output func(x *Exchange) Transformer
	// Buffer is how much of a segment its Transformer waits for.
	Buffer Buffer
	// Reasoning says that Output sees what the model thinks as well, in segments of its own.
	Reasoning bool
}

// A Buffer says how much text a [Transformer] is given at once.
type Buffer uint8

// The bufferings. Whatever is chosen, the outcome must not depend on how the text was cut into pieces; see [Check].
const (
	chunk Buffer = iota // as it comes
	Line                // whole lines, with their line break
	Whole               // the segment
)

// A Transformer changes one segment, from its beginning to its end. One that is an [io.Closer] is closed when the
// segment is over, also if its end never came.
type Transformer interface {
	// Transform returns what stands in place of the first used bytes of text. What is not used is given again, with
	// more behind it. final says that nothing follows: then all is used. If it fails, out stands for the used bytes
	// nevertheless, and the rest of the segment goes on as it is.
	Transform(ctx context.Context, text string, final bool) (out string, used int, err error)
}

// A TransformerFunc is a [Transformer] that changes each piece of text by itself, such as each line.
type TransformerFunc func(ctx context.Context, text string) (string, error)

// Transform implements [Transformer].
func (f TransformerFunc) Transform(ctx context.Context, text string, final bool) (string, int, error) {
	out, err := f(ctx, text)
	if err != nil {
		return "", 0, err
	}
	return out, len(text), nil
}

// Options say which modules stand around a model.
type Options struct {
	Modules []Module
	Log     *slog.Logger // of modules that fail; nil: none
	// MaxPending is how many bytes a module may leave unused before it is skipped. 0: 4 MiB.
	MaxPending int
}

// defaultPending is the default of Options.MaxPending.
const defaultPending = 4 << 20

// New returns model with modules around it. Without modules it is model itself.
func New(model chat.Model, o Options) chat.Model {
	if len(o.Modules) == 0 {
		return model
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxPending <= 0 {
		o.MaxPending = defaultPending
	}
	o.Modules = slices.Clone(o.Modules)
	slices.SortStableFunc(o.Modules, func(a, b Module) int { return cmp.Compare(a.Order, b.Order) })
	return &around{model: model, o: o}
}

// around is a model with modules around it.
type around struct {
	model chat.Model
	o     Options
}

// Stream implements [chat.Model].
func (a *around) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		x := &Exchange{Model: req.Model, Meta: make(map[string]string)}
		out := output{ctx: ctx, x: x, o: &a.o, yield: yield}
		defer out.close()
		for e, err := range a.model.Stream(ctx, a.input(ctx, x, req)) {
			if err != nil {
				if out.end() {
					yield(e, err)
				}
				return
			}
			if !out.event(e) {
				return
			}
		}
		out.end()
	}
}

// input returns the request that the model is given. The client's own is left as it is.
func (a *around) input(ctx context.Context, x *Exchange, req *chat.Request) *chat.Request {
	changed := *req
	changed.Messages = slices.Clone(req.Messages)
	for i := range a.o.Modules {
		m := &a.o.Modules[i]
		if m.Input == nil {
			continue
		}
		for j := range changed.Messages {
			if msg := &changed.Messages[j]; m.sees(msg.Role) {
				msg.Parts = a.parts(ctx, x, m, msg.Parts)
			}
		}
	}
	return &changed
}

// parts returns a message's parts with their texts changed.
func (a *around) parts(ctx context.Context, x *Exchange, m *Module, parts []chat.Part) []chat.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		p := &parts[i]
		if p.Kind != chat.PartText || p.Text == "" {
			continue
		}
		text, err := m.Input(ctx, x, p.Text)
		if err != nil {
			a.o.Log.WarnContext(ctx, "module skipped", "module", m.Name, "on", "input", "error", err)
			continue
		}
		p.Text = text
	}
	return parts
}

func (m *Module) sees(r chat.Role) bool {
	if len(m.Roles) == 0 {
		return r == chat.RoleUser
	}
	return slices.Contains(m.Roles, r)
}
