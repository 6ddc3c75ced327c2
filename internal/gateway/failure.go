package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/mask"
	"wield/internal/shorten"
	"wield/schema/near"
)

// A failure is an exchange's end with an error: what the client is told, and under which status.
type failure struct {
	status int // of the answer, if it is not committed
	err    *chat.Error
	allow  string // the methods of the URL, where that is what is wrong
	hangUp bool   // the rest of the request is not worth reading
}

// The codes of failures that the gateway itself finds; those of the body's fields are package openai's.
const (
	codeKey        = "invalid_api_key"
	codeModel      = "model_not_found"
	codeUserTurn   = "missing_user_message"
	codeTooLarge   = "request_too_large"
	codeEncoding   = "unsupported_encoding"
	codeCutShort   = "incomplete_request"
	codeSlow       = "request_timeout"
	codeURL        = "unknown_url"
	codeMethod     = "method_not_allowed"
	codeRate       = "rate_limit_exceeded"
	codeBackendKey = "backend_refused_credentials"
	codeStopping   = "shutting_down"
	codePasses     = "unsupported_tool_execution_mode"
	codeInternal   = "internal_error"
)

// paramFormat is the name that models know for the field that says which form an answer is to have.
const paramFormat = "response_format"

// paramSchema ends the place of a tool's schema, as models name it.
const paramSchema = ".function.parameters"

// statusGone is the status in the log for a client that disconnected. No client gets it.
const statusGone = 499

var (
	noKey = refuse(http.StatusUnauthorized, chat.ErrAuth, codeKey,
		`this needs an API key of wield: send one as "Authorization: Bearer KEY"; `+keyPlace)
	wrongKey = refuse(http.StatusUnauthorized, chat.ErrAuth, codeKey, "the API key is not one of this service; "+
		keyPlace)
)

// keyPlace says where whoever was refused finds a key.
const keyPlace = "valid keys are those of the configuration (keys; wield config key makes one), " +
	"or the key that wield serve prints when it starts"

func refuse(status int, kind chat.ErrorKind, code, message string) *failure {
	return &failure{status: status, err: &chat.Error{Kind: kind, Code: code, Message: message}}
}

func forbidden(code, message string) *failure {
	return refuse(http.StatusForbidden, chat.ErrAuth, code, message)
}

// badField is a request whose field param is wrong.
func badField(param, code, message string) *failure {
	f := refuse(http.StatusBadRequest, chat.ErrBadRequest, code, message)
	f.err.Param = param
	return f
}

// modelFailure returns a model's error as the client gets it. ctx is the context that the model ran
// under; if it has ended, that is the reason, whatever the model makes of it.
func (x *exchange) modelFailure(ctx context.Context, err error) *failure {
	switch {
	case errors.Is(context.Cause(ctx), errDraining):
		return stopping()
	case ctx.Err() != nil:
		return &failure{status: statusGone, err: &chat.Error{Kind: chat.ErrCanceled, Message: "the client went away",
			Cause: err}}
	}
	return toldError(x.front, chat.AsError(err))
}

// stopping returns the error for answers that are cut off, or not begun, because the service ends.
func stopping() *failure {
	return refuse(http.StatusServiceUnavailable, chat.ErrOverloaded, codeStopping,
		"the service is shutting down; try again")
}

// toldError is a model's error as clients of a protocol are told of it.
func toldError(front *clientProtocol, e *chat.Error) *failure {
	switch {
	case e.Kind == chat.ErrAuth:
		// The client's own key was accepted: to answer 401 would send its user to look for a fault in it.
		told := *e
		told.Kind = chat.ErrUnavailable
		told.Message = "the model's backend refused the credentials that are configured for it: " + messageOf(e)
		if told.Code == "" {
			told.Code = codeBackendKey
		}
		return &failure{status: http.StatusBadGateway, err: &told}
	case e.Param == paramFormat && front.form != "":
		told := *e
		told.Param = front.form
		e = &told
	case front.schema != "" && strings.HasSuffix(e.Param, paramSchema):
		told := *e
		told.Param = strings.TrimSuffix(e.Param, paramSchema) + front.schema
		e = &told
	}
	return &failure{status: front.status(e.Kind), err: e}
}

func messageOf(e *chat.Error) string {
	if e.Message == "" && e.Cause != nil {
		return e.Cause.Error()
	}
	return e.Message
}

// retryAfter is the value of the header of that name: whole seconds, rounded up.
func retryAfter(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// shownPath returns a path for logs, captures and messages: a client may have put anything into it.
func shownPath(path string) string {
	const plain, most = 24, 300
	if len(path) <= plain { // such as /v1/chat/completions: no key fits
		return path
	}
	return mask.Text(shorten.Text(path, most))
}

// unknownModel says that there is no model of this name, and which there are.
func unknownModel(name string, known []string) *failure {
	var b strings.Builder
	b.WriteString("there is no model " + shorten.Quoted(name) + "; ")
	if meant := near.Name(name, known); meant != "" {
		b.WriteString("did you mean " + shorten.Quoted(meant) + "? ")
	}
	b.WriteString(listOf(known))
	f := refuse(http.StatusNotFound, chat.ErrNotFound, codeModel, b.String())
	f.err.Param = "model"
	return f
}

// listOf tells which models there are, but not hundreds of them.
func listOf(known []string) string {
	const most = 20
	switch {
	case len(known) == 0:
		return "there are no models for you here"
	case len(known) > most:
		return "known models: " + strings.Join(known[:most], ", ") + " and " + strconv.Itoa(len(known)-most) +
			" more (GET /v1/models)"
	}
	return "known models: " + strings.Join(known, ", ")
}
