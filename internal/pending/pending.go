// Package pending pairs results with the calls of a turn that they answer.
package pending

import "wield/chat"

// Calls are the calls of a turn, of which results take one after another. Any number of results takes time
// that is linear in their number, in whatever order they come. The zero value has no calls.
type Calls struct {
	calls  []chat.Call
	first  int    // those before it are taken
	taken  []bool // of the others; nil: none is
	byID   map[string][]int
	byName map[string][]int
}

// Of returns the calls of a turn.
func Of(calls []chat.Call) Calls { return Calls{calls: calls} }

// Take takes the first call that a result answers which has this id; without an id the first one of this
// name, or the first one if the result has no name either. It returns nil if there is none.
func (p *Calls) Take(id, name string) *chat.Call {
	for p.taken != nil && p.first < len(p.calls) && p.taken[p.first] {
		p.first++
	}
	if p.first == len(p.calls) {
		return nil
	}
	c := &p.calls[p.first]
	if id != "" && c.ID != id || id == "" && name != "" && c.Name != name {
		return p.find(id, name)
	}
	p.first++
	return c
}

// find takes a call behind the first one. Results mostly come in the order of the calls, so that there is no
// index until one does not.
func (p *Calls) find(id, name string) *chat.Call {
	if p.taken == nil {
		p.index()
	}
	index, key := p.byID, id
	if id == "" {
		index, key = p.byName, name
	}
	list := index[key]
	for len(list) > 0 && (list[0] < p.first || p.taken[list[0]]) {
		list = list[1:]
	}
	index[key] = list
	if len(list) == 0 {
		return nil
	}
	p.taken[list[0]] = true
	return &p.calls[list[0]]
}

func (p *Calls) index() {
	p.taken, p.byID, p.byName = make([]bool, len(p.calls)), make(map[string][]int), make(map[string][]int)
	for i := p.first; i < len(p.calls); i++ {
		c := &p.calls[i]
		p.byID[c.ID], p.byName[c.Name] = append(p.byID[c.ID], i), append(p.byName[c.Name], i)
	}
}
