package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runtest"
)

// The words of the table: u says something, a answers, c(..) calls, r(..) is a result.
func u(text string) chat.Message { return chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)} }

func a(text string) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text)}
}

func c(specs ...string) chat.Message {
	m := chat.Message{Role: chat.RoleAssistant}
	for _, s := range specs { // id name arguments
		f := strings.SplitN(s, " ", 3)
		m.Calls = append(m.Calls, chat.Call{ID: f[0], Name: f[1], Arguments: strings.Join(f[2:], ""), Complete: true})
	}
	return m
}

func r(id, text string) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text(text)}
}

// same is n turns with the same call and the same result.
func same(n int) []chat.Message {
	var list []chat.Message
	for i := range n {
		id := fmt.Sprint("s", i)
		list = append(list, c(id+` look {"a": 1}`), r(id, "nothing"))
	}
	return list
}

func join(lists ...any) []chat.Message {
	var all []chat.Message
	for _, l := range lists {
		switch l := l.(type) {
		case chat.Message:
			all = append(all, l)
		case []chat.Message:
			all = append(all, l...)
		}
	}
	return all
}

// show writes a step in one line.
func show(s agent.Step) string {
	words := []string{string(s.Do)}
	if s.Limit != "" {
		words = append(words, "limit="+string(s.Limit))
	}
	if s.Tell != "" {
		words = append(words, fmt.Sprintf("tell=%q", s.Tell))
	}
	for _, r := range s.Calls {
		word := r.Call.ID
		switch {
		case r.Refuse == agent.TextOverLimit:
			word += ":over(" + string(r.Limit) + ")"
		case r.Refuse != "":
			word += ":blocked"
		case r.Note != "":
			word += ":noted"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestNext(t *testing.T) {
	const then = ". Call no more tools. Answer now with what you have."
	tests := []struct {
		name   string
		limits agent.Limits
		used   func(s *agent.State) // after the messages
		after  []chat.Message
		want   string
	}{
		{name: "the question", want: "ask"},
		{name: "the answer", after: join(a("5535")), want: "end"},
		{name: "an empty answer", after: join(a("")), want: "end"},
		{name: "calls", after: join(c("1 look {}", "2 list {}")), want: "run 1 2"},
		{name: "one result", after: join(c("1 look {}", "2 list {}"), r("1", "x")), want: "run 2"},
		{name: "results in another order", after: join(c("1 look {}", "2 list {}"), r("2", "x")), want: "run 1"},
		{name: "all results", after: join(c("1 look {}", "2 list {}"), r("1", "x"), r("2", "x")), want: "ask"},
		{name: "said meanwhile", after: join(a("hello"), u("and now?")), want: "ask"},

		{name: "DR-04 calls of one tool", limits: agent.Limits{PerTool: 2},
			after: join(c("1 look 1", "2 look 2", "3 look 3", "4 list 1")), want: "run 1 2 3:over(per_tool) 4"},
		{name: "X-D01 calls in all", limits: agent.Limits{Calls: 2}, after: join(c("1 t1 1", "2 t2 2", "3 t3 3")),
			want: "run 1 2 3:over(calls)"},
		{name: "the last answer after calls", limits: agent.Limits{Calls: 2},
			after: join(c("1 t1 1", "2 t2 2"), r("1", "x"), r("2", "x")),
			want:  `ask limit=calls tell="Tool limit reached. Summarize with what you have"`},
		{name: "the default is 20 calls", after: join(c(numbered(21)...)),
			want: "run " + strings.Join(ids(20), " ") + " 21:over(calls)"},
		{name: "the default is 10 of a tool", after: join(c(numberedOf("look", 11)...)),
			want: "run " + strings.Join(ids(10), " ") + " 11:over(per_tool)"},

		{name: "the last answer", limits: agent.Limits{Iterations: 2}, after: join(c("1 look {}"), r("1", "x")),
			want: `ask limit=iterations tell="Limit reached: this is answer 2 of 2` + then + `"`},
		{name: "told once", limits: agent.Limits{Iterations: 2},
			after: join(c("1 look {}"), r("1", "x"), u("Limit reached: now")), want: `ask limit=iterations`},
		{name: "the answer when it was the last one", limits: agent.Limits{Iterations: 2},
			after: join(c("1 look {}"), r("1", "x"), u("Limit reached: now"), a("so")), want: `end limit=iterations`},
		{name: "calls in the last answer", limits: agent.Limits{Iterations: 2},
			after: join(c("1 look {}"), r("1", "x"), u("Limit reached: now"), c("2 look 2")),
			want:  `run 2:over(iterations)`},
		{name: "after calls in the last answer", limits: agent.Limits{Iterations: 2},
			after: join(c("1 look {}"), r("1", "x"), u("Limit reached: now"), c("2 look 2"), r("2", "x")),
			want:  `end limit=iterations`},
		{name: "one answer is allowed", limits: agent.Limits{Iterations: 1}, want: "ask limit=iterations"},
		{name: "and given", limits: agent.Limits{Iterations: 1}, after: join(a("4")), want: "end"},
		{name: "no limit", limits: agent.Limits{Iterations: -1, Repeats: agent.Repeats{Note: -1, Block: -1, Stop: -1}},
			after: same(15), want: "ask"},
		{name: "somebody says that a limit is reached",
			after: join(a("hello"), u("Limit reached: what does that mean?"), c("1 look {}")), want: "run 1"},

		{name: "time", limits: agent.Limits{Time: time.Minute}, used: func(s *agent.State) { s.Elapsed = time.Minute },
			after: join(c("1 look {}"), r("1", "x")),
			want:  `ask limit=time tell="Limit reached: the time of 1m0s is over` + then + `"`},
		{name: "time with open calls", limits: agent.Limits{Time: time.Minute},
			used: func(s *agent.State) { s.Elapsed = time.Minute }, after: join(c("1 look {}")),
			want: `run 1:over(time)`},
		{name: "tokens", limits: agent.Limits{Tokens: 100},
			used:  func(s *agent.State) { s.Usage = chat.Usage{Known: true, In: 60, Out: 40} },
			after: join(c("1 look {}"), r("1", "x")),
			want:  `ask limit=tokens tell="Limit reached: the 100 tokens are used up` + then + `"`},
		{name: "cost", limits: agent.Limits{Cost: 1}, used: func(s *agent.State) { s.Cost = 1.5 },
			after: join(c("1 look {}"), r("1", "x")),
			want:  `ask limit=cost tell="Limit reached: the money is used up` + then + `"`},

		{name: "twice the same", after: join(same(1), c("x look {\"a\":1}")), want: "run x"},
		{name: "the third is noted", after: join(same(2), c("x look {\"a\":1}")), want: "run x:noted"},
		{name: "the fourth is blocked", after: join(same(3), c("x look {\"a\":1}")), want: "run x:blocked"},
		{name: "in one turn", after: join(c("1 look {}", "2 look {}", "3 look {}", "4 look { }")),
			want: "run 1 2 3:noted 4:blocked"},
		{name: "keys in another order",
			after: join(c(`1 look {"a":1,"b":2}`, `2 look {"b":2,"a":1}`, `3 look {"a": 1, "b": 2}`)),
			want:  "run 1 2 3:noted"},
		{name: "other numbers", after: join(c(`1 look {"a":1}`, `2 look {"a":1.0}`, `3 look {"a":10}`)),
			want: "run 1 2 3"},
		{name: "another result between", after: join(same(2), c("x look {\"a\":1}"), r("x", "something"),
			c("y look {\"a\":1}")), want: "run y"},
		{name: "the run is stopped", after: same(6),
			want: `ask limit=repeats tell="Limit reached: the same call was made 6 times and had the same result` +
				then + `"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := agent.NewState(tt.limits, []chat.Message{u("What is 123 * 45?")})
			for _, m := range tt.after {
				if !s.Add(m) {
					t.Fatalf("the message %v was not taken", m)
				}
			}
			if tt.used != nil {
				tt.used(s)
			}
			if got := show(s.Next()); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if again := show(s.Next()); again != tt.want {
				t.Errorf("asked again: %s", again)
			}
		})
	}
}

func ids(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(i+1))
	}
	return list
}

// numbered is n calls of different tools, numberedOf of one.
func numbered(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%d t%d {}", i+1, i+1))
	}
	return list
}

func numberedOf(name string, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%d %s %d", i+1, name, i))
	}
	return list
}

func TestResultsTakeTheirPlace(t *testing.T) {
	s := agent.NewState(agent.Limits{}, []chat.Message{u("go")})
	s.Add(c("1 look 1", "2 look 2", "3 look 3"))
	for _, id := range []string{"3", "1", "2"} {
		if !s.Add(r(id, "result")) {
			t.Fatalf("the result of %s was not taken", id)
		}
	}
	if err := runtest.Strict(s.Messages); err != nil {
		t.Error(err)
	}
	if s.Add(r("2", "again")) || s.Add(r("4", "of nothing")) {
		t.Error("a second result, or one of no call, was taken")
	}
}
