package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"wield/chat"
	"wield/internal/cli"
	"wield/internal/script"
)

func newDemoCmd(app *cli.App) *cobra.Command {
	var catalogue catalogueFlag
	var list bool
	cmd := &cobra.Command{
		Use:   "demo [NAME...]",
		Short: "Show model output and the calls wield reads from it",
		Long: `Plays conversations with scripted models; it needs no network and no key. Each shows the question,
the offered tools, what the model wrote, what wield read, and what the client received.

NAME is a scenario of the catalogue or a scenario file. Without NAME the whole catalogue is played.`,
		Example: `  wield demo
  wield demo toolCall
  wield demo confusedToolCall missingArgument
  wield demo --list`,
		RunE: func(cmd *cobra.Command, args []string) error { return demo(cmd.Context(), app, &catalogue, list, args) },
	}
	cmd.Flags().BoolVar(&list, "list", false, "list the names only")
	catalogue.add(cmd, app)
	return cmd
}

func demo(ctx context.Context, app *cli.App, catalogue *catalogueFlag, list bool, args []string) error {
	scenarios, err := catalogue.open(args, nil)
	if err != nil {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	p := &watcher{out: &printer{w: app.Stdout, color: colored(app)}}
	for i, l := range scenarios {
		s, err := l.Scenario()
		if err != nil {
			return err
		}
		if list {
			fmt.Fprintf(app.Stdout, "%-20s %s\n", s.Name, s.Summary)
			continue
		}
		if i > 0 {
			p.out.line()
		}
		p.out.title(s)
		*p = watcher{out: p.out}
		if _, err := play(ctx, s, p); err != nil {
			return err
		}
	}
	if len(args) == 0 && !list {
		fmt.Fprintln(app.Stdout,
			"\nAll models here were scripted. Next: wield chat shows tools that ask before changes; wield init "+
				"connects your own model.")
	}
	return nil
}

// colored reports whether to colour: on a terminal, unless the person does not want it.
func colored(app *cli.App) bool {
	f, ok := app.Stdout.(*os.File)
	if !ok || app.Getenv("NO_COLOR") != "" || app.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// tap is a model that lets a watcher see what it answers.
type tap struct {
	model chat.Model
	w     *watcher
}

func (t *tap) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		w := new(wrote)
		t.w.wrote = append(t.w.wrote, w)
		for e, err := range t.model.Stream(ctx, req) {
			w.add(e, err)
			if !yield(e, err) {
				return
			}
		}
	}
}

// wrote holds the text of one answer, as pieces of one kind each.
type wrote struct{ pieces []piece }

type piece struct{ label, text string }

func (w *wrote) add(e chat.Event, err error) {
	switch {
	case err != nil:
		w.piece("error", err.Error())
	case e.Kind == chat.KindText:
		w.join("", e.Text)
	case e.Kind == chat.KindReasoning:
		w.join("thinks", e.Text)
	case e.Kind == chat.KindCallEnd:
		call := e.Detail.(*chat.Call)
		w.piece("function call", call.Name+" "+call.Arguments)
	case e.Kind == chat.KindNativeCall:
		w.piece("native call", e.Name+" "+e.Text)
	case e.Kind == chat.KindNativeResult:
		w.piece("native result", e.Text)
	}
}

func (w *wrote) piece(label, text string) { w.pieces = append(w.pieces, piece{label, text}) }

func (w *wrote) join(label, text string) {
	if n := len(w.pieces); n > 0 && w.pieces[n-1].label == label {
		w.pieces[n-1].text += text
		return
	}
	w.piece(label, text)
}

// watcher shows a conversation as it goes on.
type watcher struct {
	out   *printer
	wrote []*wrote // of the exchange under way
	shown int      // messages of the conversation that were shown
}

// exchange shows one request of the client and all that came of it.
func (w *watcher) exchange(x script.Exchange) {
	p := w.out
	for _, m := range x.Request.Messages[min(w.shown, len(x.Request.Messages)):] {
		switch m.Role {
		case chat.RoleTool:
			p.block("tool", m.Name+" gives "+m.Text())
		case chat.RoleAssistant: // shown when it came
		default:
			p.block(string(m.Role), m.Text())
		}
	}
	if w.shown == 0 && len(x.Request.Tools) > 0 {
		var names []string
		for i := range x.Request.Tools {
			names = append(names, x.Request.Tools[i].Name)
		}
		p.block("offers", strings.Join(names, ", "))
	}
	w.shown = len(x.Request.Messages) + 1 // the answer follows
	rest := x.Events
	for i, m := range w.wrote {
		label := "model"
		if i > 0 {
			label = "again"
		}
		p.pieces(label, m.pieces)
		answer := rest
		if i < len(w.wrote)-1 {
			answer, rest = cutAfterBounce(rest)
		}
		p.pieces("read", readings(answer))
	}
	w.wrote = nil
	p.pieces("client", received(x))
}

