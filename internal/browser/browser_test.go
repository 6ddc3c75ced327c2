package browser_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/browser"
	"wield/internal/browser/chromium"
	"wield/internal/chatpage"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(withBrowser{m}) }

// withBrowser ends the browser that tests share.
type withBrowser struct{ m *testing.M }

func (w withBrowser) Run() int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue { // tests mostly wait
		_ = f.Value.Set(strconv.Itoa(max(4, runtime.GOMAXPROCS(0))))
	}
	code := w.m.Run()
	if shared.b != nil {
		shared.b.Close()
	}
	return code
}

// shared is the browser of the tests that need none of their own: starting one takes longer than most of them.
var shared struct {
	start sync.Once
	b     *chromium.Browser
	err   error
}

// A site is a page, the model behind it, and the directory that its browser writes to.
type site struct {
	*browser.Model
	page *chatpage.Page
	tmp  string
}

// open serves a page that the shared browser shows.
func open(t *testing.T, answer func(ctx context.Context, talk []chatpage.Message, write func(string)) error,
	change func(*browser.Options)) *site {
	t.Helper()
	needChromium(t)
	t.Parallel()
	shared.start.Do(func() {
		shared.b, shared.err = chromium.Start(context.Background(), chromium.Options{NoSandbox: os.Getuid() == 0})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	s := &site{page: &chatpage.Page{Answer: answer}}
	server := httptest.NewServer(s.page)
	s.Model = browser.New(options(server.URL, change))
	browser.Lend(s.Model, shared.b)
	t.Cleanup(func() {
		browser.TakeBack(s.Model)
		s.Close()
		server.Close()
	})
	return s
}

func needChromium(t *testing.T) {
	t.Helper()
	testlevel.Long(t)
	if _, err := chromium.Find(""); err != nil {
		t.Skipf("SKIPPED, nothing behind a web page is tested: %v", err)
	}
}

// options are those of tests.
func options(url string, change func(*browser.Options)) browser.Options {
	o := browser.Options{
		URL:       url,
		Selectors: chatpage.Selectors,
		Browser:   chromium.Options{NoSandbox: os.Getuid() == 0},
		Load:      30 * time.Second,
		First:     time.Minute,
		Settle:    300 * time.Millisecond,
	}
	if change != nil {
		change(&o)
	}
	return o
}

// serve serves a page. Its browser is gone at the end of the test, with all that it has made.
func serve(t *testing.T, answer func(ctx context.Context, talk []chatpage.Message, write func(string)) error,
	change func(*browser.Options)) *site {
	t.Helper()
	return serveBy(t, answer, change, func(s *site) http.Handler { return s.page })
}

// serveBy serves a page by a handler in front of it.
func serveBy(t *testing.T, answer func(ctx context.Context, talk []chatpage.Message, write func(string)) error,
	change func(*browser.Options), handler func(*site) http.Handler) *site {
	t.Helper()
	needChromium(t)
	t.Parallel()
	s := &site{page: &chatpage.Page{Answer: answer}, tmp: shortDir(t)}
	server := httptest.NewServer(handler(s))
	s.Model = browser.New(options(server.URL, func(o *browser.Options) {
		o.Browser.Temp = s.tmp
		if change != nil {
			change(o)
		}
	}))
	t.Cleanup(func() {
		s.Close()
		server.Close()
		s.nothingLeft(t)
	})
	return s
}

// shortDir returns a directory for sockets, whose paths are short.
func shortDir(t *testing.T) string {
	dir, err := chromium.TestDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *site) nothingLeft(t *testing.T) {
	t.Helper()
	if left := chromium.Running(s.tmp); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if list, _ := os.ReadDir(s.tmp); len(list) > 0 {
		t.Errorf("files are left: %v", list)
	}
}

func user(text string) chat.Message { return chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)} }
func assistant(text string) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text)}
}

// ask returns the answer to a conversation, and the pieces that it came in.
func (s *site) ask(ctx context.Context, messages ...chat.Message) (text string, pieces int, err error) {
	var b strings.Builder
	finished := false
	for e, err := range s.Stream(ctx, &chat.Request{Messages: messages, Stream: true}) {
		switch {
		case err != nil:
			return b.String(), pieces, err
		case e.Kind == chat.KindText && (e.At != b.Len() || e.End != e.At+len(e.Text)):
			return "", 0, fmt.Errorf("the span %d..%d does not follow %d bytes", e.At, e.End, b.Len())
		case e.Kind == chat.KindText:
			b.WriteString(e.Text)
			pieces++
		case e.Kind == chat.KindFinish:
			finished = true
		}
	}
	if !finished {
		err = errors.New("no finish")
	}
	return b.String(), pieces, err
}

