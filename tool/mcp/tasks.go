package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
	"wield/tool/policy"
)

// tasksExtension is the name of the extension by which servers make tasks of long calls: the client polls them.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	firstPoll   = time.Second
	fastestPoll = 50 * time.Millisecond
	slowestPoll = 30 * time.Second
	maxMisses   = 20          // requests about a task in a row that the server does not answer
	cancelTime  = time.Second // that a server has to take note that a task is cancelled: less than a shutdown waits
	maxTaskBody = 4 << 20     // of an answer that is looked at for a task
)

// A taskRequest is about a task.
type taskRequest struct {
	sdk.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
}

// A taskState tells how far a task has come.
type taskState struct {
	sdk.ResultBase
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage"`
	Poll          int64               `json:"pollIntervalMs"`
	InputRequests sdk.InputRequestMap `json:"inputRequests"`
	Result        *sdk.CallToolResult `json:"result"`
	Error         *jsonrpc.Error      `json:"error"`
}

// knowTasks lets a client ask about tasks.
func knowTasks(c *sdk.Client) {
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		// it fails for standard methods only, and these are none
		_ = sdk.AddSendingCustomMethod[*taskRequest, *taskState](c, method)
	}
}

// taskOf returns the id of the task that a call became; empty: it has its result.
func taskOf(r *sdk.CallToolResult) string {
	raw, _ := json.Marshal(r.Meta[tasksExtension]) // it came as JSON
	var t taskState
	if r.Meta[tasksExtension] == nil || json.Unmarshal(raw, &t) != nil {
		return ""
	}
	return t.TaskID
}

// await polls a task until it is over, and keeps its id so that another process can.
func (h *handler) await(ctx context.Context, s *Server, id string, c *tool.Call, before *asking) (tool.Result, error) {
	if err := c.Detach(ctx, id); err != nil {
		h.cancel(s, id)
		return tool.Result{}, err
	}
	for said := ""; ; {
		t, err := h.persist(ctx, s, "tasks/get", &taskRequest{TaskID: id})
		switch {
		case ctx.Err() != nil:
			h.cancel(s, id)
			return tool.Result{}, ctx.Err()
		case refused(err):
			return tool.Result{}, h.failed(tool.ErrInterrupted,
				"does not know the task of the call any more, and it is not known whether it took effect: %v",
				err)
		case err != nil:
			return tool.Result{}, h.failed(tool.ErrInterrupted, "went away during a task: %v", err)
		}
		if r, err, over := h.taskEnded(s, t, c, before); over {
			return r, err
		}
		if t.StatusMessage != said {
			said = t.StatusMessage
			c.Progress(0, 0, policy.Visible(cut(said)))
		}
		pause := firstPoll
		if t.Poll > 0 {
			pause = min(max(time.Duration(t.Poll)*time.Millisecond, fastestPoll), slowestPoll)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// refused reports whether a server answered that it cannot do what a request about a task asks for. The library has
// other codes for requests that did not reach it.
func refused(err error) bool {
	var e *jsonrpc.Error
	return errors.As(err, &e) &&
		slices.Contains([]int64{jsonrpc.CodeInvalidParams, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest},
			e.Code)
}

// persist sends a request about a task until the server answers.
func (h *handler) persist(ctx context.Context, s *Server, method string, p *taskRequest) (t *taskState, err error) {
	for range maxMisses {
		if t, err = h.aboutTask(ctx, s, method, p); err == nil || ctx.Err() != nil || refused(err) {
			return t, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(firstPoll):
		}
	}
	return nil, err
}

// taskEnded makes a result of a task that is over. It reports false for one that is not.
func (h *handler) taskEnded(s *Server, t *taskState, c *tool.Call, before *asking) (tool.Result, error, bool) {
	switch t.Status {
	case "completed":
		if t.Result == nil {
			return tool.Result{}, h.failed(tool.ErrTool, "completed a task without a result"), true
		}
		return result(t.Result), nil, true
	case "failed":
		message := t.StatusMessage
		if t.Error != nil {
			message = t.Error.Message
		}
		return tool.Result{}, h.failed(tool.ErrTool, "says: %s", message), true
	case "cancelled":
		return tool.Result{}, h.failed(tool.ErrInterrupted, "cancelled the task of the call"), true
	case "input_required":
		if len(t.InputRequests) == 0 {
			return tool.Result{}, nil, false // the answers are on their way
		}
		if !c.Asks {
			h.cancel(s, t.TaskID)
			return tool.Result{}, h.failed(tool.ErrTool,
				"asks for input that only a person can give, and there is nobody to ask"), true
		}
		err := h.needed(&sdk.CallToolResult{InputRequests: t.InputRequests}, before, t.TaskID)
		if asks := (*tool.InputError)(nil); !errors.As(err, &asks) {
			h.cancel(s, t.TaskID)
		}
		return tool.Result{}, err, true
	}
	return tool.Result{}, nil, false
}

// reply gives a task the answers of a person, and goes on polling it.
func (h *handler) reply(ctx context.Context, s *Server, c *tool.Call, a *asking) (tool.Result, error) {
	p := &taskRequest{TaskID: a.Task, InputResponses: sdk.InputResponseMap{}}
	for key, answer := range a.Answers {
		p.InputResponses[key] = answer
	}
	if _, err := h.persist(ctx, s, "tasks/update", p); err != nil && ctx.Err() == nil {
		return tool.Result{}, h.failed(tool.ErrInterrupted, "does not take the answer for its task: %v", err)
	}
	return h.await(ctx, s, a.Task, c, a)
}

// cancel tells the server that nobody waits for a task any more.
func (h *handler) cancel(s *Server, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelTime)
	defer cancel()
	_, _ = h.aboutTask(ctx, s, "tasks/cancel", &taskRequest{TaskID: id}) // nobody is left who could be told
}

// aboutTask sends a request about a task, on a new connection if the old one has broken.
func (h *handler) aboutTask(ctx context.Context, s *Server, method string, p *taskRequest) (*taskState, error) {
	conn, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	return sdk.CallCustomMethod[*taskRequest, *taskState](ctx, conn.session, method, p)
}

// withTask rewrites a message whose result is a task, which the library does not know: the result of the call becomes
// an empty one that has the task in its metadata. Other messages stay as they are.
func withTask(message []byte) []byte {
	if !bytes.Contains(message, []byte(`"taskId"`)) {
		return message
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	var r struct {
		Type string `json:"resultType"`
	}
	if json.Unmarshal(message, &m) != nil || json.Unmarshal(m.Result, &r) != nil || r.Type != "task" {
		return message
	}
	out, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", m.ID, struct {
		Content []sdk.Content              `json:"content"`
		Meta    map[string]json.RawMessage `json:"_meta"`
	}{[]sdk.Content{}, map[string]json.RawMessage{tasksExtension: m.Result}}})
	if err != nil {
		return message
	}
	return out
}

