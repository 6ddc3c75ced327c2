package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// request is a body that offers this many tools.
func request(model string, tools int, stream bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%q,"messages":[{"role":"user","content":%q}],"stream":%t`, model,
		strings.Repeat("please ", 30), stream)
	for i := range tools {
		b.WriteString([...]string{",", `,"tools":[`}[max(0, 1-i)])
		fmt.Fprintf(&b,
			`{"type":"function","function":{"name":"look_up_%d","description":"Looks something up in a list and says what stands there, with the day on which it was written.",`+
				`"parameters":{"type":"object","properties":{"name":{"type":"string","description":"What is looked for"},"list":{"type":"string","enum":["people","places"]},`+
				`"most":{"type":"integer","minimum":1,"maximum":20}},"required":["name"]}}}`, i)
	}
	if tools > 0 {
		b.WriteByte(']')
	}
	b.WriteByte('}')
	return b.Bytes()
}

// A load holds the requests of some clients.
type load struct {
	done   int // requests that were answered in full
	short  int // streams that were not
	failed int
	first  []time.Duration // to the first byte of each
}

// A client asks one server.
type client struct {
	http *http.Client
	url  string
	body []byte
}

func newClient(server, path string, body []byte) *client {
	return &client{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}},
		server + path + "/v1/chat/completions", body}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// ask sends a request and reads the answer.
func (c *client) ask(l *load, stream bool) {
	start := time.Now()
	answer, err := c.http.Post(c.url, "application/json", bytes.NewReader(c.body))
	if err != nil {
		l.failed++
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		l.failed++
		return
	}
	if !stream {
		text, err := io.ReadAll(answer.Body)
		if err != nil || !bytes.Contains(text, []byte("word49")) {
			l.failed++
			return
		}
		l.done++
		return
	}
	n, words, ended := 0, 0, false
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if !bytes.HasPrefix(lines.Bytes(), []byte("data: ")) {
			continue
		}
		if n++; n == 1 {
			l.first = append(l.first, time.Since(start))
		}
		words += bytes.Count(lines.Bytes(), []byte("word"))
		ended = bytes.Equal(lines.Bytes(), []byte("data: [DONE]"))
	}
	if words != 50 || !ended {
		l.short++
		return
	}
	l.done++
}

// drive lets clients ask until the time is over, or until there were so many requests if that is not 0.
func (c *client) drive(clients int, stream bool, d time.Duration, most int) load {
	var sum load
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(d)
	for i := range clients {
		share := most / clients
		if i < most%clients {
			share++
		}
		all.Go(func() {
			var l load
			// Each asks once at least, so that there is something to divide by where the machine stands still for as
			// long as is measured.
			for n := 0; most > 0 && n < share || most == 0 && (n == 0 || time.Now().Before(end)); n++ {
				c.ask(&l, stream)
			}
			mu.Lock()
			defer mu.Unlock()
			sum.done += l.done
			sum.short += l.short
			sum.failed += l.failed
			sum.first = append(sum.first, l.first...)
		})
	}
	all.Wait()
	return sum
}

// A reading is one load of one server.
type reading struct{ cpu, first time.Duration }

// read measures a server once.
func (b *bench) read(p *process, path string, clients, tools int, stream bool) (reading, error) {
	c := newClient(p.url, path, request("fast", tools, stream))
	defer c.close()
	c.drive(clients, stream, b.time/5, 0) // to warm up
	before := p.cpu()
	l := c.drive(clients, stream, b.time, 0)
	if l.failed+l.short > 0 || l.done == 0 {
		return reading{}, fmt.Errorf("%s: %d answers, %d failed, %d cut short", c.url, l.done, l.failed, l.short)
	}
	return reading{(p.cpu() - before) / time.Duration(l.done), median(l.first)}, nil
}

func median[T interface{ ~int64 | ~float64 }](list []T) T {
	if len(list) == 0 {
		return 0
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// measureSpeed prints the table of speed.
func (b *bench) measureSpeed() error {
	fmt.Println("| load | tools | upstream | proxy | wield | ratio | least to most | first byte: upstream | proxy | " +
		"wield |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---|---:|---:|---:|")
	for _, stream := range []bool{false, true} {
		for _, clients := range []int{1, 16} {
			for _, tools := range []int{1, 20} {
				if err := b.cell(clients, tools, stream); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) cell(clients, tools int, stream bool) error {
	var cpu, first [3][]time.Duration
	var ratios []float64
	for range b.rounds {
		for i, server := range []struct {
			*process
			path string
		}{{b.upstream, "/fast"}, {b.proxy, ""}, {b.wield, ""}} {
			r, err := b.read(server.process, server.path, clients, tools, stream)
			if err != nil {
				return err
			}
			cpu[i], first[i] = append(cpu[i], r.cpu), append(first[i], r.first)
		}
		if last := len(cpu[1]) - 1; cpu[1][last] > 0 {
			ratios = append(ratios, float64(cpu[2][last])/float64(cpu[1][last]))
		}
	}
	what := fmt.Sprintf("%d clients", clients)
	if clients == 1 {
		what = "1 client"
	}
	if stream {
		what += ", streams"
	}
	fmt.Printf("| %s | %d |", what, tools)
	for i := range cpu {
		fmt.Printf(" %d µs |", median(cpu[i]).Microseconds())
	}
	if len(ratios) == 0 {
		fmt.Print(" unknown | |")
	} else {
		fmt.Printf(" %.2f | %.2f to %.2f |", median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	for i := range first {
		if !stream {
			fmt.Print(" |")
			continue
		}
		fmt.Printf(" %.2f ms |", median(first[i]).Seconds()*1000)
	}
	fmt.Println()
	return nil
}

// measureStreams counts streams that are cut short.
func (b *bench) measureStreams() error {
	for _, model := range []string{"fast", "early"} {
		c := newClient(b.wield.url, "", request(model, 20, true))
		l := c.drive(16, true, 0, b.streams/2)
		c.close()
		fmt.Printf("streams, answer %s: %d whole, %d cut short, %d failed\n",
			map[string]string{"fast": "to a request that was read", "early": "before the request was read"}[model],
			l.done, l.short, l.failed)
		if l.short+l.failed > 0 {
			return fmt.Errorf("%d streams were cut short, %d failed", l.short, l.failed)
		}
	}
	return nil
}
