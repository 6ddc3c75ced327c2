package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool/runner"
)

// serveHTTP serves everything over HTTP in a process of its own, so that its work is not counted, and prints the
// address.
func serveHTTP() int {
	s := everything("")
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true})
	srv := httptest.NewServer(h)
	fmt.Println(srv.URL)
	select {}
}

// remote starts it and returns the address.
func remote(b *testing.B) string {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "MCP_TEST_SERVER=http")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// measured reports the processor time of each call.
func measured(b *testing.B, call func() error) {
	for range 50 { // connections and caches are there
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	before := used()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op")
}

// discard keeps no records.
type discard struct{}

func (discard) Start(context.Context, runner.StartRecord) error   { return nil }
func (discard) Finish(context.Context, runner.FinishRecord) error { return nil }
func (discard) Detach(context.Context, string, string) error      { return nil }
func (discard) Detached(string) string                            { return "" }

// BenchmarkCall compares a call through wield to a server over HTTP with one of the SDK's own client.
func BenchmarkCall(b *testing.B) {
	address := remote(b)
	arguments := json.RawMessage(`{"text":"good day"}`)
	b.Run("sdk", func(b *testing.B) {
		session, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(b.Context(),
			&sdk.StreamableClientTransport{Endpoint: address}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		if _, err := session.ListTools(b.Context(), nil); err != nil { // as every client does, and wield below
			b.Fatal(err)
		}
		measured(b, func() error {
			_, err := session.CallTool(b.Context(), &sdk.CallToolParams{Name: "echo", Arguments: arguments})
			return err
		})
	})
	b.Run("wield", func(b *testing.B) {
		s := New(Options{Name: "every", URL: address})
		defer s.Close()
		tools, problems := s.Tools(b.Context())
		if len(problems) > 0 {
			b.Fatal(problems)
		}
		var reg runner.Registry
		if err := reg.Add(tools...); err != nil {
			b.Fatal(err)
		}
		r := runner.New(runner.Settings{Tools: &reg, Approvals: &runner.MemoryApprovals{}, Records: discard{}})
		measured(b, func() error {
			result, err := r.Call(b.Context(), "every__echo", string(arguments))
			if err == nil && !result.OK {
				err = fmt.Errorf("%s", result.Error)
			}
			return err
		})
	})
}

// BenchmarkStart connects to 50 servers with 20 tools each, as wield does when it starts.
func BenchmarkStart(b *testing.B) {
	s := sdk.NewServer(&sdk.Implementation{Name: "many"}, nil)
	for i := range 20 {
		s.AddTool(&sdk.Tool{Name: fmt.Sprint("tool", i), Description: "Does something.",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`)}, nil)
	}
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	defer srv.Close()
	for b.Loop() {
		done := make(chan int)
		var all []*Server
		for i := range 50 {
			one := New(Options{Name: fmt.Sprint("s", i), URL: srv.URL})
			all = append(all, one)
			go func() {
				tools, _ := one.Tools(b.Context())
				done <- len(tools)
			}()
		}
		n := 0
		for range all {
			n += <-done
		}
		if n != 1000 {
			b.Fatalf("%d tools", n)
		}
		for _, one := range all {
			one.Close()
		}
	}
}
