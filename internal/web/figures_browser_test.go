package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/journal/record"
)

// The figures of the page. They are what a browser says of itself, and hold for the machine that they were taken on:
//
//	go test ./internal/web -run '^$' -bench Page -benchtime 10x

// median returns that of some numbers.
func median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// BenchmarkPagePaint opens the page in a browser that has seen nothing of it before, and tells when something is
// painted and when the view is there. Each time is from the beginning of the navigation.
func BenchmarkPagePaint(b *testing.B) {
	br := only(b)
	w := newWorld(b, plain, nil)
	var first, ready []float64
	for b.Loop() {
		if w.guest != nil {
			w.guest.Close()
			w.guest = nil
		}
		s := w.open(br, adminKey, "")
		var paint, view float64
		s.evaluate(&paint,
			`new Promise((done) => new PerformanceObserver((l) => { for (const e of l.getEntries()) if (e.name === 'first-contentful-paint') done(e.startTime); }).observe({type: 'paint', buffered: true}))`)
		s.evaluate(&view,
			`new Promise((done) => { const look = () => document.querySelector('main h1') ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look); look(); })`)
		first, ready = append(first, paint), append(ready, view)
		s.tab.Close()
	}
	b.ReportMetric(median(first), "paint-ms")
	b.ReportMetric(slices.Max(first), "paint-max-ms")
	b.ReportMetric(median(ready), "view-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPageOpen opens a run of more than five thousand records, one answer of which is a megabyte long.
func BenchmarkPageOpen(b *testing.B) {
	br := only(b)
	w := newWorld(b, curious, map[string]string{"sums.yaml": curiousScenario})
	w.appendBig(b)
	s := w.open(br, adminKey, "#/inspector")
	s.wait(".inspect-item", "run")
	var list []float64
	for b.Loop() {
		list = append(list, s.openBig())
		s.goTo("#/inspector")
		s.gone(".inspect-main .split-text")
	}
	b.ReportMetric(median(list), "open-ms")
	b.ReportMetric(slices.Max(list), "open-max-ms")
	b.ReportMetric(0, "ns/op")
}

// watchTasks counts frames from now on, and gathers how long tasks take that take long.
const watchTasks = `(() => { window.tasks = []; new PerformanceObserver((l) => { for (const e of l.getEntries()) tasks.push(Math.round(e.duration)); }).observe({type: 'longtask'});
	window.frames = 0; window.since = performance.now(); const tick = () => { frames++; requestAnimationFrame(tick); }; requestAnimationFrame(tick); })()`

// scroll scrolls what a selector names up and down, with every frame.
const scroll = `(() => { let by = 40; const tick = () => { const el = document.querySelector(%q); if (el) { const at = el.scrollTop; el.scrollTop = at + by; if (el.scrollTop === at) by = -by; } requestAnimationFrame(tick); }; tick(); })()`

// reportTasks reports what watchTasks has seen.
func (s *sheet) reportTasks(b *testing.B) {
	var tasks []float64
	var perSecond float64
	s.evaluate(&tasks, "tasks")
	s.evaluate(&perSecond, "1000 * frames / (performance.now() - since)")
	b.ReportMetric(slices.Max(append(tasks, 0)), "longest-task-ms")
	b.ReportMetric(float64(len(tasks)), "tasks>50ms")
	b.ReportMetric(perSecond, "frames/s")
	b.ReportMetric(0, "ns/op")
}

func (s *sheet) heap(b *testing.B) float64 {
	n, err := s.tab.Heap(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) / (1 << 20)
}

// BenchmarkPageRush has ten thousand things recorded in each second while the inspector is open and somebody scrolls
// through its list. One turn of the loop is one second.
func BenchmarkPageRush(b *testing.B) {
	br := only(b)
	w := newWorld(b, curious, map[string]string{"sums.yaml": curiousScenario})
	s := w.open(br, adminKey, "#/inspector")
	w.rush(b, 0, 50, 2)
	s.wait(".inspect-item", "a message among many")
	before := s.heap(b)
	s.evaluate(nil, watchTasks)
	s.evaluate(nil, fmt.Sprintf(scroll, ".inspect-list"))
	const runs, each = 50, 200 // in a second
	n, begun := 0, time.Now()
	for b.Loop() {
		for range runs {
			n++
			w.rush(b, n, 1, each)
			time.Sleep(time.Until(begun.Add(time.Duration(n) * time.Second / runs)))
		}
	}
	took := time.Since(begun)
	s.reportTasks(b)
	b.ReportMetric(float64(n*each)/took.Seconds(), "records/s")
	b.ReportMetric(before, "heap-before-MiB")
	b.ReportMetric(s.heap(b), "heap-after-MiB")
}

// rush records runs of many messages at once.
func (w *world) rush(t testing.TB, number, runs, each int) {
	t.Helper()
	for i := range runs {
		records := []record.Record{{Kind: record.KindRun,
			Run: &record.Run{Session: "ses_rush", Agent: "sums", By: "ada"}}}
		for range each - 1 {
			records = append(records,
				record.Record{Kind: record.KindMessage,
					Message: &record.Message{Message: chat.Message{Role: chat.RoleUser,
						Parts: chat.Text("a message among many")}}})
		}
		if _, err := w.journal.Append(t.Context(), fmt.Sprintf("run_rush_%d_%d", number, i), 0,
			records...); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkPageWriting has a model write into a chat that is open, as fast as it can, in ten thousand pieces of eight
// characters for each turn of the loop.
func BenchmarkPageWriting(b *testing.B) {
	br := only(b)
	const pieces, size = 10_000, 8
	line := "A *sentence* of the answer, with `code` and [a link](https://example.com/).\n"
	n := 0
	for b.Loop() {
		n++
	}
	n = min(n, 30)
	text := strings.Repeat(strings.Repeat(line, 5)+"\n", n*pieces*size/(5*len(line)+1)) + "\nThe very end.\n"
	w := newWorld(b, curious,
		map[string]string{
			"sums.yaml": fmt.Sprintf(
				"wield: scenario/v1\nname: sums\ndefaults: {chunk: %d}\nturns:\n  - id: a\n    when: {}\n    reply: [{text: %s}]\n", size, yamlString(text))})
	s := w.open(br, adminKey, "#/chat")
	s.call(nil, "choose", `select[aria-label="Model"]`, "sums")
	before := s.heap(b)
	s.write("textarea[aria-label=Message]", "Write.")
	s.evaluate(nil, watchTasks)
	begun := time.Now()
	s.press("Enter")
	for end := begun.Add(time.Duration(n+60) * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var over bool
		if s.evaluate(&over,
			`Boolean(document.querySelector('.said-model .markdown')?.lastElementChild?.textContent.includes('The very end.'))`); over {
			break
		}
		if time.Now().After(end) {
			b.Fatal("the answer does not end")
		}
	}
	took := time.Since(begun)
	s.reportTasks(b)
	b.ReportMetric(float64(len(text)/size)/took.Seconds(), "pieces/s")
	b.ReportMetric(before, "heap-before-MiB")
	b.ReportMetric(s.heap(b), "heap-after-MiB")
}

// BenchmarkPageCode opens a chat whose one answer is a block of code of a megabyte.
func BenchmarkPageCode(b *testing.B) {
	br := only(b)
	w := newWorld(b, curious, map[string]string{"sums.yaml": curiousScenario})
	line := "\tif err := doSomething(with, some, words); err != nil { return err }\n"
	text := "```go\n" + strings.Repeat(line, 1<<20/len(line)) + "// The very end.\n```\n"
	if _, err := w.journal.Append(b.Context(), "run_code", 0,
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: "ses_code", Agent: "sums", By: "ada"}},
		record.Record{Kind: record.KindMessage,
			Message: &record.Message{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text("code")}}},
		record.Record{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
		record.Record{Kind: record.KindTurnEnd,
			TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text)}}},
		record.Record{Kind: record.KindEnd, End: &record.End{Reason: "answer"}}); err != nil {
		b.Fatal(err)
	}
	s := w.open(br, adminKey, "#/chat")
	s.evaluate(nil, watchTasks)
	var list []float64
	for b.Loop() {
		var took float64
		s.evaluate(&took, `new Promise((done) => { const at = performance.now(); location.hash = '#/chat/ses_code';
			const look = () => { if (document.querySelector('.said-model code')?.textContent.includes('The very end.')) done(performance.now() - at); else setTimeout(() => requestAnimationFrame(look), 50); }; look(); })`)
		list = append(list, took)
		s.goTo("#/chat")
		s.gone(".said-model")
	}
	b.ReportMetric(median(list), "open-ms")
	s.reportTasks(b)
}
