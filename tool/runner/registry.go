package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"wield/chat"
	"wield/schema"
	"wield/tool"
	"wield/tool/internal/value"
)

// A Source holds a runner's tools: a Registry or a Session.
type Source interface {
	// Lookup returns what is known of the tool that is called name, which may be an alias.
	Lookup(name string) (*Entry, bool)
	// Offered returns the definitions to show to a model that answers the given text of a user.
	Offered(text string) []chat.Tool
	// Missing returns why there is no tool of this name, such as a server that is not connected; nil: nothing is known.
	Missing(name string) error
}

// An Entry is a tool as it stands in a registry. It does not change; a change makes a new one.
type Entry struct {
	Tool   *tool.Tool
	State  tool.State  // enabled, auto or disabled
	Guard  *tool.Guard // that applies; nil: none
	Hash   string      // of the definition
	schema *schema.Schema
	slots  chan struct{} // one for each call that may run at a time; nil: no limit

	stateSet, guardSet bool // they are not those of the tool
}

// A Registry holds tools by name, in the order in which they were added. The zero value is empty and ready.
// Several goroutines may use it at once.
type Registry struct {
	mu      sync.RWMutex
	entries map[string]*Entry // by name and by alias
	order   []string
	folded  map[string]string // name by its folded form
	missing map[string]error  // namespace: why it has no tools now
}

// Failures of Add and Mount. Each is wrapped with the name of the tool.
var (
	ErrName      = errors.New("not a name for a tool")
	ErrDuplicate = errors.New("the name is taken")
	ErrUnusable  = errors.New("the tool cannot be used")
)

// Add puts tools into the registry. Of those that cannot be added it joins the errors; the others are added.
func (r *Registry) Add(tools ...*tool.Tool) error { return r.mount("", tools, nil) }

// Mount adds tools under namespace, so that NAME is called namespace__NAME, in place of all that stood under
// it before: what a server or a directory offers now is all that it offers. Tools that stay keep the state
// and the guard that they were set to.
func (r *Registry) Mount(namespace string, tools ...*tool.Tool) error {
	if !validName(namespace) || strings.Contains(namespace, tool.Separator) {
		return fmt.Errorf("tool: namespace %q: %w: it holds 1 to %d letters, digits, points, hyphens and single "+
			"underscores", namespace, ErrName, maxName)
	}
	return r.mount(namespace, tools, r.take(namespace+tool.Separator))
}

// take removes the tools whose names begin with prefix and returns them.
func (r *Registry) take(prefix string) map[string]*Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := make(map[string]*Entry)
	for _, name := range slices.Clone(r.order) {
		if strings.HasPrefix(name, prefix) {
			kept[name] = r.entries[name]
			r.remove(name)
		}
	}
	return kept
}

