package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/sqlite"
)

// BenchmarkTurnRecorded is BenchmarkTurn with a journal: in memory, and in a file, where a turn with its call takes two
// syncs.
func BenchmarkTurnRecorded(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite"} {
		b.Run(kind, func(b *testing.B) {
			const turns = 100
			r := tools(b, reads("look", says("a result of some length, as they are")))
			store := openStore(b, kind)
			b.ResetTimer()
			for n := 0; n < b.N; n += turns {
				model := new(fakeModel)
				for i := range turns {
					model.answers = append(model.answers, calls(call("", "look", fmt.Sprintf(`{"n":%d}`, i))))
				}
				limits := agent.Limits{Iterations: -1, Calls: -1, PerTool: -1}
				run := agent.New(model, r, agent.Options{Limits: limits, Journal: store}).Run(ask("go"))
				for _, err := range run.Events(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func openStore(b *testing.B, kind string) journal.Store {
	b.Helper()
	if kind == "memory" {
		return new(journal.Memory)
	}
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "journal.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// A gate lets nobody through before all have come.
type gate struct {
	mu   sync.Mutex
	left int
	open chan struct{}
}

func (g *gate) pass(last func()) {
	g.mu.Lock()
	if g.left--; g.left == 0 {
		last()
		close(g.open)
	}
	g.mu.Unlock()
	<-g.open
}

// BenchmarkManyRuns drives a thousand runs at once over a journal in a file. In each of two turns all of them wait in
// their tools until the last one has come; then the memory is looked at. Each has a task and results of 4 KiB.
func BenchmarkManyRuns(b *testing.B) {
	const runs, turns = 1000, 2
	text := strings.Repeat("word ", 800)
	for b.Loop() {
		var gates [turns]gate
		for i := range gates {
			gates[i] = gate{left: runs, open: make(chan struct{})}
		}
		var held uint64
		slow := func(_ context.Context, args string) (string, error) {
			gates[args[5]-'0'].pass(func() { held = max(held, inUse()) })
			return text, nil
		}
		then := &modelFunc{func(req *chat.Request) answer {
			n := 0
			for i := range req.Messages {
				if req.Messages[i].Role == chat.RoleAssistant {
					n++
				}
			}
			if n == turns {
				return answer{text: "done"}
			}
			return answer{text: "on it", calls: []chat.Call{call("", "slow", fmt.Sprintf(`{"n":%d}`, n)),
				call("", "look", "{}")}}
		}}
		a := agent.New(then, tools(b, reads("slow", slow), reads("look", says(text))),
			agent.Options{Journal: openStore(b, "sqlite")})
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				run := a.Run(ask("go " + text))
				if _, err := collect(run.Events(b.Context())); err != nil || run.Outcome().Text != "done" {
					b.Errorf("%v, %+v", err, run.Outcome())
				}
			})
		}
		wg.Wait()
		b.ReportMetric(float64(held)/1e6, "MB-held")
		b.ReportMetric(float64(peak())/1e6, "MB-peak")
	}
}

// inUse returns how much memory the process has from the system and did not give back.
func inUse() uint64 {
	list := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(list)
	return list[0].Value.Uint64() - list[1].Value.Uint64()
}

// peak returns the most memory that the process ever had; 0: the system does not say.
func peak() (bytesUsed uint64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	if _, err := fmt.Sscanf(string(rest), "%d kB", &bytesUsed); err != nil {
		return 0
	}
	return bytesUsed << 10
}