// A taskReader reads lines, each of them a message or the data of an event, and rewrites those that are tasks.
type taskReader struct {
	lines *bufio.Reader
	io.Closer
	rest []byte // of a line that is rewritten
	long bool   // in the middle of a line that is too long for a task
}

func readTasks(r io.Reader, c io.Closer) *taskReader {
	return &taskReader{lines: bufio.NewReaderSize(r, 64<<10), Closer: c}
}

// Read implements io.Reader.
func (t *taskReader) Read(p []byte) (int, error) {
	if len(t.rest) == 0 {
		line, err := t.lines.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		whole := !t.long && !errors.Is(err, bufio.ErrBufferFull)
		t.long = errors.Is(err, bufio.ErrBufferFull)
		t.rest = append(t.rest[:0], line...)
		if whole {
			t.rest = rewritten(t.rest)
		}
	}
	n := copy(p, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

func rewritten(line []byte) []byte {
	head := []byte(nil)
	if bytes.HasPrefix(line, []byte("data:")) {
		head = []byte("data: ")
	}
	message := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
	if out := withTask(message); !bytes.Equal(out, message) {
		return append(append(head, out...), '\n')
	}
	return line
}

// taskTransport rewrites answers of a service that are tasks.
type taskTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t taskTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil || req.Method != http.MethodPost {
		return res, err
	}
	switch kind := res.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/event-stream"):
		res.Body = readTasks(res.Body, res.Body)
	case strings.HasPrefix(kind, "application/json"):
		body, err := io.ReadAll(io.LimitReader(res.Body, maxTaskBody))
		rest := io.MultiReader(bytes.NewReader(withTask(body)), res.Body)
		if err != nil {
			res.Body.Close()
			return nil, err
		}
		res.Body = struct {
			io.Reader
			io.Closer
		}{rest, res.Body}
		res.ContentLength = -1
	}
	return res, nil
}
