package agent_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
)

// randomTalk makes a conversation of several tasks, with turns that call, and results of all lengths.
func randomTalk(rnd *rand.Rand) []chat.Message {
	var list []chat.Message
	if rnd.IntN(2) == 0 {
		list = append(list,
			chat.Message{Role: chat.RoleSystem, Parts: chat.Text("Be exact. " + strings.Repeat("s", rnd.IntN(200)))})
	}
	id := 0
	for n := range 1 + rnd.IntN(4) {
		list = append(list, u(fmt.Sprintf("task %d %s", n, strings.Repeat("u", rnd.IntN(200)))))
		for range rnd.IntN(8) {
			m := chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(strings.Repeat("a", rnd.IntN(100)))}
			for range rnd.IntN(4) {
				id++
				m.Calls = append(m.Calls, call(fmt.Sprint("call_", id), "look", fmt.Sprintf(`{"n":%d}`, id)))
			}
			list = append(list, m)
			for _, c := range m.Calls {
				text := strings.Repeat("r", rnd.IntN(40))
				if rnd.IntN(2) == 0 {
					text = strings.Repeat("ré", rnd.IntN(3000))
				}
				list = append(list, chat.Message{Role: chat.RoleTool, CallID: c.ID, Name: "look",
					Parts: chat.Text(text), IsError: rnd.IntN(5) == 0})
			}
			if rnd.IntN(8) == 0 {
				list = append(list, u("and also this"))
			}
		}
	}
	return list
}

// asked returns where a model was asked in a conversation, and its end.
func asked(messages []chat.Message) []int {
	var list []int
	for i := range messages {
		if messages[i].Role == chat.RoleAssistant {
			list = append(list, i)
		}
	}
	return append(list, len(messages))
}

// TestFit cuts random conversations at every place at which a model was asked. What is sent holds the order of strict
// servers and the budget, wherever that can be; what has to stay stays; the same conversation is always sent the same.
func TestFit(t *testing.T) {
	var pruned, dropped, cut, over int
	for seed := range 60 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		messages := randomTalk(rnd)
		f := agent.Fitting{Budget: 100 + rnd.IntN(4000), Reader: []string{"", "read_output"}[rnd.IntN(2)]}
		if rnd.IntN(3) == 0 {
			f.Summary = agent.Summary{Messages: rnd.IntN(len(messages)), Text: "what was before"}
			for f.Summary.Messages > 0 && messages[f.Summary.Messages].Role == chat.RoleTool {
				f.Summary.Messages--
			}
		}
		before := dump(messages)
		for _, n := range asked(messages) {
			if n < f.Summary.Messages || n == 0 {
				continue
			}
			v := f.Fit(messages[:n])
			where := fmt.Sprintf("seed %d, %d of %d messages, budget %d", seed, n, len(messages), f.Budget)
			checkView(t, where, &f, messages[:n], &v)
			if again := f.Fit(slices.Clone(messages[:n])); !reflect.DeepEqual(again, v) {
				t.Errorf("%s: it is sent in another way the second time", where)
			}
			pruned, dropped, cut = pruned+v.Pruned, dropped+v.Dropped, cut+v.Cut
			if v.Tokens > f.Budget {
				over++
			}
		}
		if dump(messages) != before {
			t.Fatalf("seed %d: the conversation was changed", seed)
		}
	}
	t.Logf("%d notes, %d cut, %d messages left out, %d over the budget", pruned, cut, dropped, over)
	if pruned < 100 || dropped < 100 || cut < 100 {
		t.Error("the conversations are not what the test is about")
	}
}

// side counts the messages of the user that stand behind another one, which some models do not take.
func side(messages []chat.Message) int {
	n := 0
	for i := 1; i < len(messages); i++ {
		if messages[i].Role == chat.RoleUser && messages[i-1].Role == chat.RoleUser {
			n++
		}
	}
	return n
}