// echo answers with the last message, all at once.
func echo(_ context.Context, talk []chatpage.Message, write func(string)) error {
	write(talk[len(talk)-1].Text)
	return nil
}

// slowly answers with the last message in small pieces.
func slowly(ctx context.Context, talk []chatpage.Message, write func(string)) error {
	return chatpage.InPieces(ctx, write, talk[len(talk)-1].Text, 7, 15*time.Millisecond)
}

// rendered is Markdown in the layout that it comes back in. Each piece is asked for by itself.
var rendered = []struct{ name, text, want string }{
	{"paragraphs", "One line.\n\nAnother, with **strong**, *weak*, ~~gone~~ and `code` words.", ""},
	{"code",
		"Before:\n\n```go\nfunc f() {\n\tif a < b && c > d {  \n\n\t\tprintln(\"x &amp; y\", `raw`)\n\t}\n}\n```\n\nafter", ""},
	{"code without a language", "```\n  indented\n\n\n```", ""},
	{"tags in code", "```xml\n<tool_call>\n<b>x</b> &lt;\n</tool_call>\n```", ""},
	{"fences in code", "````markdown\n```sh\nls\n```\n````", ""},
	{"inline code", "Say ``a`b`` or `*x*` or `<tag>`.", ""},
	{"headings", "# One\n\ntext\n\n### Three *weak*", ""},
	{"lists", "- a\n- b\n  - c\n  - d\n- e **f**", ""},
	{"numbers", "3. three\n4. four:\n   ```json\n   {\"a\": 1}\n   ```\n5. five",
		"3. three\n4. four:\n   ```json\n   {\"a\": 1}\n   ```\n5. five"},
	{"table", "| a | b |\n| --- | --- |\n| 1 | x \\| y |\n| `c` |  |", ""},
	{"links", "See [the page](https://example.org/a) and ![a cat](cat.png).", ""},
	{"quotation", "> said\n>\n> - twice\n\nso", ""},
	{"rule", "a\n\n---\n\nb", ""},
	{"entities", "a &lt; b &amp; c", "a < b & c"},
	{"unknown tags", "Look: <tool_call>{\"name\": \"f\"}</tool_call> there.", "Look: {\"name\": \"f\"} there."},
	{"white space", "a  b\nc", "a b c"},
	{"other letters", "naïve 漢字 😀 *é*", ""},
	{"a call",
		"Let me look.\n\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Köln\", \"note\": \"a\\tb  c\"}}\n```", ""},
}

// TestMarkdown asks for text of every form, which the page shows as elements and forgets, and gets the text back, in
// pieces, while the page makes all of it anew again and again.
func TestMarkdown(t *testing.T) {
	s := open(t, slowly, nil)
	var texts, wants []string
	for _, c := range rendered {
		if c.want == "" {
			c.want = c.text
		}
		texts, wants = append(texts, c.text), append(wants, c.want)
	}
	got, pieces, err := s.ask(t.Context(), user(strings.Join(texts, "\n\n")))
	if err != nil || pieces < 2 { // how many there are depends on how busy the machine is
		t.Errorf("%d pieces, %v", pieces, err)
	}
	if got == strings.Join(wants, "\n\n") {
		return
	}
	t.Errorf("all together:\ngot  %q\nwant %q", got, strings.Join(wants, "\n\n"))
	for i, c := range rendered {
		if got, _, err := s.ask(t.Context(), user(c.text)); err != nil || got != wants[i] {
			t.Errorf("%s: %v\ngot  %q\nwant %q", c.name, err, got, wants[i])
		}
	}
}

