// Command bench measures `wield serve` with real sockets, beside a proxy that knows nothing of tools:
//
//	go run ./.ci/bench [-rounds 3] [-time 2s] [-streams 100000] [-idle 1000,2000,4000,8000] [speed|streams|idle|rest ...]
//
// It starts everything itself, on loopback: the server behind (the upstream), the proxy, and wield built from this
// checkout, each as a process of its own. Without arguments it measures all of it, which takes about six minutes.
//
//   - speed: processor time of a request, and the time to the first byte of a stream, with 1 and with 20 tools offered,
//     by 1 and by 16 clients. The proxy decodes and encodes the request, the answer and every frame of a stream with
//     encoding/json. It, the upstream by itself and wield take turns; the ratio is taken within a round.
//   - streams: whether any stream is cut short, also where the upstream answers before it has read the request.
//   - idle: resident memory of wield with streams that have begun and are silent.
//   - rest: resident memory of wield after the start, and some time after the load.
//
// Processor time and memory come from /proc, so that only Linux shows them. Figures of two machines cannot be compared.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run plays a part in the measurement, or measures.
func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "upstream":
		return serveUpstream()
	case len(args) == 2 && args[0] == "proxy":
		return serveProxy(args[1])
	}
	b := bench{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&b.rounds, "rounds", 3, "how often each load is measured")
	flags.DurationVar(&b.time, "time", 2*time.Second, "how long each time")
	flags.IntVar(&b.streams, "streams", 100_000, "streams that are looked at")
	idle := flags.String("idle", "1000,2000,4000,8000", "numbers of silent streams")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	for n := range strings.SplitSeq(*idle, ",") {
		v, err := strconv.Atoi(n)
		if err != nil {
			return err
		}
		b.idle = append(b.idle, v)
	}
	return b.measure(flags.Args())
}

// A bench is a measurement.
type bench struct {
	rounds, streams int
	time            time.Duration
	idle            []int

	upstream, proxy, wield *process
}

// A part is something that can be measured.
type part struct {
	name string
	run  func(*bench) error
}

// parts are all of them, in the order in which they are measured.
var parts = []part{
	{"rest", (*bench).measureStart},
	{"speed", (*bench).measureSpeed},
	{"streams", (*bench).measureStreams},
	{"rest", (*bench).measureRest},
	{"idle", (*bench).measureIdle},
}

func (b *bench) measure(names []string) error {
	for _, n := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == n }) {
			return fmt.Errorf("there is nothing called %q to measure", n)
		}
	}
	dir, err := os.MkdirTemp("", "wield-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := b.start(dir); err != nil {
		return errors.Join(err, b.stop())
	}
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		if err := p.run(b); err != nil {
			return errors.Join(err, b.stop())
		}
	}
	return b.stop()
}

// wieldConfig has a model for each way in which the upstream answers.
const wieldConfig = `wield: config/v1
backends:
  fast: {kind: openai, url: "%[1]s/fast/v1", concurrent: 0}
  early: {kind: openai, url: "%[1]s/early/v1", concurrent: 0}
  silent: {kind: openai, url: "%[1]s/silent/v1", concurrent: 0}
models:
  fast: {backend: fast, mode: text}
  early: {backend: early, mode: text}
  silent: {backend: silent, mode: text}
`

// start starts the upstream, the proxy and wield.
func (b *bench) start(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "wield")
	build := exec.Command("go", "build", "-o", program, "./cmd/wield")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("wield cannot be built, is this the top of the checkout? %w", err)
	}
	if b.upstream, err = startProcess(dir, self, "upstream"); err != nil {
		return err
	}
	if b.proxy, err = startProcess(dir, self, "proxy", b.upstream.url+"/fast"); err != nil {
		return err
	}
	config := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, wieldConfig, b.upstream.url), 0o600); err != nil {
		return err
	}
	b.wield, err = startProcess(dir, program, "serve", "--listen", "127.0.0.1:0", "--config", config)
	return err
}

func (b *bench) stop() error {
	var all []error
	for _, p := range []*process{b.wield, b.proxy, b.upstream} {
		if p != nil {
			all = append(all, p.stop())
		}
	}
	return errors.Join(all...)
}

// A process is one of those that are measured.
type process struct {
	cmd *exec.Cmd
	url string
	log *os.File
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// startProcess starts a program and waits until it says where it listens.
func startProcess(dir, program string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(dir, "log-")
	if err != nil {
		return nil, err
	}
	cmd.Stderr = log // a pipe would take processor time from what is measured
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, log: log}
	lines := bufio.NewScanner(out)
	for p.url == "" && lines.Scan() {
		p.url = address.FindString(lines.Text())
	}
	go io.Copy(io.Discard, out) // ends with the process
	if p.url != "" {
		return p, nil
	}
	said, _ := os.ReadFile(log.Name())
	return nil, errors.Join(fmt.Errorf("%s %s said nowhere to listen: %s", program, args[0], said), p.stop())
}

func (p *process) stop() error {
	defer p.log.Close()
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	p.cmd.Wait() // it was killed, which is no failure
	return nil
}

// cpu returns the processor time that the process has taken; 0 where the system does not tell.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks
}

// resident returns the resident memory of the process in bytes; 0 where the system does not tell.
func (p *process) resident() int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kib, _ := strconv.Atoi(fields[0])
	return kib << 10
}
