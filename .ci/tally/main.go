// Command tally runs a `go test -json` command, which its arguments are, and prints what a person wants to see of it:
// the line of each package, the output of what failed, every skipped test with its reason. With -sum FILE it adds one
// line "PASSED FAILED SKIPPED" to FILE, with -failures FILE the output of what failed. Its exit status is 1 if
// anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// An event is one line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build's output
	Test       string
	Elapsed    float64
	Output     string

	FailedBuild string // of a package that was not tested because of it
}

// A test holds the events of one test so far.
type test struct {
	pack, name string
	output     []string
}

// String names a test for people.
func (t *test) String() string { return strings.TrimPrefix(t.pack, "wield/") + ": " + t.name }

// A tally holds the events of one command.
type tally struct {
	passed, skipped int
	failed          int      // tests
	failures        []string // what they said
	broken          []string // what failed besides tests, in words
	skips, slows    []string

	open  map[string]*test
	blame map[string]bool // packages that have failed tests
}

func main() {
	sum := flag.String("sum", "", "file to which the counts are added")
	failures := flag.String("failures", "", "file to which the output of what failed is added")
	slow := flag.Duration("slow", 10*time.Second, "name the tests that take longer than this")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: tally [-sum FILE] [-failures FILE] go test -json ...")
		os.Exit(2)
	}
	t := run(flag.Args(), os.Stdout, *slow)
	print("FAILED", t.broken)
	print("slow", t.slows)
	print("SKIPPED", t.skips)
	failed := t.failed + len(t.broken)
	fmt.Printf("tests: %d passed, %d failed, %d skipped\n", t.passed, failed, t.skipped)
	err := errors.Join(add(*sum, fmt.Sprintln(t.passed, failed, t.skipped)), add(*failures, t.told()))
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	if failed > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

// run runs a command to its end, and prints the lines of its packages meanwhile.
func run(command []string, out io.Writer, slow time.Duration) *tally {
	t := &tally{open: map[string]*test{}, blame: map[string]bool{}}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.broken = append(t.broken, err.Error())
		return t
	}
	if err := t.read(stdout, out, slow); err != nil {
		t.broken = append(t.broken, err.Error())
		_, _ = io.Copy(io.Discard, stdout) // or it would wait for ever
	}
	if err := cmd.Wait(); err != nil && t.failed+len(t.broken) == 0 {
		t.broken = append(t.broken, fmt.Sprintf("%s: %v", strings.Join(command, " "), err))
	}
	return t
}

// read hears the events of a command.
func (t *tally) read(events io.Reader, out io.Writer, slow time.Duration) error {
	in := bufio.NewScanner(events)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintln(out, in.Text()) // go itself speaks, not a test
			continue
		}
		if e.Test == "" {
			t.ofPackage(&e, out)
		} else {
			t.ofTest(&e, out, slow)
		}
	}
	for _, open := range t.open { // the package died
		open.output = append(open.output, "it never ended\n")
		t.fail(open, out)
	}
	return in.Err()
}

func (t *tally) ofPackage(e *event, out io.Writer) {
	switch {
	case strings.HasSuffix(e.Action, "output"):
		if worthShowing(e.Output) {
			fmt.Fprint(out, e.Output)
		}
	case e.Action == "build-fail":
		t.broken = append(t.broken, e.ImportPath+" does not build")
	case e.Action == "fail" && e.FailedBuild == "" && !t.blame[e.Package]:
		t.broken = append(t.broken, e.Package+" failed beside its tests")
	}
}

func (t *tally) ofTest(e *event, out io.Writer, slow time.Duration) {
	key := e.Package + " " + e.Test
	one := t.open[key]
	if one == nil {
		one = &test{pack: e.Package, name: e.Test}
		t.open[key] = one
	}
	switch e.Action {
	case "output":
		one.output = append(one.output, e.Output)
		return
	case "pass":
		t.passed++
	case "fail":
		t.fail(one, out)
	case "skip":
		t.skipped++
		t.skips = append(t.skips, one.String()+reason(one.output))
	default:
		return
	}
	delete(t.open, key)
	if d := time.Duration(e.Elapsed * float64(time.Second)); d > slow && !strings.Contains(e.Test, "/") {
		t.slows = append(t.slows, fmt.Sprintf("%6.1fs %s", d.Seconds(), one))
	}
}

// fail tells of a test that failed, with what it said.
func (t *tally) fail(one *test, out io.Writer) {
	t.failed++
	t.blame[one.pack] = true
	said := fmt.Sprintf("--- FAIL %s\n%s", one, strings.Join(one.output, ""))
	fmt.Fprint(out, said)
	t.failures = append(t.failures, said)
}

// told returns what is worth saying once more when all is over: what failed, of much output the end.
func (t *tally) told() string {
	const most = 8 << 10 // of one test
	var b strings.Builder
	for _, said := range t.failures {
		if len(said) > most {
			head, _, _ := strings.Cut(said, "\n")
			said = head + "\n...\n" + said[len(said)-most:]
		}
		b.WriteString(said)
	}
	for _, line := range t.broken {
		b.WriteString("FAILED " + line + "\n")
	}
	return b.String()
}

// worthShowing reports whether a line that belongs to a package and to no test tells anything.
func worthShowing(line string) bool {
	return line != "PASS\n" && !strings.Contains(line, "[no test files]") && !strings.HasPrefix(line, "-test.shuffle")
}

// reason returns what a test said before it skipped itself.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "===") {
			if _, said, ok := strings.Cut(line, ".go:"); ok {
				if _, said, ok = strings.Cut(said, ": "); ok {
					return ": " + said
				}
			}
			return ": " + line
		}
	}
	return ""
}

func print(title string, lines []string) {
	for _, line := range lines {
		fmt.Printf("%s %s\n", title, line)
	}
}

// add adds text to a file that has a name.
func add(file, text string) error {
	if file == "" || text == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
