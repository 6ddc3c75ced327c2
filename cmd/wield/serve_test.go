package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/internal/cli"
)

// patience bounds waits that end at once when all is well, on a machine that has much else to do.
const patience = time.Minute

// A running service, in this process.
type service struct {
	base   string
	stop   context.CancelFunc
	code   chan int
	stdout *lockedBuffer
	stderr *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs wield serve on a free port until the test stops it, at the end at the latest. It then checks that
// nothing was left behind.
func start(t *testing.T, getenv func(string) string, args ...string) *service {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	s := &service{stop: stop, code: make(chan int, 1), stdout: &lockedBuffer{}, stderr: &lockedBuffer{}}
	app := &cli.App{Stdin: strings.NewReader(""), Stdout: io.MultiWriter(s.stdout, w), Stderr: s.stderr, Getenv: getenv}
	go func() {
		code := run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), app)
		w.Close()
		s.code <- code
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	go io.Copy(io.Discard, r)
	if err != nil {
		t.Fatalf("serve did not start: %v\n%s", err, s.stderr)
	}
	var ok bool
	if s.base, ok = strings.CutPrefix(strings.TrimSpace(line), "wield listens on "); !ok {
		t.Fatalf("first line is %q", line)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.end(t, 0)
		nobodyLeft(t, ignore)
	})
	return s
}

// TestServeCatalogue: a scenario is named as in the catalogue, without a file.
func TestServeCatalogue(t *testing.T) {
	s := start(t, nil, "--scenario", "success")
	const hello = `{"model":"demo","messages":[{"role":"user","content":"hello"}]}`
	if status, body := do(t, http.MethodPost, s.base+"/v1/chat/completions", hello); status != http.StatusOK ||
		!strings.Contains(body, `"content":"`) {
		t.Errorf("%d %s", status, body)
	}
}

// nobodyLeft waits until no goroutine is left but those that are ignored. What ends one takes its time on a busy
// machine, more of it than goleak waits by itself.
func nobodyLeft(t *testing.T, ignored ...goleak.Option) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = goleak.Find(ignored...); err == nil {
			return
		}
	}
	t.Error(err)
}

// end stops the service and checks its exit code.
func (s *service) end(t *testing.T, want int) {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		if code != want {
			t.Errorf("exit code %d, want %d\n%s", code, want, s.stderr)
		}
		s.code <- code // for the next who asks
	case <-time.After(patience):
		t.Fatalf("serve does not end\n%s", s.stderr)
	}
}

const weatherTool = `{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`

func weatherRequest(model string, stream bool) string {
	return fmt.Sprintf(
		`{"model":%q,"stream":%v,"messages":[{"role":"user","content":"What's the weather in Paris?"}],"tools":[%s]}`,
		model, stream, weatherTool)
}

// post sends a request and returns status and body. What goes wrong on the way is the body, with status 0.
func post(t *testing.T, base, body string, header ...string) (int, string) {
	t.Helper()
	return do(t, "POST", base+"/v1/chat/completions", body, header...)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	return do(t, "GET", url, "")
}

