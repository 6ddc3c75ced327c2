package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"wield/chat"
	"wield/model/openai"
)

// The address is that of any server of chat completions, such as http://127.0.0.1:11434/v1.
func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\": [{\"delta\": {\"content\": \"Hello\"}}]}\n\n"+
			"data: {\"choices\": [{\"delta\": {\"content\": \", Ann.\"}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()

	model := openai.New(openai.Options{URL: server.URL, Model: "any"})
	request := &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("I am Ann.")}}}
	for event, err := range model.Stream(context.Background(), request) {
		switch {
		case err != nil:
			fmt.Println(err)
		case event.Kind == chat.KindText:
			fmt.Print(event.Text)
		case event.Kind == chat.KindFinish:
			fmt.Printf("\n%s\n", event.Detail.(*chat.Finish).Reason)
		}
	}
	// Output:
	// Hello, Ann.
	// stop
}
