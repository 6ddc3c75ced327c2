package local

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/internal/patch"
)

// A tracker is shared by the tools of one list.
type tracker struct {
	o Options

	mu    sync.Mutex
	files map[fileKey]*fileState
	// without their content: how files were when a preview was made, by the arguments of the call
	shown map[[32]byte][]edit.Change
}

// A fileKey is a file of a workspace.
type fileKey struct{ root, name string }

// A fileState holds what is known of a file.
type fileState struct {
	seen   bool
	hash   [32]byte // of what was seen
	failed int      // edits that failed, one after the other
	last   [32]byte // the last one
	call   string   // its call, which may fail once when it is looked at and once more when it runs
}

// mostSights bounds what is remembered. Who works on more files at once forgets which of them were seen: edits are
// checked against the file in any case.
const mostSights = 4096

func (b *tracker) at(root *files.Root, name string) *fileState {
	if b.files == nil || len(b.files) >= mostSights {
		b.files = map[fileKey]*fileState{}
	}
	p := fileKey{root.Path(), name}
	if b.files[p] == nil {
		b.files[p] = &fileState{}
	}
	return b.files[p]
}

// sees remembers what somebody has seen of a file.
func (b *tracker) sees(root *files.Root, name string, content []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.at(root, name)
	s.seen, s.hash = true, sha256.Sum256(content)
}

// stale reports the files that are not what the model or a person saw of them.
func (b *tracker) stale(root *files.Root, changes []edit.Change, id [32]byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	shown := map[string]*edit.Change{}
	for i := range b.shown[id] {
		shown[b.shown[id][i].Path] = &b.shown[id][i]
	}
	var all patch.Failures
	for i := range changes {
		c := &changes[i]
		s := b.at(root, c.Path)
		was := shown[c.Path]
		if s.seen && c.Existed && sha256.Sum256(c.Before) != s.hash ||
			was != nil && (was.Existed != c.Existed || string(was.Before) != digest(c.Before)) {
			all.List = append(all.List, &patch.Failure{Reason: patch.Stale, Path: c.Path,
				Hint: "Read it again, and make the edit for what is there now."})
		}
	}
	if len(all.List) > 0 {
		return &all
	}
	return nil
}

func digest(content []byte) string {
	h := sha256.Sum256(content)
	return string(h[:])
}

// mostShown bounds the previews that are remembered.
const mostShown = 256

// shows remembers how files were when a person was shown what a call would do.
func (b *tracker) shows(id [32]byte, changes []edit.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown == nil || len(b.shown) >= mostShown {
		b.shown = map[[32]byte][]edit.Change{}
	}
	small := make([]edit.Change, len(changes))
	for i, c := range changes {
		small[i] = edit.Change{Path: c.Path, Existed: c.Existed, Before: []byte(digest(c.Before))}
	}
	b.shown[id] = small
}

// done remembers that changes were made, and by whom the files were last seen: the model knows what it wrote.
func (b *tracker) done(root *files.Root, changes []edit.Change, id [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shown, id)
	for i := range changes {
		b.follow(&changes[i])
		s := b.at(root, changes[i].Path)
		*s = fileState{seen: s.seen && changes[i].Exists, hash: sha256.Sum256(changes[i].After)}
	}
}

// follow brings what was shown of other calls up to date: who agreed to them agreed to this change too, and knows of
// it.
func (b *tracker) follow(c *edit.Change) {
	before := digest(c.Before)
	for _, changes := range b.shown {
		for i := range changes {
			if was := &changes[i]; was.Path == c.Path && was.Existed == c.Existed &&
				(!was.Existed || string(was.Before) == before) {
				was.Existed, was.Before = c.Exists, []byte(digest(c.After))
			}
		}
	}
}

// When an edit of a file has failed so often, the model is shown the file.
const patience = 2

// Bounds of a file that is shown for that: up to so many lines and bytes of it, and up to so many lines it is rather
// to be written as a whole.
const (
	freshLines = 400
	freshBytes = 32 << 10
	wholeLines = 300
)

// fails counts the failures of an edit, and returns what helps the model on.
func (b *tracker) fails(root *files.Root, err *patch.Failures, id [32]byte, call string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.shown, id)
	again := false
	var fresh []string
	told := map[string]bool{}
	for _, f := range err.List {
		name, rel := root.Rel(f.Path)
		if rel != nil || told[name] || f.Reason == patch.Stale || f.Reason == patch.Unusable {
			continue
		}
		told[name] = true
		s := b.at(root, name)
		if s.failed == 0 || s.last != id || s.call != call || call == "" {
			again = again || s.failed > 0 && s.last == id
			s.failed, s.last, s.call = s.failed+1, id, call
		}
		if s.failed >= patience {
			fresh = append(fresh, b.fresh(root, name, s)...)
		}
	}
	var out strings.Builder
	if again {
		out.WriteString("\n\nYou sent this identical block before. Do not send it again.")
	}
	for _, f := range fresh {
		out.WriteString("\n\n" + f)
	}
	return out.String()
}

// fresh returns a file as it is now, with numbers, and what else could be done. Its lock is held.
func (b *tracker) fresh(root *files.Root, name string, s *fileState) []string {
	content, err := root.ReadFile(name)
	if err != nil || !files.IsText(content) {
		return nil
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(content), "\n"), "\n")
	var out strings.Builder
	shown := 0
	for shown < len(lines) && shown < freshLines && out.Len() < freshBytes {
		fmt.Fprintf(&out, "%6d| %s\n", shown+1, strings.TrimRight(lines[shown], "\r\n"))
		shown++
	}
	all := []string{fmt.Sprintf("%s is now (without the numbers):\n%s", name, strings.TrimSuffix(out.String(), "\n"))}
	if shown < len(lines) {
		all[0] += fmt.Sprintf("\n[%d more lines: read the file to see them]", len(lines)-shown)
	} else {
		s.seen, s.hash = true, sha256.Sum256(content)
	}
	if len(lines) <= wholeLines {
		all = append(all, "Instead of an edit, write the whole file: a create block with === FILE: "+name+
			" and all of its lines.")
	}
	return all
}