// TestConversation_C01: one page a conversation, in which only what is new is typed.
func TestConversation_C01(t *testing.T) {
	s := open(t, func(ctx context.Context, talk []chatpage.Message, write func(string)) error {
		return chatpage.InPieces(ctx, write,
			fmt.Sprintf("Answer %d:\n\n```json\n{\"name\": \"f\", \"arguments\": {\"n\": %d}}\n```", len(talk),
				len(talk)), 9, 5*time.Millisecond)
	}, nil)
	first := []chat.Message{user("[rules]\n\none")}
	text, _, err := s.ask(t.Context(), first...)
	if err != nil {
		t.Fatal(err)
	}
	// The client hands the call back in a layout of its own.
	second := append(first, assistant("Answer 1:\n```json\n{\"name\":\"f\",\"arguments\":{\"n\":1}}\n```"), user("two"))
	if again, _, err := s.ask(t.Context(), second...); err != nil || again == text {
		t.Fatalf("%q, %v", again, err)
	}
	third := append(second, assistant("Answer 3:\n```json\n{\"name\":\"f\",\"arguments\":{\"n\":3}}\n```"),
		user("three"))
	if _, _, err := s.ask(t.Context(), third...); err != nil {
		t.Fatal(err)
	}
	other := append([]chat.Message{}, third...)
	other[1] = assistant("Answer 1, changed by the client")
	if _, _, err := s.ask(t.Context(), other...); err != nil {
		t.Fatal(err)
	}
	talks := s.page.Talks()
	var typed []string
	for _, talk := range talks {
		typed = append(typed, fmt.Sprintf("%d: %s", len(talk), talk[len(talk)-1].Text))
	}
	if len(talks) != 4 || typed[0] != "1: [rules]\n\none" || typed[1] != "3: two" || typed[2] != "5: three" ||
		!strings.HasPrefix(typed[3], "1: This conversation goes on") ||
		!strings.Contains(typed[3], "changed by the client") || !strings.Contains(typed[3], "USER:\nthree") {
		t.Errorf("typed:\n%s", strings.Join(typed, "\n"))
	}
}

// TestSame shows that an answer like the one before it is an answer, also in a page whose old messages have left the
// document.
func TestSame(t *testing.T) {
	s := open(t, func(_ context.Context, _ []chatpage.Message, write func(string)) error { write("Yes."); return nil },
		nil)
	var messages []chat.Message
	for i := range 4 {
		messages = append(messages, user(fmt.Sprintf("Is %d a number?", i)))
		text, _, err := s.ask(t.Context(), messages...)
		if err != nil || text != "Yes." {
			t.Fatalf("%d: %q, %v", i, text, err)
		}
		messages = append(messages, assistant(text))
	}
	if talks := s.page.Talks(); len(talks) != 4 || len(talks[3]) != 7 {
		t.Errorf("the page was asked %d times, at last with %d messages", len(talks), len(talks[len(talks)-1]))
	}
}

// TestVariants: what a page can do to whoever asks it, and the error that says what it was.
func TestVariants(t *testing.T) {
	s := open(t, slowly, nil)
	const long = "This answer is long enough for the page to close in the middle of it, or to be loaded anew.\n\nIt goes on."
	for _, c := range []struct {
		variant chatpage.Variant
		code    string
		kind    chat.ErrorKind
		says    string
	}{
		{chatpage.Plain, "", "", ""},
		{chatpage.Slow, "", "", ""},
		{chatpage.Asking, "", "", ""},
		{chatpage.Login, browser.CodeLogin, chat.ErrAuth, "wield browser login"},
		{chatpage.Loading, browser.CodeClosed, chat.ErrUnavailable, "loaded anew"},
	} {
		s.page.Be(c.variant)
		text, _, err := s.ask(t.Context(), user(long))
		if c.code == "" {
			if err != nil || text != long {
				t.Errorf("%q: %q, %v", c.variant, text, err)
			}
			continue
		}
		e := chat.AsError(err)
		if e == nil || e.Code != c.code || e.Kind != c.kind || !strings.Contains(e.Message, c.says) {
			t.Errorf("%q: %v, %+v", c.variant, err, e)
		}
	}
}

