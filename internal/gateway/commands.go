package gateway

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"wield/chat"
)

// CommandOptions say how the users of a model give commands.
type CommandOptions struct {
	Name     string // of the model, for answers
	WakeWord string // that may stand in front of a command instead of the slash, whatever its case; "": none
}

// A command can be written in place of a question.
type command struct {
	name, help string
	answer     func(c *commanded, req *chat.Request, args string) string // nil: the model writes it
}

// commands are all of them, in the order of the help. Those that only a terminal can carry out say so: to hand them to
// the model would have it make something up.
var commands = []command{
	{"help", "shows this list", nil},
	{"title", "asks the model for a title of this conversation", nil},
	{"model", "says which model answers, and how much it is shown", (*commanded).describe},
	{"save", "", elsewhere("your program keeps the conversation; save it there")},
	{"load", "", elsewhere("your program keeps the conversation; load it there")},
	{"refreshtokens", "", elsewhere("credentials are the configuration's, and are read again with wield's own " +
		"commands")},
	{"logout", "", elsewhere("credentials are the configuration's")},
	{"quit", "", elsewhere("close the conversation in your program")},
	{"ole", "", elsewhere("¡Olé!")},
}

func elsewhere(words string) func(*commanded, *chat.Request, string) string {
	return func(*commanded, *chat.Request, string) string { return words }
}

// Commands returns m with commands: a request whose last message is one is answered here. Anything else that begins
// with a slash is the model's.
func Commands(m chat.Model, o CommandOptions) chat.Model { return &commanded{m, o} }

type commanded struct {
	model chat.Model
	o     CommandOptions
}

func (c *commanded) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	cmd, args := c.commandIn(req)
	switch {
	case cmd == nil:
		return c.model.Stream(ctx, req)
	case cmd.name == "title":
		return c.model.Stream(ctx, titled(req))
	case cmd.name == "help":
		return ownAnswer(c.help())
	}
	return ownAnswer(cmd.answer(c, req, args))
}

// commandIn returns the command that the last message of a request is, or nil.
func (c *commanded) commandIn(req *chat.Request) (*command, string) {
	if len(req.Messages) == 0 {
		return nil, ""
	}
	last := &req.Messages[len(req.Messages)-1]
	if last.Role != chat.RoleUser {
		return nil, ""
	}
	text := strings.TrimSpace(last.Text())
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		word, behind, _ := strings.Cut(text, " ")
		if c.o.WakeWord == "" || !strings.EqualFold(strings.TrimRight(word, ",:"), c.o.WakeWord) {
			return nil, ""
		}
		rest = strings.TrimSpace(behind)
	}
	name, args, _ := strings.Cut(rest, " ")
	name = strings.ToLower(strings.TrimRight(name, ".!"))
	for i := range commands {
		if commands[i].name == name {
			return &commands[i], strings.TrimSpace(args)
		}
	}
	return nil, ""
}

func (c *commanded) help() string {
	var b strings.Builder
	b.WriteString("Commands:\n")
	for _, cmd := range commands {
		if cmd.help != "" {
			b.WriteString("/" + cmd.name + " " + cmd.help + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (c *commanded) describe(req *chat.Request, _ string) string {
	return c.o.Name + ", with " + strconv.Itoa(len(req.Messages)-1) + " earlier messages and " +
		strconv.Itoa(len(req.Tools)) + " tools."
}

// titled returns a request for a title of the conversation.
func titled(req *chat.Request) *chat.Request {
	out := *req
	out.Tools, out.Choice, out.Parallel, out.Format = nil, chat.Choice{}, nil, nil
	out.Messages = append([]chat.Message(nil), req.Messages...)
	out.Messages[len(out.Messages)-1] = chat.Message{Role: chat.RoleUser,
		Parts: chat.Text(
			"Write a title for this conversation: at most six words, without quotes and without a full stop. Answer " +
				"with the title alone.")}
	return &out
}

// ownAnswer is an answer of wield's own.
func ownAnswer(text string) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		_ = yield(chat.Event{Kind: chat.KindText, Text: text, End: len(text)}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}