func (r *Registry) mount(namespace string, tools []*tool.Tool, before map[string]*Entry) error {
	var errs []error
	for _, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tool: %w: it is nil", ErrUnusable))
			continue
		}
		e, err := newEntry(namespace, t)
		if err == nil {
			e.inherit(before[e.Tool.Name()])
			err = r.put(e)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("tool %q: %w", t.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// inherit takes over what old was set to. A nil old is none.
func (e *Entry) inherit(old *Entry) {
	if old == nil {
		return
	}
	if s, err := settle(e.Tool, old.State); old.stateSet && err == nil {
		e.State, e.stateSet = s, true
	}
	if old.guardSet {
		e.Guard, e.guardSet = old.Guard, true
	}
}

// newEntry checks a tool and prepares what its calls need.
func newEntry(namespace string, t *tool.Tool) (*Entry, error) {
	if err := t.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	for _, name := range append([]string{t.Name()}, t.Aliases...) {
		if err := checkName(name, t.Namespace); err != nil {
			return nil, err
		}
	}
	if t.Handler == nil && t.Batch == nil {
		return nil, fmt.Errorf("%w: it has no handler", ErrUnusable)
	}
	s, err := schema.Compile(t.Definition.Parameters)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if namespace != "" {
		moved := *t
		moved.Definition.Name, moved.Namespace = namespace+tool.Separator+t.Name(), namespace
		moved.Aliases = nil
		t = &moved
		if len(t.Name()) > maxName {
			return nil, fmt.Errorf("%w: with its namespace it is longer than %d bytes", ErrName, maxName)
		}
	}
	e := &Entry{Tool: t, State: t.State, Guard: t.Guard, Hash: Hash(t.Definition), schema: s}
	if e.State == tool.StateDefault {
		e.State = tool.StateEnabled
	}
	if t.Parallel > 0 {
		e.slots = make(chan struct{}, t.Parallel)
	}
	return e, nil
}

func (r *Registry) put(e *Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.insert(e)
}

// insert is put for who holds the lock.
func (r *Registry) insert(e *Entry) error {
	if r.entries == nil {
		r.entries, r.folded = make(map[string]*Entry), make(map[string]string)
	}
	names := append([]string{e.Tool.Name()}, e.Tool.Aliases...)
	for i, name := range names {
		other, ok := r.folded[fold(name)]
		if ok && (i > 0 || r.entries[other].Tool.Name() == other) {
			return fmt.Errorf("%w: by %s", ErrDuplicate, other)
		}
	}
	if other, ok := r.folded[fold(names[0])]; ok {
		delete(r.entries, other) // an alias gives way to a name
	}
	for _, name := range names {
		r.entries[name] = e
		r.folded[fold(name)] = name
	}
	r.order = append(r.order, e.Tool.Name())
	return nil
}

// Replace puts a tool in the place of the one that has its name, with the state and the guard that it brings;
// one that nobody has the name of is added.
func (r *Registry) Replace(t *tool.Tool) error {
	if t == nil {
		return fmt.Errorf("tool: %w: it is nil", ErrUnusable)
	}
	e, err := newEntry("", t)
	if err != nil {
		return fmt.Errorf("tool %q: %w", t.Name(), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old, order := r.entries[t.Name()], slices.Clone(r.order)
	if old != nil && old.Tool.Name() == t.Name() {
		r.remove(t.Name())
	}
	if err := r.insert(e); err != nil {
		if old != nil && old.Tool.Name() == t.Name() {
			if err := r.insert(old); err != nil {
				panic(err) // its names were free a moment ago
			}
			r.order = order
		}
		return fmt.Errorf("tool %q: %w", t.Name(), err)
	}
	if slices.Contains(order, t.Name()) {
		r.order = order
	}
	return nil
}

// Remove takes a tool out of the registry, and reports whether it was there.
func (r *Registry) Remove(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[name]
	if ok {
		r.remove(e.Tool.Name())
	}
	return ok
}

func (r *Registry) remove(name string) {
	for _, n := range r.names(r.entries[name]) {
		delete(r.entries, n)
		delete(r.folded, fold(n))
	}
	r.order = slices.DeleteFunc(r.order, func(n string) bool { return n == name })
}

// SetMissing says of which namespaces the tools are missing now, and why.
func (r *Registry) SetMissing(namespaces map[string]error) {
	r.mu.Lock()
	r.missing = namespaces
	r.mu.Unlock()
}

// Missing implements [Source].
func (r *Registry) Missing(name string) error {
	namespace, _, _ := strings.Cut(name, tool.Separator)
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.missing[namespace]
}

// Lookup returns what is known of the tool that is called name, which may be an alias.
func (r *Registry) Lookup(name string) (*Entry, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.entries[name]
	return e, ok
}

// Entries returns all tools in the order in which they were added.
func (r *Registry) Entries() []*Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]*Entry, len(r.order))
	for i, name := range r.order {
		list[i] = r.entries[name]
	}
	return list
}

// Set puts a tool into a state; StateDefault is that of the tool itself. It fails for a tool that is not
// there or cannot be in that state.
func (r *Registry) Set(name string, s tool.State) error {
	return r.change(name, func(e *Entry) error {
		settled, err := settle(e.Tool, s)
		e.State, e.stateSet = settled, s != tool.StateDefault
		return err
	})
}

// SetGuard gives a tool other rules of its own; nil: those that it came with.
func (r *Registry) SetGuard(name string, g *tool.Guard) error {
	return r.change(name, func(e *Entry) error {
		if e.Guard, e.guardSet = g, g != nil; g == nil {
			e.Guard = e.Tool.Guard
		}
		return nil
	})
}

// change replaces an entry by a changed copy.
func (r *Registry) change(name string, f func(*Entry) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.entries[name]
	if !ok {
		return &tool.Error{Kind: tool.ErrNotFound, Tool: name}
	}
	e := *old
	if err := f(&e); err != nil {
		return err
	}
	for _, n := range r.names(old) {
		r.entries[n] = &e
	}
	return nil
}

// names returns the names that lead to an entry: its own, and the aliases that are no other tool's name.
func (r *Registry) names(e *Entry) []string {
	return slices.DeleteFunc(append([]string{e.Tool.Name()}, e.Tool.Aliases...),
		func(n string) bool { return r.entries[n] != e })
}

// settle returns the state that s means for a tool.
func settle(t *tool.Tool, s tool.State) (tool.State, error) {
	if s == tool.StateDefault {
		if s = t.State; s == tool.StateDefault {
			s = tool.StateEnabled
		}
	}
	if t.States != nil && !slices.Contains(t.States, s) {
		return s, fmt.Errorf("tool %q does not support the state %s", t.Name(), s)
	}
	return s, nil
}

// Offered returns the definitions to show to a model that answers the given text of a user.
func (r *Registry) Offered(text string) []chat.Tool {
	return offered(r.Entries(), func(e *Entry) bool { return e.Tool.Auto.Matches(text) })
}

// offered returns the definitions of the tools that are enabled, and of those in state auto that fit.
func offered(entries []*Entry, fits func(*Entry) bool) []chat.Tool {
	var list []chat.Tool
	for _, e := range entries {
		if e.State == tool.StateEnabled || e.State == tool.StateAuto && fits(e) {
			list = append(list, e.Tool.Definition)
		}
	}
	return list
}

// Session returns a view of the registry in which states can be overridden for as long as it is used. What
// changes in the registry shows in it.
func (r *Registry) Session() *Session { return &Session{registry: r} }

// A Session is a view of a registry with states of its own. Several goroutines may use it at once.
type Session struct {
	registry *Registry
	mu       sync.RWMutex
	states   map[string]tool.State
	shown    map[string]bool // tools in state auto that were offered once
}

// Set overrides the state of a tool; StateDefault takes the override back.
func (s *Session) Set(name string, state tool.State) error {
	e, ok := s.registry.Lookup(name)
	if !ok {
		return &tool.Error{Kind: tool.ErrNotFound, Tool: name}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == tool.StateDefault {
		delete(s.states, e.Tool.Name())
		return nil
	}
	if _, err := settle(e.Tool, state); err != nil {
		return err
	}
	if s.states == nil {
		s.states = make(map[string]tool.State)
	}
	s.states[e.Tool.Name()] = state
	return nil
}

// Reset takes all overrides back.
func (s *Session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states, s.shown = nil, nil
}

// Missing implements [Source].
func (s *Session) Missing(name string) error { return s.registry.Missing(name) }

// Lookup returns what is known of the tool that is called name. A tool in state auto is not there before it
// was offered.
func (s *Session) Lookup(name string) (*Entry, bool) {
	e, ok := s.registry.Lookup(name)
	if !ok {
		return nil, false
	}
	e = s.apply(e)
	if e.State == tool.StateAuto {
		s.mu.RLock()
		defer s.mu.RUnlock()
		return e, s.shown[e.Tool.Name()]
	}
	return e, true
}

func (s *Session) apply(e *Entry) *Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state, ok := s.states[e.Tool.Name()]
	if !ok || state == e.State {
		return e
	}
	changed := *e
	changed.State = state
	return &changed
}

// Entries returns all tools in the order of the registry.
func (s *Session) Entries() []*Entry {
	list := s.registry.Entries()
	for i, e := range list {
		list[i] = s.apply(e)
	}
	return list
}

// Offered returns the definitions to show to a model that answers the given text of a user.
// One in state auto that was offered once stays there: the model has seen it.
func (s *Session) Offered(text string) []chat.Tool {
	entries := s.Entries()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if e.State == tool.StateAuto && e.Tool.Auto.Matches(text) {
			if s.shown == nil {
				s.shown = make(map[string]bool)
			}
			s.shown[e.Tool.Name()] = true
		}
	}
	return offered(entries, func(e *Entry) bool { return s.shown[e.Tool.Name()] })
}

