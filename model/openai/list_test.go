package openai

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestList asks servers of all kinds for their models.
func TestList(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   Listing
	}{
		{"a list", 200, `{"data": [{"id": "b"}, {"id": "a"}, {"id": "b"}, {"id": ""}]}`,
			Listing{Names: []string{"b", "a"}, Status: 200}},
		{"an empty list", 200, `{"data": []}`, Listing{Names: []string{}, Status: 200}},
		{"no list", 200, `{"models": []}`, Listing{Status: 200}},
		{"a page", 200, `<html>`, Listing{Status: 200}},
		{"a refusal", 401, `{"error": {"message": "no such key"}}`, Listing{Status: 401, Message: "no such key"}},
		{"a redirect", 302, ``, Listing{Status: 302}},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer k" ||
					r.Header.Get("X-Team") != "a" {
					t.Errorf("%s %v", r.URL, r.Header)
				}
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			}))
			defer server.Close()
			got, err := List(t.Context(),
				Options{URL: server.URL + "/v1/", Key: "k", Headers: http.Header{"X-Team": {"a"}}})
			if err != nil || !slices.Equal(got.Names, test.want.Names) ||
				(got.Names == nil) != (test.want.Names == nil) || got.Status != test.want.Status ||
				got.Message != test.want.Message {
				t.Errorf("%+v %v, want %+v", got, err, test.want)
			}
		})
	}
	if _, err := List(t.Context(), Options{URL: "http://127.0.0.1:1/v1"}); err == nil {
		t.Error("nobody is there, and there is no error")
	}
}
