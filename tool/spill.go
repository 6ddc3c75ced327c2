package tool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"
)

// spills keep outputs that were too long, in files of a private directory that is made when it is first needed.
type spills struct {
	mu    sync.Mutex
	root  *os.Root
	dir   string
	sizes map[string]int
	order []string // oldest first
	total int
}

const defaultSpillBytes = 256 << 20

// save keeps an output and returns its id.
func (s *Shared) save(output string) (string, error) {
	p := &s.spills
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(s.Temp); err != nil {
		return "", err
	}
	most := or(s.SpillBytes, defaultSpillBytes)
	if len(output) > most {
		return "", errors.New("tool: the output is too long to be kept")
	}
	for len(p.order) > 0 && p.total+len(output) > most {
		p.forget(p.order[0])
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	f, err := p.root.OpenFile(id, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("tool: %w", err)
	}
	_, err = f.WriteString(output)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("tool: %w", errors.Join(err, p.root.Remove(id)))
	}
	if p.sizes == nil {
		p.sizes = make(map[string]int)
	}
	p.sizes[id], p.order, p.total = len(output), append(p.order, id), p.total+len(output)
	return id, nil
}

func (p *spills) open(temp string) error {
	if p.root != nil {
		return nil
	}
	dir, err := os.MkdirTemp(temp, "wield-output-")
	if err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("tool: %w", errors.Join(err, os.Remove(dir)))
	}
	p.dir, p.root = dir, root
	return nil
}

func (p *spills) forget(id string) {
	p.root.Remove(id) // a file that cannot be removed now goes with the directory
	p.total -= p.sizes[id]
	delete(p.sizes, id)
	p.order = p.order[1:]
}

func (p *spills) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.root == nil {
		return nil
	}
	err := errors.Join(p.root.Close(), os.RemoveAll(p.dir))
	p.root, p.dir, p.sizes, p.order, p.total = nil, "", nil, nil, 0
	return err
}

// read returns up to n bytes of an output from offset on, and how long it is.
func (p *spills) read(id string, offset, n int) (string, int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size, ok := p.sizes[id]
	if !ok {
		return "", 0, Errorf(ErrInvalid, "There is no output %s: it was never kept, or it was the oldest when there was no more room", cut(id, 64))
	}
	if offset > size {
		return "", size, Errorf(ErrInvalid, "The output has %d bytes, so that it cannot be read from %d", size, offset)
	}
	f, err := p.root.Open(id)
	if err != nil {
		return "", size, &Error{Kind: ErrUnexpected, Cause: err}
	}
	defer f.Close()
	b := make([]byte, min(n, size-offset))
	if _, err := f.ReadAt(b, int64(offset)); err != nil && !errors.Is(err, io.EOF) {
		return "", size, &Error{Kind: ErrUnexpected, Cause: err}
	}
	return string(b), size, nil
}

// ReadOutputName is the name of the tool that reads the rest of outputs that were too long.
const ReadOutputName = "read_output"

const (
	readOutputDefault = 32 << 10
	readOutputMost    = 60 << 10 // less than results may hold, so that it is never cut itself
)

// ReadOutput returns the tool that reads the rest of outputs that were too long.
func (s *Shared) ReadOutput() *Tool {
	type input struct {
		ID     string `json:"id" jsonschema:"the id that the truncated result names"`
		Offset int    `json:"offset,omitempty" jsonschema:"byte to begin at, from 0"`
		Length int    `json:"length,omitempty" jsonschema:"how many bytes to read, up to 61440"`
	}
	t := Func(ReadOutputName, "Reads more of a tool's output that was too long to be shown whole. Example: {\"id\":\"9f86d081884c7d65\",\"offset\":65536}",
		func(_ context.Context, in input) (Result, error) {
			if in.Offset < 0 || in.Length < 0 {
				return Result{}, Errorf(ErrInvalid, "offset and length must not be negative")
			}
			text, size, err := s.spills.read(in.ID, in.Offset, min(or(in.Length, readOutputDefault), readOutputMost))
			if err != nil {
				return Result{}, err
			}
			end := in.Offset + len(text)
			if whole := wholeRunes(text); end < size && whole != "" {
				text, end = whole, in.Offset+len(whole)
			}
			return JSON(struct {
				Content string `json:"content"`
				Offset  int    `json:"offset"`
				Next    int    `json:"next,omitempty"` // where to read on; 0: this is the end
				Size    int    `json:"size"`
			}{text, in.Offset, next(end, size), size})
		})
	t.Facts.ReadOnly, t.Source = true, "builtin"
	t.Limits.Output = -1
	return t
}

func next(end, size int) int {
	if end >= size {
		return 0
	}
	return end
}

// wholeRunes returns s without the beginning of a character at its end.
func wholeRunes(s string) string {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// cap cuts a result that is longer than a model should read. The whole goes to a spill.
func (s *Shared) cap(r *Result, l Limits) {
	if l.Output < 0 {
		return
	}
	s.capParts(r, l)
	if len(r.Data) <= l.Output || r.Truncated != nil {
		return
	}
	if s.capMember(r, l) {
		return
	}
	whole := string(r.Data)
	if whole[0] == '"' {
		whole = text(r.Data)
	}
	shown := cut(whole, l.Output)
	r.Data = quote(shown)
	r.Truncated = s.truncation(whole, len(shown), l)
}

// capParts cuts the text parts of a result.
func (s *Shared) capParts(r *Result, l Limits) {
	left := l.Output
	for i := range r.Parts {
		p := &r.Parts[i]
		if len(p.Text) <= left {
			left -= len(p.Text)
			continue
		}
		shown := cut(p.Text, left)
		if r.Truncated == nil {
			r.Truncated = s.truncation(p.Text, len(shown), l)
		}
		p.Text, left = shown, left-len(shown)
	}
}

// capMember cuts the longest of the strings in an object, such as the content of a file or the output of a command, if that is
// enough: the rest of the object is then as it was.
func (s *Shared) capMember(r *Result, l Limits) bool {
	if r.Data[0] != '{' {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(r.Data, &members) != nil {
		return false
	}
	longest := ""
	for name, value := range members {
		if value[0] == '"' && len(value) > len(members[longest]) || len(value) == len(members[longest]) && value[0] == '"' && name < longest {
			longest = name
		}
	}
	rest := len(r.Data) - len(members[longest])
	if longest == "" || rest > l.Output/2 {
		return false
	}
	whole := text(members[longest])
	shown := cut(whole, (l.Output-rest)*len(whole)/len(members[longest]))
	r.Data = withMember(r.Data, longest, quote(shown))
	r.Truncated = s.truncation(whole, len(shown), l)
	r.Truncated.Member = longest
	return true
}

// truncation keeps the whole of an output, of which only the first bytes are shown.
func (s *Shared) truncation(whole string, shown int, l Limits) *Truncation {
	t := &Truncation{Shown: shown, Size: len(whole)}
	whole = cut(whole, l.Spill)
	if id, err := s.save(whole); err == nil { // without it the result still says how much is missing
		t.Spill, t.Kept = id, len(whole)
	}
	return t
}
