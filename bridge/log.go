package bridge

import (
	"log/slog"

	"wield/chat"
	"wield/dialect"
)

// logFailures logs the calls of a response that cannot be used, and what was meant as a call and is text
// because its JSON is broken. Arguments are not logged: they may hold anything.
func (r *run) logFailures() {
	if r.o.Log == nil {
		return
	}
	for _, f := range r.turn.failures {
		r.logCall("a call cannot be used", f.reason, f.call.Name, f.why())
	}
	if len(r.turn.failures) > 0 || r.calls > 0 || len(r.tools) == 0 {
		return
	}
	for _, d := range dialect.Unread(string(r.turn.raw)) {
		r.logCall("a call is read as text", d.Reason, d.Name, d.Message)
	}
}

func (r *run) logCall(what string, reason chat.Reason, name, why string) {
	r.o.Log.LogAttrs(r.ctx, slog.LevelWarn, what, slog.String("reason", string(reason)), slog.String("tool", name),
		slog.String("why", why))
}
