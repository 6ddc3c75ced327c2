package bridge

import (
	"log/slog"
	"strings"

	"wield/chat"
)

// noticeDropped is the notice for a model whose server drops tools.
const noticeDropped = "the server leaves tools out of the prompt, so they are described in the text"

// noticeDeaf is the notice for an answer without a required call, of a model that may never have seen the tools.
const noticeDeaf = "a call is required and the answer had none, so the tools are described in the text"

// serverIgnoresTools reports whether the server left the tools out of this answer's prompt, and the answer can be
// asked for again with the tools in the text: nobody has seen it, or it had to be a call. It is looked into once an
// answer without a call had a prompt that may have been too short for the tools.
func (r *run) serverIgnoresTools() bool {
	t := &r.turn
	if !r.o.Count || r.o.Mode != ModeAuto || r.mode != ModeNative || len(r.tools) == 0 || t.attempt != 1 || t.tried ||
		r.calls > 0 || r.usage.In == 0 || r.usage.In > r.longest() {
		return false
	}
	r.count()
	return r.o.Support.drops(r.req.Model) && (t.kept.on || r.required())
}

// deaf reports whether an answer that had to be a call has none, and nothing shows that the server gave the model the
// tools. To tell the model then that it must call one would name what it never saw, and small models repeat such a
// message to the user. It is asked again with the tools in the text.
func (r *run) deaf() bool {
	t := &r.turn
	return r.o.Count && r.o.Mode == ModeAuto && r.mode == ModeNative && t.attempt == 1 &&
		!t.tried && len(t.failures) == 0 && r.calls == 0 &&
		r.required() && !r.cutByLength() && r.bounceable(reasonNoCall) &&
		r.usage.In <= r.longest() && !r.o.Support.takesTools(r.req.Model)
}

// longest returns how many tokens a prompt without the tools may have: one for every two bytes of text, and some for
// what a template adds. A longer one holds more than the text.
func (r *run) longest() int {
	n := 0
	for i := range r.req.Messages {
		n += len(r.req.Messages[i].Text())
	}
	return n/2 + 100
}

// count finds out whether a server drops tools without a word: it asks for one token of an answer twice, with a tool
// and without, and compares how long the prompts were. A server that counts nothing, or always the same, tells
// nothing, and the model is then used as one that takes tools.
func (r *run) count() {
	key := supportKey{model: r.req.Model}
	if !r.o.Support.claim(key) {
		return
	}
	described := chat.Tool{Name: probeTool,
		Description: "Answers pong, as long as the line is open and somebody listens at the other end.",
		Parameters:  []byte(`{"type":"object","properties":{}}`)}
	without, err := r.tokens("Hello.", nil)
	if err == nil && without > 0 {
		var with, longer int
		if with, err = r.tokens("Hello.", []chat.Tool{described}); err == nil && 0 < with && with <= without {
			longer, err = r.tokens("Hello. "+strings.Repeat("How are you? ", 8), nil)
		}
		if err == nil && with > without {
			r.o.Support.learn(key, finding{takes: true})
		}
		if err == nil && longer > without {
			r.o.Support.learn(key, finding{refused: true, dropped: true})
			if r.o.Log != nil {
				r.o.Log.LogAttrs(r.ctx, slog.LevelWarn, "a server drops tools, so they are described in the text",
					slog.String("model", r.req.Model), slog.String("backend", r.o.Backend))
			}
		}
	}
	switch e := chat.AsError(err); {
	case e == nil:
	case e.Code == chat.CodeToolsUnsupported:
		r.o.Support.SetRefused(r.req.Model, true)
	default:
		r.o.Support.forget(key)
	}
}

// tokens returns how many tokens the model's prompt has, 0 if its server does not say.
func (r *run) tokens(text string, tools []chat.Tool) (n int, err error) {
	r.model.Stream(r.ctx,
		&chat.Request{Model: r.req.Model, Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(text)}},
			Tools: tools, MaxTokens: 1})(
		func(e chat.Event, failed error) bool {
			err = failed
			if e.Kind == chat.KindUsage {
				n = e.Detail.(*chat.Usage).In
			}
			return err == nil
		})
	return n, err
}
