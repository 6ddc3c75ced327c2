package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"wield/chat"
)

type header map[string]string

func (h header) Get(name string) string { return h[name] }

func TestDecodeError(t *testing.T) {
	for _, c := range goldens(t, "errors.txt", 20) {
		t.Run(c.name, func(t *testing.T) {
			status, err := strconv.Atoi(c.sections["status"])
			if err != nil {
				t.Fatal(err)
			}
			h := header{"Retry-After": c.sections["retry"], "Date": c.sections["date"]}
			e := DecodeError(status, h, []byte(c.sections["body"]))
			got := fmt.Sprintf("%s | %v | %s | %s", e.Kind, e.RetryAfter.Seconds(), e.Code, e.Message)
			if got != c.sections["want"] || e.Status != status {
				t.Errorf("got  %s (status %d)\nwant %s", got, e.Status, c.sections["want"])
			}
			if !errors.Is(e, e.Kind) {
				t.Error("the kind cannot be asked for")
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		h    header
		want time.Duration
	}{
		{header{}, 0},
		{header{"Retry-After": "1.5"}, 1500 * time.Millisecond},
		{header{"Retry-After": "-3"}, 0},
		{header{"Retry-After": "NaN"}, 0},
		{header{"Retry-After": "1e300"}, maxRetryAfter},
		{header{"Retry-After": "soon"}, 0},
		{header{"Retry-After": "5", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
	} {
		if got := retryAfter(c.h); got != c.want {
			t.Errorf("%v: %v, want %v", c.h, got, c.want)
		}
	}
	at := time.Now().Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	if got := retryAfter(header{"Retry-After": at}); got < 50*time.Minute || got > time.Hour {
		t.Errorf("an hour from now: %v", got)
	}
}

// TestWait_DR07: how long to wait may stand in the body alone.
func TestWait_DR07(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		h      header
		want   time.Duration
	}{
		{429,
			`{"error":{"code":429,"message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}]}}`, nil, 30 * time.Second},
		{429, `[{"error":{"code":429,"details":[{"retryDelay":"1.5s"}]}}]`, nil, 1500 * time.Millisecond},
		{429, `{"error":{"message":"Rate limit reached. Please try again in 6m0.5s. Visit"}}`, nil,
			6*time.Minute + 500*time.Millisecond},
		{429, `{"error":{"message":"Retry after 20 seconds"}}`, nil, 20 * time.Second},
		{429, `{"error":{"message":"try again in 20ms."}}`, nil, 20 * time.Millisecond},
		{429, `{"error":{"message":"try again in 20s"}}`, header{"Retry-After": "3"}, 3 * time.Second},
		{429, `{"error":{"message":"try again in a while","details":"none"}}`, nil, 0},
		{400, `{"error":{"message":"try again in 20s"}}`, nil, 0},
	} {
		if got := DecodeError(c.status, c.h, []byte(c.body)).RetryAfter; got != c.want {
			t.Errorf("%s: %v, want %v", c.body, got, c.want)
		}
	}
}

func TestAppendError(t *testing.T) {
	for _, c := range []struct {
		e    chat.Error
		want string
	}{
		{chat.Error{Kind: chat.ErrBadRequest, Message: "m \"q\"", Param: "messages[0]", Code: "invalid_type"},
			`{"error":{"message":"m \"q\"","type":"invalid_request_error","param":"messages[0]","code":"invalid_type"}}`},
		{chat.Error{Kind: chat.ErrBadRequest, Message: "m"},
			`{"error":{"message":"m","type":"invalid_request_error","param":null,"code":null}}`},
		{chat.Error{Kind: chat.ErrRateLimit, Message: "m"},
			`{"error":{"message":"m","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}`},
		{chat.Error{Kind: "new"}, `{"error":{"message":"new","type":"server_error","param":null,"code":null}}`},
	} {
		got := string(AppendError(nil, &c.e))
		if got != c.want || !json.Valid([]byte(got)) {
			t.Errorf("%+v:\n%s\nwant:\n%s", c.e, got, c.want)
		}
	}
}

// TestErrorRound checks that every class of error survives being written and read.
func TestErrorRound(t *testing.T) {
	for kind := range kinds {
		e := DecodeError(Status(kind), nil, AppendError(nil, &chat.Error{Kind: kind, Message: "m"}))
		if want := kind; e.Kind != want && want != chat.ErrProtocol { // a client cannot tell the last from unavailable
			t.Errorf("%s was read as %s", want, e.Kind)
		}
	}
	if Status("new") != 500 {
		t.Error("an unknown kind must be a 500")
	}
}
