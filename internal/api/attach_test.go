package api

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"wield/chat"
)

// A picture of one pixel.
const pixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

func attached(t *testing.T, input string, files ...string) string {
	t.Helper()
	task := Task{Agent: "home", Input: input}
	for i := 0; i < len(files); i += 2 {
		task.Attachments = append(task.Attachments,
			Attachment{files[i], base64.StdEncoding.EncodeToString([]byte(files[i+1]))})
	}
	raw, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestAttachments: what comes with a message reaches the model as what its bytes say that it is.
func TestAttachments(t *testing.T) {
	s, m, _ := driven(t)
	run := s.start("k-client", attached(t, "look", "a.png", pixel, "b.txt", "words\n", "c.pdf", "%PDF-1.7\n"))
	s.events(run.ID, "", nil)
	m.mu.Lock()
	parts := m.asked[0].Messages[0].Parts
	m.mu.Unlock()
	want := []chat.Part{{Text: "look"}, {Kind: chat.PartImage, MediaType: "image/png", Name: "a.png",
		Data: []byte(pixel)}, {Text: "=== FILE: b.txt\nwords\n"},
		{Kind: chat.PartFile, MediaType: "application/pdf", Name: "c.pdf", Data: []byte("%PDF-1.7\n")}}
	got, _ := json.Marshal(parts)
	if text, _ := json.Marshal(want); string(got) != string(text) {
		t.Errorf("the model is asked with\n%s\nwant\n%s", got, text)
	}
	waiting := s.start("k-client", `{"agent":"home","input":"wait"}`)
	status, text := s.do("POST", "/runs/"+waiting.ID+"/messages", "k-client",
		strings.Replace(attached(t, "", "b.txt", "words\n"), `"agent":"home",`, "", 1))
	if status != http.StatusAccepted {
		t.Errorf("%d %s", status, text)
	}
	close(m.free)
	list, _ := s.events(waiting.ID, "", nil)
	if said := textOf(list); !strings.Contains(said, "=== FILE: b.txt\nwords") {
		t.Errorf("the answer is %q", said)
	}
}

func TestRefusedAttachments(t *testing.T) {
	s, _, _ := driven(t)
	var many []string
	for range maxAttachments + 1 {
		many = append(many, "x.txt", "x")
	}
	for _, test := range []struct {
		body   string
		status int
		field  string
		say    string
	}{
		{`{"agent":"home"}`, 400, "/input", "nothing to do"},
		{`{"agent":"home","input":" ","attachments":[]}`, 400, "/input", "nothing to do"},
		{attached(t, "x", many...), 400, "/attachments", "8 is the most"},
		{attached(t, "x", "", "x"), 400, "/attachments/0/name", "1 to 255 bytes"},
		{attached(t, "x", "a", "x", "b\nc", "x"), 400, "/attachments/1/name", "can be seen"},
		{attached(t, "x", strings.Repeat("n", 256), "x"), 400, "/attachments/0/name", "1 to 255 bytes"},
		{attached(t, "x", "a", ""), 400, "/attachments/0/data", "is empty"},
		{attached(t, "x", "a.zip", "PK\x03\x04\x00\x00"), 400, "/attachments/0/data", "neither text nor a picture"},
		{`{"agent":"home","attachments":[{"name":"a","data":"%%%"}]}`, 400, "/attachments/0/data", "is no base64"},
		{`{"agent":"home","attachments":[{"name":"a"}]}`, 400, "/attachments/0/data", ""},
		{attached(t, "x", "a.txt", strings.Repeat("x", maxText+1)), 413, "/attachments/0/data", "is the most"},
		{attached(t, "x", "a.png", pixel+strings.Repeat("x", maxPicture)), 413, "/attachments/0/data", "is the most"},
		{attached(t, "x", "a.png", pixel+strings.Repeat("x", maxUpload)), 413, "", "larger than"},
	} {
		status, text := s.do("POST", "/runs", "k-client", test.body)
		var got struct{ Error Fault }
		if err := json.Unmarshal(text, &got); err != nil || status != test.status || got.Error.Field != test.field ||
			!strings.Contains(got.Error.Message, test.say) {
			t.Errorf("%.100s: %d %s", test.body, status, text)
		}
	}
}
