package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestServeAPI takes a run through the interface: started, followed, seen by another service and by the lists; and
// the service ends although somebody follows.
func TestServeAPI(t *testing.T) {
	told := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		told <- r.Header.Get("Webhook-Signature") + " " + string(body)
	}))
	defer hook.Close()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "secret"), "0123456789abcdef")
	s, key, _ := startAgents(t, agentsFile+"webhooks: [{url: \""+hook.URL+"/x\", secret: \"file:"+
		filepath.ToSlash(filepath.Join(dir, "secret"))+"\", events: [run.ended]}]\n")
	api := s.base + "/api/v1"
	for path, want := range map[string]string{
		"/whoami": `{"name":"operator","role":"admin"}`,
		"/models": `{"name":"sums","agent":true,"tools":["calculator"`, "/tools": `"name":"calculator"`,
		"/captures": `"items":[]`,
	} {
		if status, body := do(t, "GET", api+path, ""); status != 401 ||
			!strings.Contains(body, `"kind":"unauthorized"`) {
			t.Errorf("%s without a key: %d %s", path, status, body)
		}
		if status, body := do(t, "GET", api+path, "", key...); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body := get(t, s.base+"/admin/captures"); status != 200 {
		t.Errorf("who sits at this machine does not see what was captured: %d %s", status, body)
	}
	status, body := do(t, "POST", api+"/runs", `{"agent":"sums","input":"What is 123 * 45?"}`, key...)
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(body), &run); err != nil || status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	if status, body = do(t, "GET", api+"/runs/"+run.ID+"/events", "", key...); status != 200 ||
		!strings.Contains(body, `"finish":"stop"`) {
		t.Errorf("%d %s", status, body)
	}
	if got := <-told; !strings.HasPrefix(got, "v1,") || !strings.Contains(got, `"event":"run.ended"`) ||
		!strings.Contains(got, run.ID) {
		t.Errorf("another service was told %s", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", api+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(key[0], key[1])
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	s.stop()
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream does not end as one that is over: %v", err)
	}
	s.end(t, 0)
}

// TestServePage: the page is at the root, and the printed address of it lets in whoever opens it, once.
func TestServePage(t *testing.T) {
	s, _, _ := startAgents(t, agentsFile)
	m := regexp.MustCompile(`(?m)^page: (\S+)$`).FindStringSubmatch(s.stdout.String())
	if m == nil || !strings.HasPrefix(m[1], s.base+"/api/v1/login?token=") {
		t.Fatalf("no address of the page is printed:\n%s", s.stdout)
	}
	if strings.Contains(s.stderr.String(), "token=") {
		t.Error("the log holds what lets somebody in")
	}
	if status, body := get(t, s.base+"/"); status != 200 || !strings.Contains(body, "/web/app.js") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, s.base+"/web/app.js"); status != 200 || !strings.Contains(body, "import") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, s.base+"/v1/chat/complet"); status != 404 || !strings.Contains(body, "did you mean") {
		t.Errorf("an address that is not there: %d %s", status, body)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	for i, want := range []string{"/", "/#used"} {
		c.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if got := r.URL.RequestURI() + map[bool]string{true: "#"}[r.URL.Fragment != ""] +
				r.URL.Fragment; got != want {
				t.Errorf("use %d of the address leads to %s", i+1, got)
			}
			return http.ErrUseLastResponse
		}
		req, err := http.NewRequestWithContext(t.Context(), "GET", m[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html,*/*")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	resp, err := c.Get(s.base + "/api/v1/whoami")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"name":"local","role":"admin"`) {
		t.Errorf("whoever has opened the address is %s", body)
	}
}

// TestServeKeeps shows that a response can be continued after a restart.
func TestServeKeeps(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file,
		"wield: config/v1\ndata: "+dir+
			"\nbackends: {b: {kind: script, scenario: demo}}\nmodels: {demo: {backend: b, mode: text}}\n")
	s := start(t, nil, "--config", file)
	_, body := do(t, "POST", s.base+"/v1/responses", `{"model":"demo","input":"What is the weather in Paris?"}`)
	id := regexp.MustCompile(`resp_\w+`).FindString(body)
	s.end(t, 0)
	s = start(t, nil, "--config", file)
	if status, body := get(t, s.base+"/v1/responses/"+id); status != 200 || !strings.Contains(body, id) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := do(t, "POST", s.base+"/v1/responses",
		`{"model":"demo","input":"And in Rome?","previous_response_id":"`+id+`"}`); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}
