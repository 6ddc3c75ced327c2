// Command tally reads `go test -json` on its standard input and prints what a person wants to see of it: the line of each
// package, the output of what failed, every skipped test with its reason. With -sum FILE it adds one line "PASSED FAILED
// SKIPPED" to FILE. Its exit status is 1 if anything failed or nothing ran.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
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
}

// A test is what was heard of one test so far.
type test struct {
	name   string
	output []string
}

func main() {
	sum := flag.String("sum", "", "file to which the counts are added")
	slow := flag.Duration("slow", 10*time.Second, "name the tests that take longer than this")
	flag.Parse()

	var passed, failed, skipped int
	open := make(map[string]*test)
	var skips, slows []string
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Action == "" {
			fmt.Println(in.Text()) // go itself speaks, not a test
			continue
		}
		if e.Test == "" {
			if strings.HasSuffix(e.Action, "output") && worthShowing(e.Output) {
				fmt.Print(e.Output)
			}
			if e.Action == "build-fail" {
				failed++
			}
			continue
		}
		key := e.Package + " " + e.Test
		t := open[key]
		if t == nil {
			t = &test{name: strings.TrimPrefix(e.Package, "wield/") + ": " + e.Test}
			open[key] = t
		}
		switch e.Action {
		case "output":
			t.output = append(t.output, e.Output)
		case "pass":
			passed++
		case "fail":
			failed++
			fmt.Printf("--- FAIL %s\n%s", t.name, strings.Join(t.output, ""))
		case "skip":
			skipped++
			skips = append(skips, t.name+reason(t.output))
		}
		if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
			delete(open, key)
			if d := time.Duration(e.Elapsed * float64(time.Second)); d > *slow && !strings.Contains(e.Test, "/") {
				slows = append(slows, fmt.Sprintf("%6.1fs %s", d.Seconds(), t.name))
			}
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	for _, t := range open { // the package died
		failed++
		fmt.Printf("--- FAIL %s: it never ended\n%s", t.name, strings.Join(t.output, ""))
	}
	print("slow", slows)
	print("SKIPPED", skips)
	fmt.Printf("tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if *sum != "" {
		if err := add(*sum, passed, failed, skipped); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
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

func add(file string, passed, failed, skipped int) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(f, passed, failed, skipped); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
