package api

import (
	"context"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wield/internal/shorten"
)

// A Log keeps the last lines of a program's log, for people who look at it over the interface. Handler makes what
// fills it. Several goroutines may use it at once.
type Log struct {
	mu      sync.Mutex
	lines   []LogLine // the oldest first
	last    int64
	changed chan struct{} // closed with the next line
}

// A LogLine is one line of the log.
type LogLine struct {
	Seq      int64     `json:"seq"`
	At       time.Time `json:"at"`
	Level    string    `json:"level" jsonschema:"debug, info, warn or error"`
	Category string    `json:"category" jsonschema:"the part of the program that says it"`
	Message  string    `json:"message"`
	Facts    []Fact    `json:"facts,omitempty"`
}

// A Fact is a name and a value in a line of the log.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// LogLines is a page of the log, the oldest line first.
type LogLines struct {
	Items []LogLine `json:"items"`
	Next  string    `json:"next,omitempty" jsonschema:"the before of the page with the lines before; without it there are none"`
}

// Bounds of the log that is kept.
const (
	maxLogLines = 2000
	maxLogText  = 2 << 10 // bytes of one text in it
	maxFacts    = 30
)

// Handler returns a handler that keeps what it is handed, and hands it on to next. What next does not want is not
// kept either.
func (l *Log) Handler(next slog.Handler) slog.Handler { return &logHandler{log: l, next: next} }

type logHandler struct {
	log   *Log
	next  slog.Handler
	facts []Fact
	group string // what stands before the names of facts
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.next, out.facts = h.next.WithAttrs(attrs), slices.Clip(h.facts)
	for _, a := range attrs {
		out.facts = appendFact(out.facts, h.group, a)
	}
	return &out
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	out := *h
	out.next = h.next.WithGroup(name)
	if name != "" {
		out.group = h.group + name + "."
	}
	return &out
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	line := LogLine{At: r.Time, Level: levelName(r.Level), Category: category(r.PC), Message: keptText(r.Message),
		Facts: slices.Clip(h.facts)}
	r.Attrs(func(a slog.Attr) bool {
		line.Facts = appendFact(line.Facts, h.group, a)
		return len(line.Facts) < maxFacts
	})
	h.log.add(line)
	return h.next.Handle(ctx, r)
}

func (l *Log) add(line LogLine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	line.Seq = l.last
	if len(l.lines) >= maxLogLines {
		l.lines = slices.Delete(l.lines, 0, maxLogLines/10) // several at a time, since the rest has to move
	}
	l.lines = append(l.lines, line)
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// after returns the lines behind a number, and what is closed when there are more.
func (l *Log) after(seq int64) ([]LogLine, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	i, _ := slices.BinarySearchFunc(l.lines, seq+1, func(line LogLine, seq int64) int { return int(line.Seq - seq) })
	return slices.Clone(l.lines[i:]), l.changed
}

func appendFact(list []Fact, group string, a slog.Attr) []Fact {
	v := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return list
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, inner := range v.Group() {
			list = appendFact(list, group, inner)
		}
		return list
	}
	return append(list, Fact{Name: group + a.Key, Value: keptText(v.String())})
}

// keptText shortens a text for the log.
func keptText(s string) string { return strings.ToValidUTF8(shorten.Text(s, maxLogText), "\ufffd") }

// logLevels are the names of levels, the lowest first.
var logLevels = []struct {
	name  string
	level slog.Level
}{{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError}}

// levelName returns the name of the highest level that is no higher.
func levelName(level slog.Level) string {
	name := logLevels[0].name
	for _, l := range logLevels {
		if level >= l.level {
			name = l.name
		}
	}
	return name
}

// rank returns how high a level of a name is; -1 for none.
func rank(name string) int {
	for i, l := range logLevels {
		if l.name == name {
			return i
		}
	}
	return -1
}

// category returns the part of the program that a line comes from: the last name of its package's path.
func category(pc uintptr) string {
	if pc == 0 {
		return ""
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := path.Base(frame.Function) // such as gateway.(*Gateway).log
	name, _, _ = strings.Cut(name, ".")
	if name == "main" {
		return "serve"
	}
	return name
}

// logParams are those that choose lines.
func logParams() []param {
	names := make([]string, len(logLevels))
	for i, l := range logLevels {
		names[i] = l.name
	}
	return []param{{name: "level", doc: "only this level and those above", words: names},
		{name: "category", doc: "only what this part of the program says"}}
}

// logRoutes returns the routes of the log.
func logRoutes() []route {
	after := param{name: "after",
		doc: "the id of the last event that was seen, as the header Last-Event-ID; without it what is kept is sent " +
			"first", number: true, min: 0, max: 1<<53 - 1}
	return []route{
		{method: "GET", path: "/log", name: "readLog", doc: "Read the last lines of the service's log.",
			may: onlyAdmin, query: append(logParams(), limitParam, beforeParam), out: of(LogLines{}),
			fails: []Kind{KindNotFound}, serve: (*exchange).readLog},
		{method: "GET", path: "/log/events", name: "followLog",
			doc:   "Follow the service's log. The id of an event is its number, its name line, its data a LogLine.",
			may:   onlyAdmin,
			query: append(logParams(), after), media: mediaEvents, fails: []Kind{KindNotFound},
			write: (*exchange).followLog},
	}
}

// wanted returns what chooses lines as the query says.
func (x *exchange) wanted() func(*LogLine) bool {
	level, category := rank(x.query("level")), x.query("category")
	return func(l *LogLine) bool { return rank(l.Level) >= level && (category == "" || l.Category == category) }
}

func (x *exchange) log() (*Log, error) {
	if x.s.o.Lines == nil {
		return nil, fault(KindNotFound, "this service keeps no log").with("look at its standard error")
	}
	return x.s.o.Lines, nil
}

// readLog answers GET /log.
func (x *exchange) readLog() (any, error) {
	log, err := x.log()
	if err != nil {
		return nil, err
	}
	lines, _ := log.after(0)
	before, wanted := x.number("before", 1<<53-1), x.wanted()
	page := &LogLines{Items: []LogLine{}}
	for i := range slices.Backward(lines) {
		if lines[i].Seq >= before || !wanted(&lines[i]) {
			continue
		}
		if len(page.Items) == x.limit() {
			page.Next = strconv.FormatInt(page.Items[len(page.Items)-1].Seq, 10)
			break
		}
		page.Items = append(page.Items, lines[i])
	}
	slices.Reverse(page.Items)
	return page, nil
}

// followLog answers GET /log/events.
func (x *exchange) followLog() error {
	log, err := x.log()
	if err != nil {
		return err
	}
	after, err := x.lastEvent()
	if err != nil {
		return err
	}
	after = max(after, 0)
	wanted := x.wanted()
	s := x.stream()
	for {
		lines, changed := log.after(after)
		for i := range lines {
			after = lines[i].Seq
			if !wanted(&lines[i]) {
				continue
			}
			data, err := encode(&lines[i])
			if err != nil || !s.send(strconv.FormatInt(after, 10), "line", data) {
				s.end(err)
				return nil
			}
		}
		select {
		case <-changed:
		case <-s.ctx.Done():
			s.end(nil)
			return nil
		}
	}
}
