package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/shorten"
	outgoing "wield/model/exchange"
	"wield/schema/shape"
	"wield/wire/jsonbody"
	"wield/wire/openai"
)

// A Relay passes on what is no conversation: embeddings, completions of a text, speech. The answer is what the server
// says, for the caller to read and close; one that is no success is a *chat.Error.
type Relay interface {
	Relay(ctx context.Context, q outgoing.Relayed) (*http.Response, error)
}

// codeNoRelay is the code of the error for a model whose backend has no such endpoint.
const codeNoRelay = "unsupported_endpoint"

// ownModel are the URLs for which a server has a model of its own where a request names none.
var ownModel = map[string]bool{"/v1/moderations": true, "/v1/images/generations": true, "/v1/images/edits": true,
	"/v1/images/variations": true}

// relay answers a URL whose requests go to the model's server as they are, but for the name of the model.
func (x *exchange) relay(body []byte) *failure {
	sent, err := readRelayed(x.r.Header.Get("Content-Type"), body)
	if err != nil {
		return &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	own := sent.model == "" && ownModel[x.r.URL.Path]
	m, f := (*Model)(nil), (*failure)(nil)
	if own {
		m, f = x.owner()
	} else {
		m, f = x.find(sent.model)
	}
	if f != nil {
		return f
	}
	if !m.relays() {
		return refuse(http.StatusNotFound, chat.ErrNotFound, codeNoRelay,
			"the backend of the model "+shorten.Quoted(m.Name)+" has no "+shownPath(x.r.URL.Path)+
				"; a model of a backend that has it can be used here")
	}
	if !own {
		if body, err = sent.rename(m.upstream()); err != nil {
			return badField("model", jsonbody.CodeInvalidValue, "the body cannot be read: "+err.Error())
		}
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	resp, err := m.Relay.Relay(ctx, outgoing.Relayed{Path: x.r.URL.Path, Header: contentType(sent.contentType),
		Body: body})
	if err != nil {
		return x.modelFailure(ctx, err)
	}
	defer resp.Body.Close()
	return x.passOn(ctx, resp)
}

func contentType(kind string) http.Header { return http.Header{"Content-Type": {kind}} }

// relayedHeaders are those of an answer that say how to read its body.
var relayedHeaders = []string{"Content-Type", "Content-Encoding", "Content-Disposition"}

// passOn answers with what a server answered, as it comes. Nothing is held back for more to come. A body that breaks
// off ends the connection, so that nobody takes it for a whole one; a stream of events ends with an error event.
func (x *exchange) passOn(ctx context.Context, resp *http.Response) *failure {
	h := x.w.Header()
	for _, name := range relayedHeaders {
		if v := resp.Header.Values(name); len(v) > 0 {
			h[name] = v
		}
	}
	events := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if events {
		h["Cache-Control"], h["X-Accel-Buffering"] = noCache, unbuffered
	}
	x.head(resp.StatusCode)
	var buf [16 << 10]byte
	var end streamEnd
	for {
		n, err := resp.Body.Read(buf[:])
		if n > 0 {
			end.add(buf[:n])
			x.deadline(time.Now())
			written, werr := x.w.Write(buf[:n])
			x.written += int64(written)
			if werr == nil {
				werr = x.rc.Flush()
			}
			if werr != nil {
				x.status, x.err = statusGone, chat.Errorf(chat.ErrCanceled,
					"the client does not take the answer: %w", werr)
				return nil
			}
		}
		switch {
		case err == nil:
		case err != io.EOF:
			return x.breakOff(events, x.modelFailure(ctx, err))
		case events && x.r.URL.Path == pathTextCompletions && !end.done():
			return x.breakOff(events, x.modelFailure(ctx,
				chat.Errorf(chat.ErrProtocol, "the server's stream broke off")))
		default:
			return nil
		}
	}
}

// breakOff ends an answer that is not whole.
func (x *exchange) breakOff(events bool, f *failure) *failure {
	x.err = f.err
	if f.status == statusGone {
		x.status = statusGone
		return nil
	}
	if !events {
		panic(http.ErrAbortHandler)
	}
	frame := append([]byte("\n\ndata: "), openai.AppendError(nil, f.err)...)
	n, _ := x.w.Write(append(frame, "\n\n"...))
	x.written += int64(n)
	return nil
}

// A streamEnd is the end of a stream.
type streamEnd struct {
	buf [32]byte
	n   int
}

func (t *streamEnd) add(b []byte) {
	if len(b) >= len(t.buf) {
		t.n = copy(t.buf[:], b[len(b)-len(t.buf):])
		return
	}
	keep := min(t.n, len(t.buf)-len(b))
	copy(t.buf[:], t.buf[t.n-keep:t.n])
	t.n = keep + copy(t.buf[keep:], b)
}

// done reports whether the stream ended with its terminator.
func (t *streamEnd) done() bool {
	return bytes.HasSuffix(bytes.TrimSpace(t.buf[:t.n]), []byte("[DONE]"))
}

// A relayedBody is a request's body with the name of a model in it.
type relayedBody struct {
	contentType string
	boundary    string // of a form; empty: it is JSON
	body        []byte
	model       string
	at, end     int // of the name in JSON; 0, 0: it is not there
}

// readRelayed finds the name of the model in a body, which is JSON or a form.
func readRelayed(contentType string, body []byte) (*relayedBody, error) {
	r := &relayedBody{contentType: contentType, body: body}
	if kind, params, err := mime.ParseMediaType(contentType); err == nil && kind == "multipart/form-data" {
		r.boundary = params["boundary"]
		if err := r.readForm(); err != nil {
			return nil, &jsonbody.FieldError{Code: jsonbody.CodeInvalidValue, Message: "the form cannot be read: " +
				err.Error()}
		}
		return r, nil
	}
	r.contentType = "application/json"
	var d jsonbody.Reader
	if err := d.Init(body); err != nil {
		return nil, err
	}
	d.Members(func(key string) {
		if key != "model" {
			d.Skip()
			return
		}
		d.Peek()
		r.at = d.Pos
		r.model = d.Optional()
		r.end = d.Pos
	})
	return r, d.Done()
}

// rename returns the body with the name that the server knows.
func (r *relayedBody) rename(name string) ([]byte, error) {
	switch {
	case name == r.model:
		return r.body, nil
	case r.boundary != "":
		return r.renameForm(name)
	}
	at, end := r.at, r.end
	quoted := shape.AppendQuoted(nil, name)
	if end == 0 { // it had none, and got the only model there is
		at = bytes.IndexByte(r.body, '{') + 1
		end = at
		quoted = append(append([]byte(`"model":`), quoted...), ',')
		if bytes.HasPrefix(bytes.TrimSpace(r.body[at:]), []byte("}")) {
			quoted = quoted[:len(quoted)-1]
		}
	}
	return append(append(append(make([]byte, 0, len(r.body)+len(quoted)), r.body[:at]...), quoted...),
		r.body[end:]...), nil
}

// readForm finds the model in a form.
func (r *relayedBody) readForm() error {
	parts := multipart.NewReader(bytes.NewReader(r.body), r.boundary)
	for n := 0; ; n++ {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == maxParts {
			return fmt.Errorf("it has more than %d parts", maxParts)
		}
		if isModel(p) && r.model == "" {
			text, err := io.ReadAll(io.LimitReader(p, maxModelName))
			if err != nil {
				return err
			}
			r.model = string(text)
		}
	}
}

// maxParts limits the parts of a form, as net/http does.
const maxParts = 1000

// maxModelName limits the name of a model.
const maxModelName = 4 << 10

func isModel(p *multipart.Part) bool { return p.FormName() == "model" && p.FileName() == "" }

// renameForm returns the form with another model.
func (r *relayedBody) renameForm(name string) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, len(r.body)+len(name)+256))
	w := multipart.NewWriter(out)
	if err := w.SetBoundary(r.boundary); err != nil {
		return nil, err
	}
	if err := w.WriteField("model", name); err != nil {
		return nil, err
	}
	parts := multipart.NewReader(bytes.NewReader(r.body), r.boundary)
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if isModel(p) {
			continue
		}
		dst, err := w.CreatePart(p.Header)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(dst, p); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
