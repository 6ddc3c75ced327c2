package gateway

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/journal"
	"wield/journal/record"
)

// serving starts a service.
type serving func(t *testing.T, o Options) *httptest.Server

// forgetful starts a service that is restarted before each request: all that it knows is in a journal.
func forgetful(t *testing.T, o Options) *httptest.Server {
	t.Helper()
	o.Journal = &journal.Memory{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { New(o).ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	return srv
}

// TestKept goes through what is kept of the Responses protocol: in memory, in a journal as well, and in a journal
// alone.
func TestKept(t *testing.T) {
	for _, where := range []struct {
		name  string
		serve serving
	}{
		{"Memory", serve},
		{"Journal", func(t *testing.T, o Options) *httptest.Server {
			t.Helper()
			o.Journal = &journal.Memory{}
			return serve(t, o)
		}},
		{"Restarted", forgetful},
	} {
		t.Run(where.name, func(t *testing.T) {
			for _, test := range []struct {
				name string
				run  func(t *testing.T, serve serving)
			}{
				{"Responses", testResponses}, {"ItemReferences", testItemReferences}, {"StoreFalse", testStoreFalse},
				{"KeptApart", testKeptApart}, {"InputItems", testInputItems}, {"Conversations", testConversations},
			} {
				t.Run(test.name, func(t *testing.T) { test.run(t, where.serve) })
			}
		})
	}
}

// TestTwoServices shows that services which share a journal share what is kept, and see what the other adds and
// deletes.
func TestTwoServices(t *testing.T) {
	rec := &recorder{}
	o := one(rec.model())
	o.Journal = &journal.Memory{}
	a, b := serve(t, o), serve(t, o)
	_, body := send(t, a, "POST", pathConversations, `{}`)
	conv := readResponse(t, body).ID
	first := respond(t, a, 200, `{"model":"m","input":"one","conversation":"`+conv+`"}`)
	respond(t, b, 200, `{"model":"m","input":"two","conversation":"`+conv+`"}`)
	respond(t, a, 200, `{"model":"m","input":"three","conversation":"`+conv+`"}`)
	if want := "user:one|assistant:answer 0|user:two|assistant:answer 1|user:three"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if resp, text := send(t, b, "DELETE", pathResponses+"/"+first.ID, ""); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, _ := send(t, a, "GET", pathResponses+"/"+first.ID, ""); resp.StatusCode != 404 {
		t.Errorf("what another service has deleted is still there: %d", resp.StatusCode)
	}
	for e, err := range o.Journal.Read(t.Context(), journal.Query{}) {
		if err != nil || strings.Contains(string(e.Body), first.ID) {
			t.Errorf("what was deleted stands in the journal: %s %v", e.Body, err)
		}
	}
}

// A lost journal cannot be reached any more.
type lost struct{ journal.Store }

func (lost) Append(context.Context, string, int64, ...record.Record) (int64, error) {
	return 0, errors.New("gone")
}

func (lost) Heads(context.Context, journal.HeadQuery) iter.Seq2[journal.Head, error] {
	return func(yield func(journal.Head, error) bool) { yield(journal.Head{}, errors.New("gone")) }
}

// TestLostJournal shows that an answer goes out although it cannot be kept, and that what cannot be looked up is not
// said to be missing.
func TestLostJournal(t *testing.T) {
	o := one(says(text("hi")))
	o.Journal = lost{}
	srv := serve(t, o)
	first := respond(t, srv, 200, `{"model":"m","input":"go"}`)
	for _, status := range []responded{
		respond(t, srv, 503, `{"model":"m","input":"go","previous_response_id":"`+first.ID+`"}`),
		respond(t, srv, 503, `{"model":"m","input":"go","conversation":"conv_x"}`),
	} {
		if status.Error == nil || strings.Contains(status.Error.Message, "gone") {
			t.Errorf("%+v", status.Error)
		}
	}
}