// cutAfterBounce cuts the events where the model is asked again.
func cutAfterBounce(events []chat.Event) (first, rest []chat.Event) {
	for i := range events {
		if events[i].Kind == chat.KindBounce {
			return events[:i+1], events[i+1:]
		}
	}
	return events, nil
}

// readings tells what was read in an answer.
func readings(events []chat.Event) []piece {
	var list wrote
	for _, e := range events {
		d := e.Detail
		switch e.Kind {
		case chat.KindText:
			list.join("text", e.Text)
		case chat.KindReasoning:
			list.join("reasoning", e.Text)
		case chat.KindCallEnd:
			c := d.(*chat.Call)
			from := cmp.Or(c.Dialect, c.Origin.String())
			list.piece("call", fmt.Sprintf("%s %s (%s)", c.Name, c.Arguments, from))
		case chat.KindRejected:
			list.piece("no call", string(d.(*chat.RejectedDetail).Reason)+": "+d.(*chat.RejectedDetail).Message)
		case chat.KindOverrun:
			list.piece("end", "the model went on past its turn, at byte "+strconv.Itoa(d.(*chat.OverrunDetail).At)+": "+
				strings.TrimSpace(d.(*chat.OverrunDetail).Marker))
		case chat.KindNote:
			n := d.(*chat.NoteDetail)
			list.piece("repaired", fmt.Sprintf("%s: %s → %s", n.Kind, n.Before, n.After))
		case chat.KindBounce:
			list.piece("retry", fmt.Sprintf("%s; sent to the model: %s", d.(*chat.BounceDetail).Reason,
				d.(*chat.BounceDetail).Sent))
		case chat.KindConverted:
			list.piece("converted", string(d.(*chat.BounceDetail).Reason))
		case chat.KindNativeCall:
			list.piece("native call", e.Name+" runs at the backend")
		}
	}
	if len(list.pieces) == 1 && list.pieces[0].label == "text" {
		return []piece{{"", "text, no call"}}
	}
	return list.pieces
}

// received tells what a client of the chat completions protocol gets.
func received(x script.Exchange) []piece {
	var list wrote
	reason := ""
	for _, e := range x.Events {
		switch e.Kind {
		case chat.KindText:
			list.join("content", e.Text)
		case chat.KindRejected:
			if e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete {
				list.join("content", e.Detail.(*chat.RejectedDetail).Raw)
			}
		case chat.KindCallEnd:
			if call := e.Detail.(*chat.Call); call.Complete {
				list.piece("tool_calls", call.Name+" "+call.Arguments)
			}
		case chat.KindFinish:
			reason = string(e.Detail.(*chat.Finish).Reason)
		}
	}
	if x.Err != nil {
		list.piece("error", x.Err.Error())
	} else {
		list.piece("finish_reason", reason)
	}
	return list.pieces
}

// printer writes aligned blocks of text: a label, and what belongs to it.
type printer struct {
	w     io.Writer
	color bool
}

// The columns of labels.
const (
	labelWidth = 8
	pieceWidth = 14
)

func (p *printer) line() { fmt.Fprintln(p.w) }

func (p *printer) title(s *script.Scenario) {
	fmt.Fprint(p.w, p.paint("1", s.Name))
	if s.Summary != "" {
		fmt.Fprint(p.w, ": ", s.Summary)
	}
	fmt.Fprint(p.w, "\n\n")
}

func (p *printer) paint(code, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// labels have a colour each.
var labels = map[string]string{"user": "36", "tool": "36", "model": "33", "again": "33", "read": "32", "client": "35"}

func (p *printer) block(label, text string) { p.pieces(label, []piece{{"", text}}) }

// pieces writes pieces below each other behind one label.
func (p *printer) pieces(label string, list []piece) {
	for i, pc := range list {
		if i > 0 {
			label = ""
		}
		head := "  " + p.paint(labels[label], fmt.Sprintf("%-*s", labelWidth, label))
		if labels[label] == "" {
			head = "  " + fmt.Sprintf("%-*s", labelWidth, label)
		}
		indent := strings.Repeat(" ", 2+labelWidth)
		if pc.label != "" {
			head += p.paint("2", fmt.Sprintf("%-*s ", pieceWidth, pc.label))
			indent += strings.Repeat(" ", pieceWidth+1)
		}
		for _, l := range strings.Split(strings.TrimRight(pc.text, "\n"), "\n") {
			fmt.Fprintln(p.w, strings.TrimRight(head+visible(l), " "))
			head = indent
		}
	}
}

// visible shows control characters as what they are, so that no text can move the terminal's cursor.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
			return '\ufffd'
		}
		return r
	}, s)
}
