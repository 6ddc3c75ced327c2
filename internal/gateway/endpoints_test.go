package gateway

import "testing"

func TestRoutes(t *testing.T) {
	r := newRoutes(
		endpoint{method: "POST", path: "/a"},
		endpoint{method: "GET", path: "/a/*"},
		endpoint{method: "DELETE", path: "/a/*"},
		endpoint{method: "GET", path: "/a/*/items"},
	)
	for _, tt := range []struct{ path, arg, methods string }{
		{"/a", "", "POST"},
		{"/a/b", "b", "GET, HEAD, DELETE"},
		{"/a/b/c", "b/c", "GET, HEAD, DELETE"}, // names of models hold slashes
		{"/a/b/items", "b", "GET, HEAD"},
		{"/a/items", "items", "GET, HEAD, DELETE"},
		{"/a/", "", ""},
		{"/a//items", "/items", "GET, HEAD, DELETE"},
		{"/b", "", ""},
		{"", "", ""},
	} {
		found, arg := r.at(tt.path)
		if got := methods(found); got != tt.methods || arg != tt.arg {
			t.Errorf("%s: %q with the argument %q, want %q with %q", tt.path, got, arg, tt.methods, tt.arg)
		}
	}
	found, _ := r.at("/a/b")
	if e := forMethod(found, "HEAD"); e == nil || e.method != "GET" {
		t.Error("HEAD is not answered as GET is")
	}
	if forMethod(found, "POST") != nil {
		t.Error("a method is answered that the path does not have")
	}
}

// TestFronts holds the table to what the gateway relies on.
func TestFronts(t *testing.T) {
	for path, found := range endpoints.exact {
		for _, e := range found {
			if e.front == nil || (e.serve == nil) == (e.take == nil) || e.method == "" {
				t.Errorf("%s: half an endpoint", path)
			}
		}
	}
	for _, p := range endpoints.patterns {
		for _, e := range p.endpoints {
			if e.front == nil || (e.serve == nil) == (e.take == nil) || e.method == "" {
				t.Errorf("%s: half an endpoint", e.path)
			}
		}
	}
}
