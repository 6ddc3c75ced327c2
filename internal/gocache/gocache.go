// Package gocache is a build cache of the go command that reads a second one besides its own: what a person has
// compiled need not be compiled again by a process that may not change it.
//
// The go command starts the program that GOCACHEPROG names and speaks to it in lines of JSON
// (cmd/go/internal/cacheprog). Both caches are directories in the go command's own layout, so that each can be used
// without this package.
package gocache

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// hidden is the first argument of a program that is started as a cache. The second is the directory that is read
// besides GOCACHE.
const hidden = "--wield-go-cache"

// Main serves a cache and ends, if the program was started as one. Programs whose name [Command] is given call it
// first of all.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != hidden {
		return
	}
	if err := Serve(os.Stdin, os.Stdout, os.Getenv("GOCACHE"), os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command returns the command line by which a program serves a cache that reads the person's own; nil: there is no
// program, or no such cache. The go command has it by default or by GOCACHE.
func Command(program string, getenv func(string) string) []string {
	if program == "" {
		return nil
	}
	dir := getenv("GOCACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(base, "go-build")
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return nil
	}
	return []string{program, hidden, dir}
}

type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// Serve answers the go command until it closes the cache. What it asks for is looked for in own and then in shared;
// what it stores goes into own.
func Serve(in io.Reader, out io.Writer, own, shared string) error {
	w := bufio.NewWriter(out)
	answers := json.NewEncoder(w)
	say := func(r response) error {
		if err := answers.Encode(r); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := say(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	requests := json.NewDecoder(bufio.NewReader(in))
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("gocache: reading a request: %w", err)
		}
		var body []byte
		if r.Command == "put" && r.BodySize > 0 {
			if err := requests.Decode(&body); err != nil {
				return fmt.Errorf("gocache: reading what is to be stored: %w", err)
			}
		}
		if err := say(answer(r, body, own, shared)); err != nil || r.Command == "close" {
			return err
		}
	}
}

func answer(r request, body []byte, own, shared string) response {
	switch r.Command {
	case "get":
		for _, dir := range []string{own, shared} {
			if found, ok := get(dir, r.ActionID); ok {
				found.ID = r.ID
				return found
			}
		}
		return response{ID: r.ID, Miss: true}
	case "put":
		path, err := put(own, r, body)
		if err != nil {
			return response{ID: r.ID, Err: err.Error()}
		}
		return response{ID: r.ID, DiskPath: path}
	case "close":
		return response{ID: r.ID}
	}
	return response{ID: r.ID, Err: "unknown command " + strconv.Quote(r.Command)}
}

// file names an entry ("a") or an output ("d").
func file(dir string, id []byte, kind string) string {
	name := hex.EncodeToString(id)
	if len(name) < 2 {
		name = "00"
	}
	return filepath.Join(dir, name[:2], name+"-"+kind)
}

// get reads an entry: v1, the ids of the action and the output, the size and the time. An entry whose output is not
// there as a whole is none.
func get(dir string, action []byte) (response, bool) {
	text, err := os.ReadFile(file(dir, action, "a"))
	if err != nil {
		return response{}, false
	}
	words := strings.Fields(string(text))
	if len(words) != 5 || words[0] != "v1" || words[1] != hex.EncodeToString(action) {
		return response{}, false
	}
	output, err1 := hex.DecodeString(words[2])
	size, err2 := strconv.ParseInt(words[3], 10, 64)
	nanoseconds, err3 := strconv.ParseInt(words[4], 10, 64)
	path := file(dir, output, "d")
	info, err4 := os.Stat(path)
	if errors.Join(err1, err2, err3, err4) != nil || info.Size() != size {
		return response{}, false
	}
	stored := time.Unix(0, nanoseconds)
	return response{OutputID: output, Size: size, Time: &stored, DiskPath: path}, true
}

// put stores an output and, when it is there, the entry that leads to it.
func put(dir string, r request, body []byte) (string, error) {
	if int64(len(body)) != r.BodySize {
		return "", fmt.Errorf("%d bytes came and %d were announced", len(body), r.BodySize)
	}
	path := file(dir, r.OutputID, "d")
	entry := fmt.Sprintf("v1 %x %x %20d %20d\n", r.ActionID, r.OutputID, r.BodySize, time.Now().UnixNano())
	if err := write(path, body); err != nil {
		return "", err
	}
	return path, write(file(dir, r.ActionID, "a"), []byte(entry))
}

// write makes a file, which other processes see as a whole. That it is on the disk is not worth waiting for.
func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
