package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wield/internal/cli"
)

// startScripts serves scenarios until the test ends, and returns the address. What the service was asked
// stands at /__script/journal.
func startScripts(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"script", "serve", "--listen", "127.0.0.1:0"}, args...),
			&cli.App{Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard,
				Getenv: func(string) string { return "" }})
		out.Close()
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	go io.Copy(io.Discard, in)
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	address := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("%v: %q", err, line)
	}
	get(t, address+"/__script/journal") // from here on it runs whole, for who looks at what is left of others
	http.DefaultClient.CloseIdleConnections()
	return address
}

// blocksScenario is Lumo that works with the blocks of the seed's terminal, and knows of no prefix.
const blocksScenario = `wield: scenario/v1
name: blocks
backend: {speaks: lumo}
turns:
  - {id: done, when: {last: tool, result_contains: "hello from bash"}, reply: [{text: "It said hello."}]}
  - {id: run, when: {last: tool, tool: edit}, reply: [{raw: "Now I run it.\n` +
	"```bash\\necho hello from $(cat notes.txt)\\n```" + `\n"}]}
  - id: edit
    when: {last: tool, result_contains: "good morning"}
    reply: [{raw: "I change it.\n` +
	"```edit\\n=== FILE: notes.txt\\n<<<<<<< SEARCH\\ngood morning\\n=======\\nbash\\n>>>>>>> REPLACE\\n```" + `\n"}]
  - {id: read, when: {user_contains: "look"}, reply: [{raw: "I look.\n` + "```read\\nnotes.txt\\n```" + `\n"}]}
`

// TestLumoBlocks_A55_A56_A59: on Lumo a terminal whose model writes blocks reads, edits and runs, and nothing
// in prompts or answers has a prefix.
func TestLumoBlocks_A55_A56_A59(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		dir := workspace(t)
		writeFile(t, filepath.Join(dir, "notes.txt"), "good morning\n")
		writeFile(t, filepath.Join(dir, "blocks.scenario.yaml"), blocksScenario)
		server := startScripts(t, filepath.Join(dir, "blocks.scenario.yaml"))
		writeFile(t, filepath.Join(dir, "wield.yaml"), `wield: config/v1
backends: {lumo: {kind: lumo, url: "`+server+`/api", lumo: {version: `+version+`}}}
models: {lumo: {backend: lumo, dialect: cli-block}}
tools: {localActions: {enabled: true}, root: `+filepath.ToSlash(dir)+`}
`)
		code, out, log := runWield(t, dir, "", "run", "--config", filepath.Join(dir, "wield.yaml"), "--on-ask",
			"allow", "look")
		if code != 0 || !strings.Contains(out, "It said hello.") || strings.Contains(out, "```") {
			t.Errorf("version %s: %d %s\n%s", version, code, out, log)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "notes.txt")); err != nil || string(text) != "bash\n" {
			t.Errorf("version %s: %q %v", version, text, err)
		}
		_, asked := get(t, server+"/__script/journal")
		if !strings.Contains(asked, "- read(paths: string[])") || !strings.Contains(asked, "```read") ||
			strings.Contains(asked, "user:read") || strings.Contains(asked, "null |") {
			t.Errorf("version %s: asked %s", version, asked)
		}
	}
}

// TestLumoSeveral: of several scenarios Lumo's protocol, which names none, gets the first that speaks it, in
// both versions.
func TestLumoSeveral(t *testing.T) {
	dir := workspace(t)
	var files []string
	for _, name := range []string{"plain", "first", "second"} {
		file := filepath.Join(dir, name+".scenario.yaml")
		speaks := map[bool]string{true: "openai", false: "lumo"}[name == "plain"]
		writeFile(t, file, "wield: scenario/v1\nname: "+name+"\nbackend: {speaks: "+speaks+
			"}\nturns: [{id: x, when: {}, reply: [{text: I am "+name+"}]}]\n")
		files = append(files, file)
	}
	server := startScripts(t, files...)
	for _, version := range []string{"1", "2"} {
		writeFile(t, filepath.Join(dir, "wield.yaml"), `wield: config/v1
backends: {lumo: {kind: lumo, url: "`+server+`/api", lumo: {version: `+version+`}}}
models: {lumo: {backend: lumo}}
`)
		if code, out, log := runWield(t, dir, "", "run", "--no-journal", "--config", filepath.Join(dir, "wield.yaml"),
			"hi"); code != 0 || !strings.Contains(out, "I am first") {
			t.Errorf("version %s: %d %s %s", version, code, out, log)
		}
	}
	if status, body := post(t, server,
		`{"model":"plain","messages":[{"role":"user","content":"hi"}]}`); status != 200 ||
		!strings.Contains(body, "I am plain") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(t, server,
		`{"model":"none","messages":[{"role":"user","content":"hi"}]}`); status != 404 ||
		!strings.Contains(body, "no scenario is named") {
		t.Errorf("%d %s", status, body)
	}
}
