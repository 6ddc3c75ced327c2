package compose

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"wield/internal/browser/chromium"
	"wield/internal/chatpage"
	"wield/internal/script"
	"wield/internal/testlevel"
)

// matrixBrowser is the row of a model behind a web page.
const matrixBrowser = "browser"

// showChat serves a web page whose model plays a scenario, and returns its address. Without a browser the row is
// skipped.
func (p *matrixPage) showChat(t *testing.T, scenario string) string {
	t.Helper()
	_, err := chromium.Find("")
	if err == nil && !testlevel.All() {
		err = errors.New("it takes long: set WIELD_TEST=all")
	}
	if err != nil {
		p.mu.Lock()
		p.missed = append(p.missed, matrixBrowser)
		p.mu.Unlock()
		t.Skipf("SKIPPED, nothing behind a web page is tested: %v", err)
	}
	live, err := script.Open(scenario, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(&chatpage.Page{Answer: chatpage.Model(live.Model(script.Options{}))})
	t.Cleanup(page.Close)
	return page.URL
}

// matrixSelectors are what the configuration says of the page. Each client has one of its own, so that none is closed
// for another: the model behind it knows only what stands in it, and not that a text that is typed into a new one holds
// a result.
func matrixSelectors() string {
	s := chatpage.Selectors
	return fmt.Sprintf("prompt: %q, answer: %q, send: %q, stop: %q, login: %q, settle: 300ms, pages: %d, sandbox: %v",
		s.Prompt, s.Answer, s.Send, s.Stop, s.Login, 2*len(matrixFronts), os.Getuid() != 0)
}

// replaceRow puts the row of a backend as another table has it in its place.
func replaceRow(table, name, other string) string {
	row := func(table string) string {
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, "| "+name+" |") {
				return line
			}
		}
		return ""
	}
	return strings.Replace(table, row(table), row(other), 1)
}
