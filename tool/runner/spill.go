package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/value"
)

// spills keep outputs that were too long in one file, as a ring: what is new takes the place of what is oldest. The
// file has no name as soon as it is open, where the system allows that, so that it is gone with the process, however
// that ends.
type spills struct {
	mu    sync.Mutex
	file  *os.File
	name  string // set while the file has one
	kept  map[string]extent
	order []string // oldest first
	next  int64    // where the next output begins

	closed bool
}

// An extent is a part of the file.
type extent struct{ from, to int64 }

func (e extent) overlaps(o extent) bool { return e.from < o.to && o.from < e.to }

const defaultSpillBytes = 256 << 20

// save keeps an output and returns its id.
func (s *Shared) save(output string) (string, error) {
	p := &s.spills
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(s.Temp); err != nil {
		return "", err
	}
	most := cmp.Or(s.SpillBytes, defaultSpillBytes)
	if len(output) > most {
		return "", errors.New("tool: the output is too long to be kept")
	}
	at := p.room(int64(len(output)), int64(most))
	if _, err := p.file.WriteAt([]byte(output), at.from); err != nil {
		return "", fmt.Errorf("tool: %w", err)
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	p.kept[id], p.order, p.next = at, append(p.order, id), at.to
	return id, nil
}

func (p *spills) open(temp string) error {
	switch {
	case p.file != nil:
		return nil
	case p.closed:
		return errors.New("tool: outputs are not kept any more")
	}
	f, err := os.CreateTemp(temp, "wield-output-") // for its owner alone
	if err != nil {
		return fmt.Errorf("tool: %w", err)
	}
	if os.Remove(f.Name()) != nil { // Windows keeps the names of open files
		p.name = f.Name()
	}
	p.file, p.kept = f, make(map[string]extent)
	return nil
}

// room returns where an output of size bytes goes, in a file of most bytes, and forgets what is there.
func (p *spills) room(size, most int64) extent {
	at := extent{p.next, p.next + size}
	if at.to > most {
		at = extent{0, size}
	}
	taken := func(id string) bool { return p.kept[id].overlaps(at) }
	for slices.ContainsFunc(p.order, taken) {
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
	return at
}

func (p *spills) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true // a call that ends late would make another file, which nobody closes
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	if p.name != "" {
		err = errors.Join(err, os.Remove(p.name))
	}
	p.file, p.name, p.kept, p.order = nil, "", nil, nil
	return err
}

// Spilled returns an output that was too long to be shown whole, by the id that its [tool.Truncation] names. It reports
// false where it is not kept any more.
func (s *Shared) Spilled(id string) (string, bool) {
	text, ok, err := s.spills.read(id)
	return text, ok && err == nil
}

// read returns an output. It reports false where there is none.
func (p *spills) read(id string) (string, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.kept[id]
	if !ok {
		return "", false, nil
	}
	b := make([]byte, at.to-at.from)
	if _, err := p.file.ReadAt(b, at.from); err != nil {
		return "", true, &tool.Error{Kind: tool.ErrUnexpected, Cause: err}
	}
	return string(b), true, nil
}

// output returns an output of this process, or one that the conversation of the call remembers.
func (s *Shared) output(ctx context.Context, c *tool.Call, id string) (string, error) {
	text, ok, err := s.spills.read(id)
	if !ok && c.Scope.Outputs != nil {
		text, ok, err = c.Scope.Outputs.Output(ctx, id)
	}
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", tool.Errorf(tool.ErrInvalid,
			"There is no output %s: it was never kept, or it was the oldest when there was no more room",
			value.Cut(id, 64))
	}
	return text, nil
}

const (
	readOutputDefault = 32 << 10
	readOutputMost    = 60 << 10 // less than results may hold, so that it is never cut itself
)

