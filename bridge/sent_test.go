package bridge_test

import (
	"reflect"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// TestSent: what is told beforehand is what a model is sent, in every mode; nothing is asked for it.
func TestSent(t *testing.T) {
	req := &chat.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleSystem, Parts: chat.Text("Be brief.")},
		{Role: chat.RoleUser, Parts: chat.Text("What is it?")}},
		Tools: []chat.Tool{{Name: "look", Description: "Looks.",
			Parameters: []byte(`{"type":"object","properties":{"at":{"type":"string"}}}`)}}}
	for _, tt := range []struct {
		mode   bridge.Mode
		inText bool
	}{{bridge.ModeText, true}, {bridge.ModeNative, false}, {bridge.ModeAuto, false}} {
		f := &fake{t: t, answers: []answer{{text("a lamp")}}}
		b := bridge.New(f, bridge.Options{Mode: tt.mode})
		sent, inText, err := b.Sent(req)
		if err != nil || inText != tt.inText {
			t.Fatalf("%s: %t %v", tt.mode, inText, err)
		}
		if len(f.requests) != 0 {
			t.Errorf("%s: the model was asked", tt.mode)
		}
		for _, err := range b.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(f.requests) != 1 || !reflect.DeepEqual(sent, f.requests[0]) {
			t.Errorf("%s: told was\n%+v\nsent was\n%+v", tt.mode, sent, f.requests)
		}
	}
	wrong := *req
	wrong.Tools = []chat.Tool{{Name: "look", Parameters: []byte(`{"type":3}`)}}
	if _, _, err := bridge.New(&fake{t: t}, bridge.Options{}).Sent(&wrong); err == nil {
		t.Error("a schema that makes no sense is taken")
	}
}

// TestNoImages: images in results are described to a model that takes none, with function calling and in text alike,
// and the client's own stay.
func TestNoImages(t *testing.T) {
	picture := chat.Part{Kind: chat.PartImage, MediaType: "image/png", Data: []byte("abc")}
	req := &chat.Request{Messages: []chat.Message{
		{Role: chat.RoleUser, Parts: []chat.Part{picture}},
		{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "a", Name: "look", Arguments: "{}"}}},
		{Role: chat.RoleTool, CallID: "a", Name: "look", Parts: []chat.Part{picture}},
	}, Tools: []chat.Tool{{Name: "look"}}}
	for _, mode := range []bridge.Mode{bridge.ModeNative, bridge.ModeText} {
		sent, _, err := bridge.New(&fake{t: t}, bridge.Options{Mode: mode, Server: bridge.Server{NoImages: true}}).Sent(
			req)
		if err != nil {
			t.Fatal(err)
		}
		last := sent.Messages[len(sent.Messages)-1]
		images := 0
		for _, m := range sent.Messages {
			for _, p := range m.Parts {
				if p.Kind == chat.PartImage {
					images++
				}
			}
		}
		if images != 1 || !strings.Contains(last.Text(), "(image, image/png, 3 bytes; this model cannot see it)") {
			t.Errorf("%s: %d images are sent; the last message: %q", mode, images, last.Text())
		}
	}
	if req.Messages[2].Parts[0].Kind != chat.PartImage {
		t.Error("the request was changed")
	}
}