// TestLogin: what somebody did at the page once is kept in the profile.
func TestLogin(t *testing.T) {
	var o *browser.Options
	profile := filepath.Join(t.TempDir(), "profile")
	s := serve(t, echo, func(options *browser.Options) { o = options; o.Browser.Profile = profile })
	s.page.Be(chatpage.Login)
	if _, _, err := s.ask(t.Context(), user("hi")); !errors.Is(err, chat.ErrAuth) {
		t.Errorf("nobody is logged in: %v", err)
	}
	if _, err := browser.Login(t.Context(), *o); chat.AsError(err) == nil ||
		chat.AsError(err).Code != browser.CodeInUse {
		t.Errorf("the profile is in use: %v", err)
	}
	s.Close()
	s.page.Be(chatpage.Signing)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if in, err := browser.Login(ctx, *o); err != nil || !in {
		t.Fatalf("logging in: %v, %v", in, err)
	}
	s.page.Be(chatpage.Login)
	s.Model = browser.New(*o)
	if text, _, err := s.ask(t.Context(), user("hi")); err != nil || text != "hi" {
		t.Errorf("afterwards: %q, %v", text, err)
	}
	if _, err := browser.Login(canceled(), *o); !errors.Is(err, chat.ErrCanceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestSelectors: a selector that nothing matches, or that is none, is named.
func TestSelectors(t *testing.T) {
	var o *browser.Options
	s := open(t, echo, func(options *browser.Options) {
		o = options
		o.Load = time.Second
		o.Selectors.Prompt = "#nothing"
	})
	_, _, err := s.ask(t.Context(), user("hi"))
	if e := chat.AsError(err); e == nil || e.Code != browser.CodeSelector ||
		!strings.Contains(e.Message, `has nothing for browser.prompt: no element that can be seen matches #nothing`) {
		t.Errorf("%v", err)
	}
	o.Selectors.Prompt, o.Selectors.Stop = "#prompt", "[["
	m := browser.New(*o)
	browser.Lend(m, shared.b)
	defer m.Close()
	defer browser.TakeBack(m)
	for _, err := range m.Stream(t.Context(), &chat.Request{Messages: []chat.Message{user("hi")}}) {
		if e := chat.AsError(err); e == nil || e.Code != browser.CodeSelector ||
			!strings.Contains(e.Message, "browser.stop is no CSS selector: [[") {
			t.Errorf("%v", err)
		}
	}
}

// TestDeaf: a button without effect.
func TestDeaf(t *testing.T) {
	s := open(t, echo, func(o *browser.Options) { o.Load = 12 * time.Second }) // for the page to be there, too
	s.page.Be(chatpage.Deaf)
	_, _, err := s.ask(t.Context(), user("hi"))
	if e := chat.AsError(err); e == nil || e.Code != browser.CodeSend ||
		!strings.Contains(e.Message, "browser.send (#send) has no effect") {
		t.Errorf("%v", err)
	}
}

// TestThrownAway: a page that is being made throws the prompt away when it has been looked at already. It is not
// taken for sent, nor the button for one that cannot be pressed.
func TestThrownAway(t *testing.T) {
	s := serve(t, echo, nil)
	if _, _, err := s.ask(t.Context(), user("hi")); err != nil {
		t.Fatal(err)
	}
	if err := browser.Type(t.Context(), s.Model, "what is left"); err != nil {
		t.Fatal(err)
	}
	if sent, err := browser.Send(t.Context(), s.Model, "what was typed"); sent || err != nil {
		t.Errorf("a prompt that is not there is sent: %v, %v", sent, err)
	}
	if err := browser.Type(t.Context(), s.Model, " "); err != nil {
		t.Fatal(err)
	}
	sent, err := browser.Send(t.Context(), s.Model, " ") // for which the page has no use
	if e := chat.AsError(err); sent || e == nil || e.Code != browser.CodeSend ||
		!strings.Contains(e.Message, "cannot be pressed") {
		t.Errorf("a button that is off: %v, %v", sent, err)
	}
	if n := len(s.page.Talks()); n != 1 {
		t.Errorf("the page was asked %d times", n)
	}
}

// TestGone: a page that is closed, or crashes, or whose browser does, in the middle of an answer. The next request
// has another.
func TestGone(t *testing.T) {
	const hook = "gone"
	var s *site
	var end func()
	s = serve(t, func(ctx context.Context, talk []chatpage.Message, write func(string)) error {
		if talk[len(talk)-1].Text != hook {
			return echo(ctx, talk, write)
		}
		write("The first paragraph.\n\nThe sec")
		time.Sleep(100 * time.Millisecond)
		end()
		<-ctx.Done()
		return ctx.Err()
	}, nil)
	for name, how := range map[string]func(){
		"closed":  func() { browser.CloseTabs(s.Model) },
		"crashed": func() { kill(s.tmp, "--type=renderer") },
		"killed":  func() { kill(s.tmp, "") },
	} {
		if end = how; name != "closed" && runtime.GOOS != "linux" {
			continue // where processes cannot be looked for, none can be killed
		}
		_, _, err := s.ask(t.Context(), user(hook))
		if e := chat.AsError(err); e == nil || e.Kind != chat.ErrUnavailable || e.Code != browser.CodeClosed {
			t.Errorf("%s: %v", name, err)
		}
		if text, _, err := s.ask(t.Context(), user("still there?")); err != nil || text != "still there?" {
			t.Errorf("after %s: %q, %v", name, text, err)
		}
	}
}

// TestGoneBefore: what goes away before the prompt is sent, while the page is loaded, is opened once more, and no
// more than that.
func TestGoneBefore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: where processes cannot be looked for, none can be killed")
	}
	var argument string
	var times, loads int
	var mu sync.Mutex
	s := serveBy(t, echo, nil, func(s *site) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet && r.URL.Path == "/" {
				if loads++; loads <= times {
					kill(s.tmp, argument)
				}
			}
			s.page.ServeHTTP(w, r)
		})
	})
	for _, c := range []struct {
		argument     string
		times, loads int
		code         string
	}{
		{"--type=renderer", 1, 2, ""},
		{"", 1, 2, ""},
		{"", 3, 2, browser.CodeClosed},
	} {
		mu.Lock()
		argument, times, loads = c.argument, c.times, 0
		mu.Unlock()
		text, _, err := s.ask(t.Context(), user("there?"))
		if e := chat.AsError(err); c.code == "" && (err != nil || text != "there?") ||
			c.code != "" && (e == nil || e.Code != c.code) {
			t.Errorf("%+v: %q, %v", c, text, err)
		}
		mu.Lock()
		if loads != c.loads {
			t.Errorf("%+v: the page was loaded %d times", c, loads)
		}
		mu.Unlock()
	}
}

