package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// counted writes a week of statistics, as programs that ran then would have left them.
func (w *world) counted() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "stats")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for back := range 6 * 24 {
		at := today.Add(-time.Duration(back+2) * time.Hour)
		var text strings.Builder
		line := func(model, dialect, tool, numbers string) {
			fmt.Fprintf(&text, "\n%d\t%s\t%s\t%s\t%s\t%s\t.\n", at.Unix()/3600, model,
				[]string{"ada", "cleo", "-"}[back%3], dialect, tool, strings.ReplaceAll(numbers, " ", "\t"))
		}
		busy := 1 + (back*7)%5
		line("qwen3", "hermes", "read_file",
			fmt.Sprintf("calls=%d first_try=%d repaired=1 repairs=2 done=%d run:100=3,180=2,240=1", 10*busy, 9*busy,
				9*busy))
		line("qwen3", "raw-json", "edit_file",
			fmt.Sprintf(
				"calls=%d first_try=%d malformed=%d invalid=1 done=%d timeout=1 asked=2 approved=1 refused=1 run:300=4 wait:800=2", 4*busy, busy, busy, 3*busy))
		line("llama", "function-tag", "read_file", fmt.Sprintf("calls=%d first_try=%d done=%d run:120=2", busy, busy,
			busy))
		line("llama", "", "",
			fmt.Sprintf("answers=%d requests=%d tokens_in=%d tokens_out=%d answer:500=3,700=1 first:400=4", 2*busy,
				2*busy, 900*busy, 80*busy))
		line("qwen3", "", "",
			fmt.Sprintf(
				"answers=%d failed=1 bounced=2 mended=1 bounces=2 requests=%d tokens_in=%d tokens_out=%d cost_micros=1234 answer:520=9 first:410=9", 9*busy, 11*busy, 5000*busy, 700*busy))
		line("qwen3", "", "<img src=x onerror=alert(1)>", "offered=20 offered_bytes=4000")
		f, err := os.OpenFile(filepath.Join(dir, at.Format(time.DateOnly)+".stats"),
			os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := f.WriteString(text.String()); err != nil {
			w.t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func hash(s *sheet) (hash string) {
	s.t.Helper()
	s.call(&hash, "hash")
	return hash
}

// TestAnalytics: a week at a glance, chosen closer, with the choice in the address; what a run does is counted while
// one looks.
func TestAnalytics(t *testing.T) {
	b := browser(t)
	w := newWorld(t, plain, nil)
	empty := w.open(b, adminKey, "#/analytics")
	empty.wait(".empty", "No data for this period")
	empty.tab.Close()

	w.counted()
	s := w.open(b, adminKey, "#/analytics")
	s.wait(".tiles", "Valid at first try", "Approval time")
	s.wait(".heat", "qwen3", "llama", "hermes", "raw-json", "function-tag")
	s.wait("main", "Errors", "broken syntax", "timeout", "Never called", "<img src=x onerror=alert(1)>")
	s.pictures("analytics")
	var high float64
	s.evaluate(&high,
		`Math.max(...[...document.querySelectorAll('.chart .bar')].map((e) => e.getBoundingClientRect().height))`)
	if bars := s.count(".chart .bar"); bars < 20 || high < 20 {
		t.Errorf("%d parts of bars, the highest has %g pixels", bars, high)
	}
	// Keyboard alone: the choice of a rate changes the map, and stands in the address.
	s.call(nil, "choose", `select[aria-label="Rate"]`, "first_try")
	s.wait(".heat .heat-0", "100 %")
	s.wait(".heat .heat-5")
	if got := hash(s); got != "#/analytics?heat=first_try" {
		t.Errorf("the address is %s", got)
	}
	s.click("edit_file") // the row of the tool
	s.gone(".heat", "hermes")
	s.wait(".heat", "raw-json")
	if got := hash(s); got != "#/analytics?heat=first_try&tool=edit_file" {
		t.Errorf("the address is %s", got)
	}
	s.goTo("#/analytics?client=nobody")
	s.wait(".empty", "No data")
	s.call(nil, "choose", `select[aria-label="Client"]`, "")
	s.wait(".heat", "hermes")
	s.call(nil, "choose", `select[aria-label="Client"]`, "cleo")
	if got := hash(s); got != "#/analytics?client=cleo" {
		t.Errorf("the address is %s", got)
	}
	s.wait(".heat", "hermes")

	c := w.open(b, clientKey, "#/analytics")
	c.wait(".heat", "hermes")
	if n := c.count(`select[aria-label="Client"]`); n != 0 {
		t.Error("a client may look at others")
	}
	if status := w.ask(adminKey, "POST", "/runs", map[string]string{"agent": "sums", "input": "What is 123 * 45?"},
		nil); status != 201 {
		t.Fatal(status)
	}
	for range 200 {
		a := w.open(b, adminKey, "#/analytics?model=sums")
		a.wait("main h1", "Analytics")
		a.wait(".analytics", "s")
		found := strings.Contains(a.text(".analytics"), "calculator")
		a.tab.Close()
		if found {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("what a run did is not counted")
}