func checkView(t *testing.T, where string, f *agent.Fitting, messages []chat.Message, v *agent.View) {
	t.Helper()
	if err := runtest.Strict(v.Messages); err != nil {
		t.Errorf("%s: %v\n%s", where, err, dump(v.Messages))
	}
	text, ids := "", map[string]bool{}
	for i := range v.Messages {
		m := &v.Messages[i]
		text += m.Text() + "\n"
		ids[m.CallID] = true
	}
	if side(v.Messages) > side(messages) {
		t.Errorf("%s: more messages of the user stand side by side\n%s", where, dump(v.Messages))
	}
	first, newest := true, -1
	for i := range messages {
		switch m := &messages[i]; m.Role {
		case chat.RoleSystem:
			if !strings.Contains(text, m.Text()) {
				t.Errorf("%s: the instructions are gone", where)
			}
		case chat.RoleUser:
			if first && !strings.Contains(text, m.Text()) {
				t.Errorf("%s: the first task is gone", where)
			}
			first = false
		case chat.RoleAssistant:
			newest = i
		}
	}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == chat.RoleUser {
			if !strings.Contains(text, messages[i].Text()) {
				t.Errorf("%s: the last message of the user is gone", where)
			}
			break
		}
	}
	if newest >= f.Summary.Messages && newest >= 0 {
		for _, c := range messages[newest].Calls {
			if !ids[c.ID] {
				t.Errorf("%s: call %s of the newest turn is gone", where, c.ID)
			}
		}
	}
	if v.Dropped > 0 && !strings.Contains(text, fmt.Sprintf("[%d earlier messages are left out here", v.Dropped)) {
		t.Errorf("%s: nothing says that %d messages are left out", where, v.Dropped)
	}
	if whole := agent.EstimateTokens(messages, nil); v.Tokens > f.Budget && v.Tokens > whole+40 {
		// by no more than the note that says so
		t.Errorf("%s: it became longer, %d of %d", where, v.Tokens, whole)
	}
	if v.Tokens > f.Budget { // then nothing can go any more
		for i := range v.Messages {
			m := &v.Messages[i]
			if m.Role == chat.RoleTool && len(m.Text()) > 600 {
				t.Errorf("%s: %d tokens, though a result of %d bytes is there", where, v.Tokens, len(m.Text()))
			}
		}
	}
}

// What is sent of one conversation, in words.
func TestFitByHand(t *testing.T) {
	long := strings.Repeat("0123456789", 100) // 250 tokens
	turn := func(n int, text string) []chat.Message {
		id := fmt.Sprint("c", n)
		return []chat.Message{{Role: chat.RoleAssistant, Calls: []chat.Call{call(id, "look", "{}")}},
			{Role: chat.RoleTool, CallID: id, Parts: chat.Text(text)}}
	}
	talk := slices.Concat([]chat.Message{{Role: chat.RoleSystem, Parts: chat.Text("sys")}, u("task")}, turn(1, long),
		turn(2, "short"), turn(3, long))
	for _, tt := range []struct {
		name string
		f    agent.Fitting
		want string
	}{
		{"all", agent.Fitting{Budget: 1000}, "sys|task|calls|" + long + "|calls|short|calls|" + long},
		{"no budget", agent.Fitting{}, "sys|task|calls|" + long + "|calls|short|calls|" + long},
		{"a note", agent.Fitting{Budget: 500, Reader: "read_output"},
			`sys|task|calls|[The result of look, 1000 bytes, is left out to save room. read_output reads it again: {"id":"c1"}]|calls|short|calls|` + long},
		{"turns", agent.Fitting{Budget: 370},
			"sys|task/[4 earlier messages are left out here, because there is no room for them.]|calls|" + long},
		{"a summary is wanted", agent.Fitting{Budget: 370, Summarize: true},
			"sys|task/[4 earlier messages are left out here, because there is no room for them.]|calls|" + long +
				"|wanted 6"},
		{"a summary", agent.Fitting{Budget: 370, Summary: agent.Summary{Messages: 6, Text: "It was short."}},
			"sys|task/[4 earlier messages are left out here. This is a summary of them:\nIt was short.]|calls|" + long},
		{"the newest turn", agent.Fitting{Budget: 180, Reader: "read_output"},
			"sys|task/[4 earlier messages are left out here, because there is no room for them.]|calls|" + long[:368] +
				"\n[368 of 1000 bytes are shown, to save room. read_output reads on: {\"id\":\"c3\",\"offset\":368}]"},
	} {
		v := tt.f.Fit(talk)
		var parts []string
		for i := range v.Messages {
			m := &v.Messages[i]
			text := strings.ReplaceAll(m.Text(), "\n[4", "/[4")
			if len(m.Calls) > 0 {
				text = "calls"
			}
			parts = append(parts, text)
		}
		if v.Wanted > 0 {
			parts = append(parts, fmt.Sprint("wanted ", v.Wanted))
		}
		if got := strings.Join(parts, "|"); got != tt.want {
			t.Errorf("%s (%d tokens):\n got %s\nwant %s", tt.name, v.Tokens, got, tt.want)
		}
	}
}

// The beginning of what is sent is the same from one request to the next, but for every now and then.
func TestFitIsSteady(t *testing.T) {
	messages := []chat.Message{u("task")}
	f := agent.Fitting{Budget: 16_000, Reader: "read_output"}
	var last []chat.Message
	changes := 0
	for n := range 120 {
		v := f.Fit(messages)
		if v.Tokens > f.Budget {
			t.Fatalf("turn %d: %d tokens", n, v.Tokens)
		}
		if len(v.Messages) < len(last) || !reflect.DeepEqual(last, v.Messages[:len(last)]) {
			changes++
		}
		last = v.Messages
		id := fmt.Sprint("c", n)
		messages = append(messages,
			chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call(id, "look", fmt.Sprintf(`{"n":%d}`, n))}},
			chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text(strings.Repeat("0123456789", 200))})
	}
	// 120 turns have some 65 000 tokens. Each time a quarter of 16 000 becomes free.
	if changes == 0 || changes > 25 {
		t.Errorf("it changed %d times", changes)
	}
}
