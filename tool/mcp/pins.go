package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"wield/tool/atomicfile"
)

// Pins keep the definitions of tools as they were when they were first seen, in a file. Their methods may be
// called by several goroutines; nil keeps nothing.
type Pins struct {
	File string

	mu sync.Mutex
}

// pinned is the content of the file: by server and tool, what was agreed to, and what a server says now if that
// is something else.
type pinned struct {
	Servers map[string]map[string]*Pin `json:"servers"`
}

// A Pin is a tool whose definition is kept.
type Pin struct {
	Agreed Definition  `json:"agreed"`
	Now    *Definition `json:"now,omitempty"` // it has changed to this
}

// Check pins what is new, and returns the names of the tools that have changed since they were agreed to.
func (p *Pins) Check(server string, defs []Definition) (held []string, err error) {
	if p == nil {
		return nil, nil
	}
	err = p.update(func(all *pinned) (bool, error) {
		of := all.Servers[server]
		if of == nil {
			of = map[string]*Pin{}
			all.Servers[server] = of
		}
		dirty := false
		for i := range defs {
			d := &defs[i]
			pin := of[d.Name]
			switch {
			case pin == nil:
				of[d.Name], dirty = &Pin{Agreed: *d}, true
			case pin.Agreed.Hash() == d.Hash():
				dirty = dirty || pin.Now != nil
				pin.Now = nil
			default:
				held = append(held, d.Name)
				dirty = dirty || pin.Now == nil || pin.Now.Hash() != d.Hash()
				pin.Now = d
			}
		}
		return dirty, nil
	})
	return held, err
}

// Changed returns the tools of a server that are held back.
func (p *Pins) Changed(server string) (map[string]Pin, error) {
	list := map[string]Pin{}
	err := p.update(func(all *pinned) (bool, error) {
		for name, pin := range all.Servers[server] {
			if pin.Now != nil {
				list[name] = *pin
			}
		}
		return false, nil
	})
	return list, err
}

// Agreed returns what was agreed to of a server, in the order of the names.
func (p *Pins) Agreed(server string) (list []Definition, err error) {
	if p == nil {
		return nil, nil
	}
	err = p.update(func(all *pinned) (bool, error) {
		of := all.Servers[server]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			list = append(list, of[name].Agreed)
		}
		return false, nil
	})
	return list, err
}

// Accept agrees to what tools of a server are now; without names, to all of them.
func (p *Pins) Accept(server string, names ...string) error {
	return p.update(func(all *pinned) (bool, error) {
		of := all.Servers[server]
		if len(names) == 0 {
			for name := range maps.Keys(of) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			pin := of[name]
			if pin == nil {
				return false, fmt.Errorf("mcp server %s: no tool %s was ever seen", server, name)
			}
			if pin.Now != nil {
				pin.Agreed, pin.Now = *pin.Now, nil
			}
		}
		return true, nil
	})
}

// AcceptExactly agrees to what a tool of a server is now, if that is the definition with a hash. It reports false
// otherwise.
func (p *Pins) AcceptExactly(server, name, hash string) (ok bool, err error) {
	err = p.update(func(all *pinned) (bool, error) {
		pin := all.Servers[server][name]
		if pin == nil || pin.Now == nil || pin.Now.Hash() != hash {
			return false, nil
		}
		pin.Agreed, pin.Now, ok = *pin.Now, nil, true
		return true, nil
	})
	return ok, err
}

// Forget drops what is kept of a server.
func (p *Pins) Forget(server string) error {
	return p.update(func(all *pinned) (bool, error) {
		_, ok := all.Servers[server]
		delete(all.Servers, server)
		return ok, nil
	})
}

// update reads the file, and writes it if change reports that something is another than before.
func (p *Pins) update(change func(*pinned) (bool, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := &pinned{}
	data, err := os.ReadFile(p.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, all); err != nil {
			return fmt.Errorf("%s: %w", p.File, err)
		}
	}
	if all.Servers == nil {
		all.Servers = map[string]map[string]*Pin{}
	}
	dirty, err := change(all)
	if err != nil || !dirty {
		return err
	}
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.File), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(p.File, append(data, '\n'), 0o600)
}
