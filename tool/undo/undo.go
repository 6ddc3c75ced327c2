package undo

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/tool/edit"
	"wield/tool/files"
	"wield/tool/internal/patch"
)

// The kinds of failures, for errors.Is.
var (
	ErrUnknown = errors.New("there is no such action")
	ErrUndone  = errors.New("the action was undone before")
	ErrRoot    = errors.New("the action changed files of another directory")
	ErrDamaged = errors.New("what was kept of the action is damaged")

	ErrStale error = patch.Stale // a file has changed since
)

// A Log keeps actions in a directory. Several processes may use the same one. A nil Log keeps nothing.
type Log struct {
	Dir   string // made when it is needed; empty: nothing is kept
	Keep  int    // actions that are kept at most; 0: 200
	Bytes int64  // bytes of files that are kept at most, but for the last action; 0: 256 MiB
}

const (
	defaultKeep  = 200
	defaultBytes = 256 << 20
)

// An Action holds the changes of one call.
type Action struct {
	ID    string    `json:"id"` // the later action has the greater one
	At    time.Time `json:"at"`
	Root  string    `json:"root"` // the directory that the paths are in
	Tool  string    `json:"tool,omitempty"`
	Call  string    `json:"call,omitempty"`
	Files []File    `json:"files"`

	Undone bool `json:"-"`
}

// A File is one file of an action.
type File struct {
	Path    string      `json:"path"`
	Before  string      `json:"before,omitempty"` // SHA-256 of what stood there; empty: it was not there
	After   string      `json:"after,omitempty"`  // of what was written; empty: it was removed
	Mode    fs.FileMode `json:"mode,omitempty"`   // permissions that it had
	Summary string      `json:"summary"`
}

const (
	actionFile = "action.json"
	undoneFile = "undone"
	unfinished = ".new-" // begins the name of the directory of an action that is being written
)

// Do puts changes in place, all of them or none, and keeps what undoes them. Changes that change nothing make no
// action: its ID is empty then, as it is where nothing is kept.
func (l *Log) Do(root *files.Root, tool, call string, changes []edit.Change) (Action, error) {
	changed := slices.DeleteFunc(slices.Clone(changes), func(c edit.Change) bool { return !c.Changed() })
	if l == nil || l.Dir == "" || len(changed) == 0 {
		return Action{}, patch.Apply(root, changes)
	}
	a := Action{At: time.Now().UTC(), Root: root.Path(), Tool: tool, Call: call}
	for i := range changed {
		a.Files = append(a.Files, fileOf(&changed[i]))
	}
	if err := l.write(&a, changed); err != nil {
		return Action{}, fmt.Errorf("undo: %w", err)
	}
	if err := patch.Apply(root, changes); err != nil {
		return Action{}, errors.Join(err, os.RemoveAll(l.place(a.ID)))
	}
	_ = l.prune() // the files are changed, whatever becomes of old actions; the next one tries again
	return a, nil
}