func do(t *testing.T, method, url, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// A completion holds the parts of an answer that are checked.
type completion struct {
	Choices []struct {
		FinishReason string  `json:"finish_reason"`
		Message      message `json:"message"`
		Delta        message `json:"delta"`
	} `json:"choices"`
}

type message struct {
	Content   string `json:"content"`
	ToolCalls []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// readAnswer joins the frames of a stream, or reads the one body, into a text of a fixed form.
func readAnswer(t *testing.T, body string) string {
	t.Helper()
	var content, calls strings.Builder
	finish := ""
	add := func(text string) {
		var c completion
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Errorf("%v in %s", err, text)
		}
		for _, choice := range c.Choices {
			for _, m := range []message{choice.Message, choice.Delta} {
				content.WriteString(m.Content)
				for _, call := range m.ToolCalls {
					calls.WriteString(call.Function.Name + call.Function.Arguments)
				}
			}
			finish += choice.FinishReason
		}
	}
	if !strings.HasPrefix(body, "data:") {
		add(body)
	} else {
		frames := strings.Split(strings.TrimSpace(body), "\n\n")
		if last := frames[len(frames)-1]; last != "data: [DONE]" {
			t.Errorf("the stream ends with %q", last)
		}
		for _, frame := range frames[:len(frames)-1] {
			if data, ok := strings.CutPrefix(frame, "data: "); ok {
				add(data)
			}
		}
	}
	return fmt.Sprintf("%s|%s|%s", strings.TrimSpace(content.String()), calls.String(), finish)
}

const wantCall = `I'll check the weather for you.|get_weather{"city": "Paris"}|tool_calls`

// checkRound plays a whole round with a tool, streamed and not.
func checkRound(t *testing.T, base, model string, header ...string) {
	t.Helper()
	for _, stream := range []bool{false, true} {
		status, body := post(t, base, weatherRequest(model, stream), header...)
		got := strings.ReplaceAll(readAnswer(t, body), `"city":"Paris"`, `"city": "Paris"`)
		if status != 200 || got != wantCall {
			t.Errorf("stream %v: status %d, got %s, want %s\n%s", stream, status, got, wantCall, body)
		}
		status, body = post(t, base, fmt.Sprintf(`{"model":%q,"stream":%v,"tools":[%s],"messages":[
			{"role":"user","content":"What's the weather in Paris?"},
			{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}]},
			{"role":"tool","tool_call_id":"call_1","content":"18 degrees and sunny"}]}`, model, stream, weatherTool),
			header...)
		if got := readAnswer(t, body); status != 200 || !strings.Contains(got, "18 degrees and sunny") ||
			!strings.HasSuffix(got, "||stop") {
			t.Errorf("stream %v: status %d, got %s\n%s", stream, status, got, body)
		}
	}
}

func TestServeDemo(t *testing.T) {
	s := start(t, nil)
	status, body := get(t, s.base+"/health")
	if status != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("health: %d %s", status, body)
	}
	status, body = get(t, s.base+"/v1/models")
	if status != 200 || !strings.Contains(body, `"demo"`) {
		t.Errorf("models: %d %s", status, body)
	}
	checkRound(t, s.base, "demo")
	s.end(t, 0)
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://")); err == nil {
		t.Error("something still listens")
	}
}

// TestServeWelcome runs the lines that serve prints.
func TestServeWelcome(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s := start(t, nil)
	if status, _ := get(t, s.base+"/health"); status != 200 {
		t.Fatal("not healthy")
	}
	_, after, _ := strings.Cut(s.stdout.String(), "Try it:\n\n")
	command, _, ok := strings.Cut(after, "\n\n")
	if !ok || !strings.HasPrefix(command, "curl ") {
		t.Fatalf("no curl line in:\n%s", s.stdout)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Env = []string{"PATH=" + filepath.Dir(curl)}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := readAnswer(t, string(out)); !strings.HasSuffix(got, "|tool_calls") {
		t.Errorf("got %s", got)
	}
	const hint = `"tool_choice": "required"`
	if strings.Contains(s.stdout.String(), hint) {
		t.Error("the demo model is taken for a small one")
	}
	own := start(t, nil, "--upstream", s.base+"/v1", "--model", "demo")
	if status, _ := get(t, own.base+"/health"); status != 200 || !strings.Contains(own.stdout.String(), hint) {
		t.Errorf("nothing says how a small model is made to call:\n%s", own.stdout)
	}
}

// TestServeProcess runs the program as a process and ends it with a signal.
func TestServeProcess(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, self, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
			cmd.Args[0] = "wield" // which TestMain runs as the program
			cmd.Env = []string{"HOME=" + t.TempDir(), quickEnd}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%v\n%s", err, cmd.Wait())
			}
			base := strings.TrimPrefix(strings.TrimSpace(line), "wield listens on ")
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				// which it heeds as soon as it has said where it is
				t.Fatal(err)
			}
			checkRound(t, base, "demo")
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, lines); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &stderr)
			}
			checkLog(t, stderr.String())
		})
	}
}

// checkLog checks that a log is JSON, line by line, and tells of the end.
func checkLog(t *testing.T, text string) {
	t.Helper()
	last := ""
	for line := range strings.Lines(text) {
		var record struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%v in %s", err, line)
		}
		last = record.Msg
	}
	if last != "stopped" {
		t.Errorf("the log ends with %q", last)
	}
}

func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var stderr bytes.Buffer
	app := &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
		Getenv: func(string) string { return "" }}
	code := run(t.Context(), []string{"serve", "--listen", l.Addr().String()}, app)
	want := fmt.Sprintf(
		"wield: another program listens on %s: end it, or choose another port with --listen (--listen 127.0.0.1:0 takes a free one)\n", l.Addr())
	if code != cli.ExitFailed || stderr.String() != want {
		t.Errorf("code %d, %s", code, &stderr)
	}
}