// ReadOutput returns the tool that reads the rest of outputs that were too long.
func (s *Shared) ReadOutput() *tool.Tool {
	type input struct {
		ID     string `json:"id" jsonschema:"output_id from the truncated result"`
		Offset int    `json:"offset,omitempty" jsonschema:"first byte, counted from 0"`
		Length int    `json:"length,omitempty" jsonschema:"number of bytes, up to 61440"`
	}
	t := tool.Stream(tool.ReadOutputName, "Returns more of a tool output that was too long to show. Example: "+
		"{\"id\":\"9f86d081884c7d65\",\"offset\":65536}",
		func(ctx context.Context, c *tool.Call, in input) (tool.Result, error) {
			if in.Offset < 0 || in.Length < 0 {
				return tool.Result{}, tool.Errorf(tool.ErrInvalid, "offset and length must not be negative")
			}
			whole, err := s.output(ctx, c, in.ID)
			switch size := len(whole); {
			case err != nil:
				return tool.Result{}, err
			case in.Offset > size:
				return tool.Result{}, tool.Errorf(tool.ErrInvalid,
					"The output has %d bytes, so that it cannot be read from %d", size, in.Offset)
			}
			return tool.JSON(excerpt(whole, in.Offset, min(cmp.Or(in.Length, readOutputDefault), readOutputMost)))
		})
	t.Facts.ReadOnly, t.Source = true, "builtin"
	t.Limits.Output = chat.NoLimit
	return t
}

// An outputPart is the result of read_output.
type outputPart struct {
	Content string `json:"content"`
	Offset  int    `json:"offset"`
	Next    int    `json:"next,omitempty"` // where to read on; 0: this is the end
	Size    int    `json:"size"`
}

// excerpt returns up to n bytes of an output, and whole characters only.
func excerpt(whole string, offset, n int) outputPart {
	p := outputPart{Offset: offset, Size: len(whole)}
	p.Content = whole[offset:min(offset+n, len(whole))]
	if end := offset + len(p.Content); end < len(whole) {
		if runes := wholeRunes(p.Content); runes != "" {
			p.Content = runes
		}
		p.Next = offset + len(p.Content)
	}
	return p
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
func (s *Shared) cap(r *tool.Result, l tool.CallLimits) {
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
		whole = value.Text(r.Data)
	}
	shown := value.Cut(whole, l.Output)
	r.Data = value.Quote(shown)
	r.Truncated = s.truncation(whole, len(shown), l)
}

// capParts cuts the text parts of a result.
func (s *Shared) capParts(r *tool.Result, l tool.CallLimits) {
	left := l.Output
	for i := range r.Parts {
		p := &r.Parts[i]
		if len(p.Text) <= left {
			left -= len(p.Text)
			continue
		}
		shown := value.Cut(p.Text, left)
		if r.Truncated == nil {
			r.Truncated = s.truncation(p.Text, len(shown), l)
		}
		p.Text, left = shown, left-len(shown)
	}
}

// capMember cuts the longest of the strings in an object, such as the content of a file or the output of a command,
// if that is enough: the rest of the object is then as it was.
func (s *Shared) capMember(r *tool.Result, l tool.CallLimits) bool {
	if r.Data[0] != '{' {
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(r.Data, &members) != nil {
		return false
	}
	longest := ""
	for name, value := range members {
		if value[0] == '"' && len(value) > len(members[longest]) ||
			len(value) == len(members[longest]) && value[0] == '"' && name < longest {
			longest = name
		}
	}
	rest := len(r.Data) - len(members[longest])
	if longest == "" || rest > l.Output/2 {
		return false
	}
	whole := value.Text(members[longest])
	shown := value.Cut(whole, (l.Output-rest)*len(whole)/len(members[longest]))
	r.Data = withMember(r.Data, longest, value.Quote(shown))
	r.Truncated = s.truncation(whole, len(shown), l)
	r.Truncated.Member = longest
	return true
}

// truncation keeps the whole of an output, of which only the first bytes are shown.
func (s *Shared) truncation(whole string, shown int, l tool.CallLimits) *tool.Truncation {
	t := &tool.Truncation{Shown: shown, Size: len(whole)}
	whole = value.Cut(whole, l.Spill)
	if id, err := s.save(whole); err == nil { // without it the result still says how much is missing
		t.Spill, t.Kept = id, len(whole)
	}
	return t
}

// withMember returns object with another value for the member of the given name.
func withMember(object json.RawMessage, name string, to json.RawMessage) json.RawMessage {
	dst := []byte{'{'}
	for i, m := range value.Members(object) {
		if m.Name == name {
			m.Value = to
		}
		start := len(dst)
		if dst = m.Append(dst); i == 0 {
			dst = append(dst[:start], dst[start+1:]...) // no comma in front of the first
		}
	}
	return append(dst, '}')
}