// Hash returns the hash of a definition: of its name, its description and its schema, however that is laid out.
func Hash(d chat.Tool) string {
	h := sha256.New()
	for _, part := range []string{d.Name, d.Description, string(Canonical(string(d.Parameters)))} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxName limits the length of a name.
const maxName = 128

// reserved are names that programs in other languages take for something else.
var reserved = []string{"__proto__", "constructor", "prototype"}

// checkName checks the name of a tool. One with a namespace begins with that.
func checkName(name, namespace string) error {
	rest, within := strings.CutPrefix(name, namespace+tool.Separator)
	switch {
	case !validName(name):
		return fmt.Errorf("%w: %q: it holds 1 to %d letters, digits, points, hyphens and underscores", ErrName,
			value.Cut(name, maxName), maxName)
	case slices.Contains(reserved, name):
		return fmt.Errorf("%w: %s has a meaning of its own in JavaScript", ErrName, name)
	case namespace != "" && within && rest != "":
	case strings.Contains(name, tool.Separator):
		return fmt.Errorf("%w: %s: two underscores separate a namespace from a name; use Mount", ErrName, name)
	}
	return nil
}

func validName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// fold returns the form in which two names must differ: readers of calls take a point, a hyphen and an
// underscore for each other, and models do not keep capitals apart.
func fold(name string) string {
	return strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToLower(name))
}

// Canonical returns JSON text in the one form that hashes compare: members in order, no white space, one way to write
// each string. Numbers stay as they are written, so that two large ones that differ never look the same. Text that is
// no strict JSON stays as it is.
func Canonical(text string) []byte {
	v := jsontext.Value(text)
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return []byte(text)
	}
	return v
}
