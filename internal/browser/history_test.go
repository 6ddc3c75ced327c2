package browser

import (
	"testing"

	"wield/chat"
)

// TestGoesOn: which conversations go on where a page stands.
func TestGoesOn(t *testing.T) {
	const call = "Let me look.\n\n```json\n{\"tool\": \"get_weather\", \"args\": {\"city\": \"Rome\", \"days\": 3}}\n```"
	say := func(texts ...string) talk {
		req := &chat.Request{}
		for i, text := range texts {
			role := chat.RoleUser
			if i%2 == 1 {
				role = chat.RoleAssistant
			}
			req.Messages = append(req.Messages, chat.Message{Role: role, Parts: chat.Text(text)})
		}
		got, err := talkOf(req)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	said := append(say("weather?"), pageMessage{role: chat.RoleAssistant, words: wordsOf(call)})
	for name, c := range map[string]struct {
		next talk
		want bool
	}{
		"as it was": {say("weather?", call, "sunny"), true},
		"the call written anew": {
			say("weather?",
				"Let me look.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\",\"days\":3}}\n```",
				"sunny"), true},
		"without the words": {
			say("weather?", "```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\",\"days\":3}}\n```",
				"sunny"), true},
		"another city": {
			say("weather?",
				"Let me look.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\",\"days\":3}}\n```",
				"sunny"), false},
		"other words":             {say("weather?", "I will look. "+call, "sunny"), false},
		"no answer":               {say("weather?", "", "sunny"), false},
		"another question":        {say("Weather?", call, "sunny"), false},
		"the same question again": {say("weather?"), false},
		"an answer in between":    {say("weather?", call, "sunny", "Take a hat.", "why?"), false},
	} {
		if got := c.next.goesOn(said); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if said.goesOn(nil) {
		t.Error("a page without a conversation is none to go on with")
	}
}