// TestServeScenario checks that demo answers from the file that it is given, and from nothing else.
func TestServeScenario(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.scenario.yaml")
	text := "wield: scenario/v1\nname: my\nturns:\n  - id: any\n    when: {}\n    reply: [{text: from my file}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil, "--scenario", file)
	status, body := post(t, s.base, weatherRequest("demo", false))
	if status != 200 || readAnswer(t, body) != "from my file||stop" {
		t.Errorf("got %d %s", status, body)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	status, body = post(t, s.base, weatherRequest("demo", false))
	if status != 404 || strings.Contains(body, "from my file") || !strings.Contains(body, "is gone") {
		t.Errorf("without the file: got %d %s", status, body)
	}
}

// TestServeScenarios checks that a directory gives one model for each of its files.
func TestServeScenarios(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one", "two"} {
		text := "wield: scenario/v1\nname: " + name + "\nturns:\n  - id: any\n    when: {}\n    reply: [{text: I am " +
			name + "}]\n"
		if err := os.WriteFile(filepath.Join(dir, name+".scenario.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, nil, "--scenario", dir)
	for _, name := range []string{"one", "two"} {
		if _, body := post(t, s.base, weatherRequest(name, false)); readAnswer(t, body) != "I am "+name+"||stop" {
			t.Errorf("%s: got %s", name, body)
		}
	}
	if status, _ := post(t, s.base, weatherRequest("demo", false)); status != 404 {
		t.Errorf("demo is served beside a directory: %d", status)
	}
}

// TestServeKeys checks that a key is asked for once there is one, and that it stands nowhere in the log.
func TestServeKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "wield: config/v1\nkeys: [{name: ha, secret: env:HA_KEY}]\nbackends: {d: {kind: script, scenario: demo}}\nmodels: {demo: {backend: d, mode: text}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "sk-0123456789"
	s := start(t, func(name string) string {
		if name == "HA_KEY" {
			return secret
		}
		return ""
	}, "--config", file, "--log-level", "debug")
	if status, body := post(t, s.base, weatherRequest("demo", false)); status != 401 {
		t.Errorf("without a key: %d %s", status, body)
	}
	if status, body := post(t, s.base, weatherRequest("demo", false), "Authorization",
		"Bearer sk-wrong"); status != 401 || strings.Contains(body, "sk-wrong") {
		t.Errorf("with a wrong key: %d %s", status, body)
	}
	checkRound(t, s.base, "demo", "Authorization", "Bearer "+secret)
	s.end(t, 0)
	for _, text := range []string{s.stderr.String(), s.stdout.String()} {
		if strings.Contains(text, "0123456789") || strings.Contains(text, "sk-wrong") {
			t.Errorf("a key stands in the output:\n%s", text)
		}
	}
}

// TestServeDrain checks that an answer under way is finished after the service was asked to end.
func TestServeDrain(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"first\"}}]}\n\n")
		http.NewResponseController(w).Flush()
		close(asked)
		<-release
		fmt.Fprint(w,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" last\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer upstream.Close()
	s := start(t, nil, "--upstream", upstream.URL+"/v1", "--model", "m")
	answer := make(chan string, 1)
	go func() {
		_, body := post(t, s.base, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		answer <- body
	}()
	<-asked
	s.stop()
	waitClosed(t, strings.TrimPrefix(s.base, "http://"))
	close(release)
	if got := readAnswer(t, <-answer); got != "first last||stop" {
		t.Errorf("got %s", got)
	}
	s.end(t, 0)
}

// waitClosed waits until nothing takes connections at address any more.
func waitClosed(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("still listening")
		}
	}
}

// TestServeUpstream puts wield in front of wield: the model behind it only writes text.
func TestServeUpstream(t *testing.T) {
	back := start(t, nil)
	for _, mode := range []string{"auto", "text", "native"} {
		front := start(t, nil, "--upstream", back.base+"/v1", "--model", "demo", "--mode", mode)
		checkRound(t, front.base, "demo")
	}
}

// TestServeUpstreamDown checks that a server that cannot be reached is said to be so.
func TestServeUpstreamDown(t *testing.T) {
	// a free port may be somebody's a moment later; nobody is given this one
	s := start(t, nil, "--upstream", "http://127.0.0.1:9/v1", "--model", "m")
	status, body := post(t, s.base, weatherRequest("m", false))
	if status < 500 || !strings.Contains(body, `"error"`) {
		t.Errorf("got %d %s", status, body)
	}
}
