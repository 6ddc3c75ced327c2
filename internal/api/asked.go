package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"wield/chat"
	"wield/internal/mask"
	"wield/journal"
)

// A TurnRequest holds the request for one answer of a run, put together again from the journal.
type TurnRequest struct {
	Match    string         `json:"match" jsonschema:"same: to the byte what was asked then. other: something that is not in the journal was different then. unknown: nothing tells"`
	Rendered bool           `json:"rendered" jsonschema:"the messages are those that went to the server, by the configuration of now; else those of the conversation"`
	InText   bool           `json:"in_text" jsonschema:"the tools are described in the messages, in place of function calling"`
	Model    string         `json:"model,omitempty"`
	Pruned   int            `json:"pruned" jsonschema:"results in whose place, or behind whose beginning, a note was sent"`
	Dropped  int            `json:"dropped" jsonschema:"messages that were not sent, because there was no room"`
	Messages []AskedMessage `json:"messages"`
	Tools    []ParseTool    `json:"tools" jsonschema:"beside the messages, for function calling"`
	Cut      bool           `json:"cut,omitempty" jsonschema:"there is more than is told"`
}

// An AskedMessage is one message of a request.
type AskedMessage struct {
	Role   string      `json:"role"`
	Text   string      `json:"text"`
	Calls  []AskedCall `json:"calls,omitempty"`
	CallID string      `json:"call_id,omitempty" jsonschema:"of a result: the call that it is of"`
	Files  int         `json:"files,omitempty" jsonschema:"how many files come with it"`
}

// An AskedCall is a call of an earlier answer.
type AskedCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// maxAsked limits the bytes of a request that are shown.
const maxAsked = 4 << 20

func askedRoute() route {
	return route{method: http.MethodGet, path: "/runs/{run}/turns/{turn}/request", name: "showAsked", may: asking,
		out: of(TurnRequest{}), driven: true,
		doc: "Show what the model was asked for one answer, the first being 0: the messages as they went to the " +
			"server, put together again from the journal, masked.", serve: (*exchange).showAsked}
}

// showAsked answers GET /runs/{run}/turns/{turn}/request.
func (x *exchange) showAsked() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(x.arg("turn"))
	if err != nil || n < 0 {
		return nil, notFound("turn", x.arg("turn"))
	}
	q, err := x.s.o.Hub.Asked(x.r.Context(), run.ID, n)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, notFound("turn", x.arg("turn"))
	}
	if err != nil {
		return nil, err
	}
	out := &TurnRequest{Match: string(q.Match), Rendered: q.Sent != nil, InText: q.InText, Model: q.Request.Model,
		Pruned: q.Pruned, Dropped: q.Dropped, Messages: []AskedMessage{}, Tools: []ParseTool{}}
	req := &q.Request
	if q.Sent != nil {
		req = q.Sent
	}
	out.take(req)
	return out, nil
}

func (out *TurnRequest) take(req *chat.Request) {
	room := maxAsked
	tell := func(s string) string {
		if len(s) > room {
			s, out.Cut = strings.ToValidUTF8(s[:room], ""), true
		}
		room -= len(s)
		return mask.Text(s)
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, ParseTool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		if room == 0 {
			out.Cut = true
			break
		}
		told := AskedMessage{Role: string(m.Role), Text: tell(m.Text()), CallID: m.CallID}
		for j := range m.Parts {
			if k := m.Parts[j].Kind; k == chat.PartImage || k == chat.PartAudio || k == chat.PartFile {
				told.Files++
			}
		}
		for j := range m.Calls {
			c := &m.Calls[j]
			told.Calls = append(told.Calls, AskedCall{c.ID, c.Name, tell(c.Arguments)})
		}
		out.Messages = append(out.Messages, told)
	}
}