func fileOf(c *edit.Change) File {
	f := File{Path: c.Path, Mode: c.Mode, Summary: c.Summary()}
	if c.Existed {
		f.Before = hash(c.Before)
	}
	if c.Exists {
		f.After = hash(c.After)
	}
	return f
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// newID returns an ID that sorts by time.
func newID(at time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails
	return fmt.Sprintf("u%013x%x", at.UnixMicro(), random)
}

var validID = regexp.MustCompile(`^u[0-9a-f]{12,40}$`)

func (l *Log) place(id string) string { return filepath.Join(l.Dir, id) }

// write puts an action on disk: a directory that appears as a whole.
func (l *Log) write(a *Action, changes []edit.Change) error {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(l.Dir, unfinished)
	if err != nil {
		return err
	}
	a.ID = newID(a.At)
	err = writeAction(temp, a, changes)
	if err == nil {
		err = os.Rename(temp, l.place(a.ID))
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	return nil
}

func writeAction(dir string, a *Action, changes []edit.Change) error {
	for i := range changes {
		if !changes[i].Existed {
			continue
		}
		if err := writeFile(filepath.Join(dir, strconv.Itoa(i)), changes[i].Before); err != nil {
			return err
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, actionFile), text)
}

// writeFile writes a file that nobody else may read, and waits until it is on disk.
func writeFile(name string, content []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// Actions returns what is kept, the last action first.
func (l *Log) Actions() ([]Action, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, err
	}
	var all []Action
	for _, id := range slices.Backward(ids) {
		a, err := l.read(id)
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrDamaged) {
			continue // another process has just thrown it away, or it can never be undone
		}
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// ids returns those of all actions, the first one first.
func (l *Log) ids() ([]string, error) {
	if l == nil || l.Dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(l.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("undo: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if validID.MatchString(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// read returns one action.
func (l *Log) read(id string) (Action, error) {
	if l == nil || l.Dir == "" || !validID.MatchString(id) {
		return Action{}, fmt.Errorf("undo: %w: %.60q", ErrUnknown, id)
	}
	text, err := os.ReadFile(filepath.Join(l.place(id), actionFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Action{}, fmt.Errorf("undo: %w: %s", ErrUnknown, id)
	}
	if err != nil {
		return Action{}, fmt.Errorf("undo: %w", err)
	}
	var a Action
	if err := json.Unmarshal(text, &a); err != nil || a.ID != id {
		return Action{}, fmt.Errorf("undo: %w: %s", ErrDamaged, id)
	}
	_, err = os.Stat(filepath.Join(l.place(id), undoneFile))
	a.Undone = err == nil
	return a, nil
}

// Last returns the last action on files of a directory that was not undone, of those that of says yes to; nil: of all.
func (l *Log) Last(root *files.Root, of func(*Action) bool) (Action, error) {
	ids, err := l.ids()
	if err != nil {
		return Action{}, err
	}
	for _, id := range slices.Backward(ids) {
		a, err := l.read(id)
		if err == nil && !a.Undone && a.Root == root.Path() && (of == nil || of(&a)) {
			return a, nil
		}
	}
	return Action{}, fmt.Errorf("undo: %w: nothing is left to undo in %s", ErrUnknown, root.Path())
}

// Undo puts the files of an action back as they were before it, all of them or none, and returns what has changed. A
// file that is as it was before is left alone; one that is neither that nor what the action made of it makes the
// whole fail with ErrStale.
func (l *Log) Undo(root *files.Root, id string) ([]edit.Change, error) {
	a, err := l.read(id)
	switch {
	case err != nil:
		return nil, err
	case a.Undone:
		return nil, fmt.Errorf("undo: %w: %s", ErrUndone, id)
	case a.Root != root.Path():
		return nil, fmt.Errorf("undo: %w: %s", ErrRoot, a.Root)
	}
	changes, err := l.reverse(root, &a)
	if err == nil {
		err = patch.Apply(root, changes)
	}
	if err != nil {
		return nil, err
	}
	return changes, writeFile(filepath.Join(l.place(id), undoneFile), nil)
}

// A Total joins the changes of several actions to a file.
type Total struct {
	edit.Change      // from before the first of them to what is there now
	Since       bool // the file is not what the last of them left
}

// Changes returns what the actions made of files that of says yes to, in the order in which the files were first
// changed. Actions that were undone do not count.
func (l *Log) Changes(root *files.Root, of func(*Action) bool) ([]Total, error) {
	ids, err := l.ids()
	if err != nil {
		return nil, err
	}
	var all []*Total
	byPath, left := map[string]*Total{}, map[string]string{}
	for _, id := range ids {
		a, err := l.read(id)
		if errors.Is(err, ErrUnknown) || errors.Is(err, ErrDamaged) {
			continue // as in Actions
		}
		if err != nil {
			return nil, err
		}
		if a.Undone || a.Root != root.Path() || !of(&a) {
			continue
		}
		for i, f := range a.Files {
			if left[f.Path] = f.After; byPath[f.Path] != nil {
				continue
			}
			t := &Total{Change: edit.Change{Path: f.Path, Existed: f.Before != "", Mode: f.Mode}}
			if t.Existed {
				if t.Before, err = l.before(&a, i); err != nil {
					return nil, err
				}
			}
			byPath[f.Path], all = t, append(all, t)
		}
	}
	var totals []Total
	for _, t := range all {
		if err := t.now(root, left[t.Path]); err != nil {
			return nil, err
		}
		totals = append(totals, *t)
	}
	return totals, nil
}

// now reads what is there, and compares it with what the last action left.
func (t *Total) now(root *files.Root, left string) error {
	is := ""
	now, err := root.ReadFile(t.Path)
	switch {
	case err == nil:
		t.Exists, t.After, is = true, now, hash(now)
	case !errors.Is(err, fs.ErrNotExist):
		return &patch.Failure{Reason: patch.Unusable, Path: t.Path, Err: err}
	}
	t.Since = is != left
	return nil
}

// before returns what stood in a file before an action.
func (l *Log) before(a *Action, i int) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(l.place(a.ID), strconv.Itoa(i)))
	if err != nil || hash(content) != a.Files[i].Before {
		return nil, fmt.Errorf("undo: %w: %s", ErrDamaged, a.ID)
	}
	return content, nil
}

// reverse returns the changes that undo an action.
func (l *Log) reverse(root *files.Root, a *Action) ([]edit.Change, error) {
	var changes []edit.Change
	for i, f := range a.Files {
		c := edit.Change{Path: f.Path, Exists: f.Before != "", Mode: f.Mode}
		now, err := root.ReadFile(f.Path)
		switch {
		case err == nil:
			c.Existed, c.Before = true, now
		case !errors.Is(err, fs.ErrNotExist):
			return nil, &patch.Failure{Reason: patch.Unusable, Path: f.Path, Err: err}
		}
		is := ""
		if c.Existed {
			is = hash(now)
		}
		switch is {
		case f.Before:
			continue
		case f.After:
		default:
			return nil, &patch.Failure{Reason: patch.Stale, Path: f.Path,
				Hint: "Undo what came later first, or put the file right by hand."}
		}
		if c.Exists {
			if c.After, err = l.before(a, i); err != nil {
				return nil, err
			}
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// prune throws away the oldest actions that are too many, and what processes that ended left unfinished.
func (l *Log) prune() error {
	ids, err := l.ids()
	if err != nil {
		return err
	}
	keep, most := l.Keep, l.Bytes
	if keep == 0 {
		keep = defaultKeep
	}
	if most == 0 {
		most = defaultBytes
	}
	var errs []error
	var size int64
	for k, id := range slices.Backward(ids) {
		n := len(ids) - k // with those behind it
		if size += l.size(id); n > 1 && (n > keep || size > most) {
			errs = append(errs, os.RemoveAll(l.place(id)))
		}
	}
	return errors.Join(append(errs, l.sweep())...)
}

// size returns the bytes of an action's files.
func (l *Log) size(id string) int64 {
	var n int64
	entries, _ := os.ReadDir(l.place(id)) // gone is nothing
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// abandoned limits the age of an unfinished action that may still be finished.
const abandoned = time.Hour

// sweep removes what was left unfinished.
func (l *Log) sweep() error {
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			errs = append(errs, os.RemoveAll(l.place(e.Name())))
		}
	}
	return errors.Join(errs...)
}
