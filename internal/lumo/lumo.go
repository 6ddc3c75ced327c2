// Package lumo is the model behind Lumo, spoken with in either version of its protocol, unencrypted.
//
// Words:
//
//   - A native tool is one that Lumo itself runs. Its calls and results are KindNativeCall and KindNativeResult events;
//     a call that arrives in pieces is one with the origin native.
//   - A turn is a message of the conversation, in the first version of the protocol.
//   - A target says what a piece of an answer belongs to: the message, its reasoning, a title, or the native tools.
//   - A glued text holds several JSON objects, one behind the other: Lumo writes a call again when it fails.
//   - A title is Lumo's name for a conversation. It is a KindNativeResult of the name "title", in front of the finish.
//
// Lumo takes no definitions of tools: a request with some is refused with the code chat.CodeToolsUnsupported, so that
// whoever stands before the model describes them in text.
package lumo

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/model/exchange"
)

// titleName is the name of the event that carries a conversation's title.
const titleName = "title"

// titleGrace limits the wait for a title after the answer.
const titleGrace = 5 * time.Second

// Options describe a server.
type Options struct {
	URL     string      // base address, in front of /ai/v1/chat
	Key     string      // sent as a bearer token; empty: none is sent
	Headers http.Header // credentials and whatever else the server wants; they win over those that a Model sets itself
	Model   string      // lumo, lumo-lite or lumo-max; empty: the request's
	Version int         // of the protocol, 1 or 2; 0: 2

	WebSearch bool     // whether the native tools that look outside are on
	Tools     []string // further native tools that are on
	Titles    bool     // ask for a title with the first message of a conversation

	exchange.Connection
}

// NativeTools returns the names of the native tools that are on, unless a request says otherwise.
func (o *Options) NativeTools() []string {
	names := []string{nativeInfo}
	if o.WebSearch {
		names = append(names, webSearch()...)
	}
	for _, name := range o.Tools {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// A Model is a chat.Model. It is safe for concurrent use.
type Model struct {
	server *exchange.Server
	titles *exchange.Server // answers with a title and nothing else; nil: nobody asks for one this way
}

// New returns a model. An address that cannot be used is an error of every stream.
func New(o Options) *Model {
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	path := "/ai/v1/chat/completions"
	if o.Version == 1 {
		path = "/ai/v1/chat"
	}
	x := exchange.Options{
		URL:          strings.TrimRight(o.URL, "/") + path,
		Header:       header,
		Headers:      o.Headers,
		Speaks:       chat.ProtocolLumo,
		Knows:        func(string) bool { return true },
		Lacks:        []string{"seed", "logprobs", "temperature", "top_p", "max_tokens", "reasoning_effort", "user"},
		AlwaysStream: true, // the protocol has nothing else
		Connection:   o.Connection,
	}
	request := requestOptions{Version: o.Version, Model: o.Model, Tools: o.NativeTools()}
	m := &Model{}
	if o.Titles && o.Version != 1 {
		title := request
		title.Title = true
		m.titles = exchange.New(protocol{o: title}, x)
	}
	m.server = exchange.New(protocol{o: request, titles: o.Titles && o.Version == 1}, x)
	return m
}

// Close closes the connections that no stream uses.
func (m *Model) Close() {
	m.server.Close()
	if m.titles != nil {
		m.titles.Close()
	}
}

// Stream implements chat.Model.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if m.titles == nil || !opens(req) {
		return m.server.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		t := titling{done: make(chan struct{})}
		go func() {
			defer close(t.done)
			t.name = m.title(ctx, req)
		}()
		defer func() {
			cancel()
			<-t.done
		}()
		for e, err := range m.server.Stream(ctx, req) {
			if e.Kind == chat.KindFinish {
				if name := t.await(); name != "" && !yield(titleEvent(name), nil) {
					return
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// A titling is the making of a title beside an answer.
type titling struct {
	done chan struct{}
	name string // once done is closed
}

// await returns a title that comes in time, or "".
func (t *titling) await() string {
	timer := time.NewTimer(titleGrace)
	defer timer.Stop()
	select {
	case <-t.done:
		return t.name
	case <-timer.C:
		return ""
	}
}

// title asks for a title. That there is none is no reason for an answer to fail.
func (m *Model) title(ctx context.Context, req *chat.Request) string {
	var b strings.Builder
	for e, err := range m.titles.Stream(ctx, req) {
		if err != nil {
			return ""
		}
		if e.Kind == chat.KindText {
			b.WriteString(e.Text)
		}
	}
	return shortTitle(b.String())
}

// opens reports whether a request is the first of a conversation: a corrected one is not, since it shows a failed
// answer.
func opens(req *chat.Request) bool {
	users := 0
	for i := range req.Messages {
		switch req.Messages[i].Role {
		case chat.RoleUser:
			users++
		case chat.RoleAssistant, chat.RoleTool:
			return false
		}
	}
	return users == 1
}

func titleEvent(title string) chat.Event {
	return chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, Name: titleName, Text: title,
		Detail: &chat.Result{Name: titleName, Parts: chat.Text(title)}}
}

// A protocol is Lumo's protocol as a server wants it.
type protocol struct {
	o      requestOptions
	titles bool // version 1: ask for a title in the same request
}

func (p protocol) AppendRequest(dst []byte, req *chat.Request, _ bool) ([]byte, error) {
	p.o.Title = p.o.Title || p.titles && opens(req)
	return appendRequest(dst, req, p.o)
}

func (protocol) NewReader(*chat.Request) exchange.Reader { return &reader{} }

func (protocol) DecodeResponse(dst []chat.Event, _ *chat.Request, body []byte) ([]chat.Event, error) {
	return decodeResponse(dst, body)
}

func (protocol) DecodeError(status int, header http.Header, body []byte) *chat.Error {
	return decodeError(status, header, body)
}

// A reader reads one stream, and tells of its title.
type reader struct{ streamReader }

func (r *reader) Close(dst []chat.Event) ([]chat.Event, error) {
	dst, err := r.streamReader.Close(dst)
	if title := r.Title(); err == nil && title != "" {
		dst = slices.Insert(dst, len(dst)-1, titleEvent(title))
	}
	return dst, err
}