// kill kills the processes of a browser that were started with an argument.
func kill(tmp, argument string) {
	for _, pid := range chromium.Running(tmp) {
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(args), argument) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
}

// TestEditable: a prompt field that is no form element, and no button.
func TestEditable(t *testing.T) {
	s := open(t, echo, func(o *browser.Options) { o.Selectors.Send = ""; o.Selectors.Stop = "" })
	s.page.Be(chatpage.Editable)
	const text = "One line\n\n```json\n{\"a\": [1, 2]}\n```"
	if got, _, err := s.ask(t.Context(), user(text)); err != nil || got != text {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCancel: whoever goes away in the middle of an answer has it stopped.
func TestCancel(t *testing.T) {
	s := open(t, func(ctx context.Context, _ []chatpage.Message, write func(string)) error {
		return chatpage.InPieces(ctx, write, strings.Repeat("Word after word.\n\n", 10_000), 30, 10*time.Millisecond)
	}, nil)
	n := 0
	for e, err := range s.Stream(t.Context(), &chat.Request{Messages: []chat.Message{user("go")}, Stream: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindText {
			n++
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for e, err := range s.Stream(ctx, &chat.Request{Messages: []chat.Message{user("go")}, Stream: true}) {
		switch {
		case e.Kind == chat.KindText:
			cancel()
		case err != nil && !errors.Is(err, chat.ErrCanceled):
			t.Errorf("cancelled: %v", err)
		}
	}
	cancel()
	waitFor(t, func() bool { return s.page.Stopped() == 2 })
	if n != 1 {
		t.Error("there was no answer to leave")
	}
}

// waitFor waits for what must come, and fails if it does not by the end of the test's time.
func waitFor(t *testing.T, good func() bool) {
	t.Helper()
	for range 3000 {
		if good() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come to pass within half a minute")
}

// TestTooLong: an answer that is longer than it may be is stopped.
func TestTooLong(t *testing.T) {
	s := open(t, func(ctx context.Context, _ []chatpage.Message, write func(string)) error {
		write(strings.Repeat("All work and no play.\n\n", 1000))
		<-ctx.Done()
		return ctx.Err()
	}, func(o *browser.Options) { o.MaxAnswer = 20_000 })
	_, _, err := s.ask(t.Context(), user("go"))
	if e := chat.AsError(err); e == nil || e.Kind != chat.ErrProtocol || e.Code != browser.CodeTooLong ||
		!strings.Contains(e.Message, "longer than 20000 bytes (browser.max_answer)") {
		t.Error(err)
	}
	waitFor(t, func() bool { return s.page.Stopped() == 1 })
}

// TestSilence: a page that stands still before its answer is whole, or has not begun one, is stopped.
func TestSilence(t *testing.T) {
	s := open(t, func(ctx context.Context, talk []chatpage.Message, write func(string)) error {
		if talk[len(talk)-1].Text == "half" {
			write("The answer begins")
		}
		<-ctx.Done()
		return ctx.Err()
	}, func(o *browser.Options) { o.Idle = time.Second })
	for _, prompt := range []string{"half", "none"} { // the stop button is a sign of an answer
		if _, _, err := s.ask(t.Context(), user(prompt)); !errors.Is(err, chat.ErrTimeout) ||
			!strings.Contains(err.Error(), "stood still for 1s") {
			t.Errorf("%s: %v", prompt, err)
		}
	}
	waitFor(t, func() bool { return s.page.Stopped() == 2 })
}

// TestNoAnswer: nothing on the page matches the selector of answers.
func TestNoAnswer(t *testing.T) {
	s := open(t, slowly, func(o *browser.Options) { o.Selectors.Answer = "#nothing" })
	_, _, err := s.ask(t.Context(), user(strings.Repeat("again and ", 60)+"again"))
	if e := chat.AsError(err); e == nil || e.Code != browser.CodeSelector ||
		!strings.Contains(e.Message, "browser.answer") {
		t.Error(err)
	}
}

// TestHuge reads an answer of a quarter of a megabyte, most of it while it is written.
func TestHuge(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < 1<<18; i++ {
		fmt.Fprintf(&b,
			"Paragraph %d has **some** words, `code` and a [link](https://example.org/%d).\n\n```python\nprint(%d)\n```\n\n", i, i, i)
	}
	text := strings.TrimSpace(b.String())
	s := open(t, func(ctx context.Context, _ []chatpage.Message, write func(string)) error {
		return chatpage.InPieces(ctx, write, text, 1<<15, 50*time.Millisecond)
	}, nil)
	got, _, err := s.ask(t.Context(), user("much, please"))
	if err != nil || got != text {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
}

// TestParallel: conversations at a time do not get into each other's way, and no more pages are open than may be.
func TestParallel(t *testing.T) {
	s := serve(t, slowly, func(o *browser.Options) { o.Pages = 2 })
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			text := fmt.Sprintf("This is conversation number %d.\n\nIt has two paragraphs.", i)
			if got, _, err := s.ask(t.Context(), user(text)); err != nil || got != text {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
}

// TestKeep: pages that nobody comes back to are closed, and the browser after the last; the next request has another.
func TestKeep(t *testing.T) {
	s := serve(t, echo, func(o *browser.Options) { o.Keep = 100 * time.Millisecond })
	for range 2 {
		if got, _, err := s.ask(t.Context(), user("hi")); err != nil || got != "hi" {
			t.Fatalf("%q, %v", got, err)
		}
		waitFor(t, func() bool { list, _ := os.ReadDir(s.tmp); return len(list) == 0 })
		s.nothingLeft(t)
	}
}

// TestRefused: what can never be typed is refused before a browser is started.
func TestRefused(t *testing.T) {
	m := browser.New(browser.Options{URL: "http://127.0.0.1:1/", Selectors: chatpage.Selectors})
	defer m.Close()
	for name, c := range map[string]struct {
		req  chat.Request
		code string
	}{
		"tools": {chat.Request{Messages: []chat.Message{user("hi")}, Tools: []chat.Tool{{Name: "f"}}},
			chat.CodeToolsUnsupported},
		"an image": {
			chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Kind: chat.PartImage}}}}},
			""},
		"nothing":        {chat.Request{}, ""},
		"the assistant ": {chat.Request{Messages: []chat.Message{user("hi"), assistant("ho")}}, ""},
	} {
		for _, err := range m.Stream(t.Context(), &c.req) {
			if e := chat.AsError(err); e == nil || e.Kind != chat.ErrBadRequest || e.Code != c.code {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestNoBrowser: why there is none, and what mends it.
func TestNoBrowser(t *testing.T) {
	for name, c := range map[string]struct {
		o    chromium.Options
		code string
		says string
		root bool
	}{
		"no program": {chromium.Options{Program: "/nowhere/chromium"}, browser.CodeBrowser, "browser.program", false},
		"sandbox":    {chromium.Options{}, browser.CodeSandbox, "browser.sandbox: false", true},
	} {
		if c.root && os.Getuid() != 0 {
			continue // only root has none
		}
		if _, err := chromium.Find(""); err != nil && c.root {
			continue
		}
		m := browser.New(browser.Options{URL: "http://127.0.0.1:1/", Selectors: chatpage.Selectors, Browser: c.o})
		for _, err := range m.Stream(t.Context(), &chat.Request{Messages: []chat.Message{user("hi")}}) {
			if e := chat.AsError(err); e == nil || e.Kind != chat.ErrUnavailable || e.Code != c.code ||
				!strings.Contains(e.Message, c.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		m.Close()
	}
}
