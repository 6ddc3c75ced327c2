package terminal

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxHistory      = 1000
	maxHistoryEntry = 16 << 10 // longer ones, such as pastes, are not kept
	maxHistoryFile  = 8 << 20
)

// A history holds earlier inputs, of this conversation and others.
type history struct {
	file    string // empty: it lasts as long as the process
	entries []string
	at      int    // the entry that is shown; len(entries): none
	draft   string // what stood in the input before one was shown
}

// load reads the file. One that is not there or cannot be read is empty: the history is a comfort, and nothing
// depends on it.
func (h *history) load(file string) {
	h.file = file
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxHistoryFile {
		return
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 2*maxHistoryEntry)
	for in.Scan() {
		var text string
		if json.Unmarshal(in.Bytes(), &text) == nil {
			h.entries = append(h.entries, text)
		}
	}
	if n := len(h.entries); n > maxHistory {
		h.entries = h.entries[n-maxHistory:]
		h.rewrite()
	}
	h.at = len(h.entries)
}

// add keeps an entry.
func (h *history) add(text string) {
	if text = strings.TrimSpace(text); text != "" && len(text) <= maxHistoryEntry &&
		(len(h.entries) == 0 || h.entries[len(h.entries)-1] != text) {
		h.entries = append(h.entries, text)
		h.append(text)
	}
	h.at, h.draft = len(h.entries), ""
}

// append writes an entry to the file. What people write is theirs alone to read.
func (h *history) append(text string) {
	if h.file == "" || os.MkdirAll(filepath.Dir(h.file), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	line, _ := json.Marshal(text) // a string can always be written
	_, _ = f.Write(append(line, '\n'))
}

// rewrite makes the file as short as the history.
func (h *history) rewrite() {
	var b strings.Builder
	for _, e := range h.entries {
		line, _ := json.Marshal(e)
		b.Write(line)
		b.WriteByte('\n')
	}
	if os.WriteFile(h.file+".new", []byte(b.String()), 0o600) == nil {
		_ = os.Rename(h.file+".new", h.file)
	}
}

func (h *history) back(e *editor) {
	if h.at == 0 {
		return
	}
	if h.at == len(h.entries) {
		h.draft = e.value()
	}
	h.at--
	e.set(h.entries[h.at])
}

func (h *history) forth(e *editor) {
	switch {
	case h.at >= len(h.entries):
		return
	case h.at == len(h.entries)-1:
		h.at++
		e.set(h.draft)
	default:
		h.at++
		e.set(h.entries[h.at])
	}
}

// find returns the last entry before the given one that holds a text, or -1.
func (h *history) find(text string, before int) int {
	for i, e := range slices.Backward(h.entries[:min(before, len(h.entries))]) {
		if strings.Contains(strings.ToLower(e), strings.ToLower(text)) {
			return i
		}
	}
	return -1
}
