package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/internal/config"
	"wield/model/exchange"
	"wield/model/openai"
)

// A Found server was discovered on this machine.
type Found struct {
	Name   string // of the program that usually listens there, as the name of a backend
	URL    string
	Models []string
	Key    string // reference to the secret that it wants; empty: none
}

// A usual port is where a program that runs models listens unless told otherwise.
type usual struct {
	name string
	port int
}

var usualPorts = []usual{
	{"ollama", 11434},
	{"lmstudio", 1234},
	{"llamacpp", 8080},
	{"vllm", 8000},
	{"sglang", 30000},
	{"koboldcpp", 5001},
	{"jan", 1337},
}

// Limits of the search; a server on this machine answers at once.
const (
	discoverTime = 2 * time.Second
	discoverMost = 50 // models of one server
)

// Discover lists the models of the servers on the usual ports of this machine. A server that does not speak the
// OpenAI protocol is left out.
func Discover(ctx context.Context) []Found {
	ctx, cancel := context.WithTimeout(ctx, discoverTime)
	defer cancel()
	return discover(ctx, usualPorts)
}

func discover(ctx context.Context, ports []usual) []Found {
	// no proxy: this machine is meant
	transport := &http.Transport{DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}
	found := make([]*Found, len(ports))
	var asking sync.WaitGroup
	for i, p := range ports {
		asking.Go(func() {
			base := fmt.Sprintf("http://127.0.0.1:%d/v1", p.port)
			if models := modelsAt(ctx, transport, base); len(models) > 0 {
				found[i] = &Found{Name: p.name, URL: base, Models: models}
			}
		})
	}
	asking.Wait()
	var list []Found
	for _, f := range found {
		if f != nil {
			list = append(list, *f)
		}
	}
	return list
}

// modelsAt returns the models that a server lists, without those that only embed.
func modelsAt(ctx context.Context, transport http.RoundTripper, base string) []string {
	listing, err := openai.List(ctx, openai.Options{URL: base, Connection: exchange.Connection{Transport: transport}})
	if err != nil {
		return nil // nobody is there
	}
	names := slices.DeleteFunc(listing.Names,
		func(name string) bool { return strings.Contains(strings.ToLower(name), "embed") })
	slices.Sort(names)
	return names[:min(len(names), discoverMost)]
}

// First returns a configuration for the servers that were found. Without any it serves the scripted model demo
// and shows, as a comment, how to add a server.
func First(found []Found) string {
	var b strings.Builder
	b.WriteString("# Configuration of wield. wield config explain shows all values, wield doctor checks them.\n")
	b.WriteString("wield: " + config.Version + "\n\nbackends:\n")
	if len(found) == 0 {
		b.WriteString(`  demo: {kind: script, scenario: demo}   # scripted: no model server was found
  # local:
  #   kind: openai
  #   url: http://127.0.0.1:11434/v1        # Ollama; llama.cpp: port 8080, LM Studio: 1234, vLLM: 8000
  #   key: env:LOCAL_KEY                    # if the server requires one

models:
  demo: {backend: demo, mode: text}
  # coder:
  #   backend: local
  #   model: qwen2.5-coder:14b
  #   mode: auto                            # text: describe tools in the prompt
`)
		return b.String()
	}
	writeServers(&b, found)
	return b.String()
}

// writeServers writes what stands below backends, and models.
func writeServers(b *strings.Builder, found []Found) {
	for _, f := range found {
		fmt.Fprintf(b, "  %s:\n    kind: openai\n    url: %s\n", f.Name, f.URL)
		if f.Key != "" {
			fmt.Fprintf(b, "    key: %s\n", quoteYAML(f.Key))
		}
	}
	b.WriteString("\nmodels:\n")
	taken := map[string]bool{}
	for _, f := range found {
		for _, m := range f.Models {
			name := m
			if taken[name] {
				name = f.Name + "/" + m
			}
			taken[name] = true
			fmt.Fprintf(b, "  %s: {backend: %s", quoteYAML(name), f.Name)
			if name != m {
				fmt.Fprintf(b, ", model: %s", quoteYAML(m))
			}
			b.WriteString("}\n")
		}
	}
}

// quoteYAML returns a name as a YAML scalar in double quotes, whose escapes are those of JSON.
func quoteYAML(name string) string {
	text, err := json.Marshal(name)
	if err != nil {
		panic(err) // a string
	}
	return string(text)
}
