package chat

// Pending pairs the results of a turn with its calls: results take one call after another. Any number of results takes
// time that is linear in their number, in whatever order they come.
type Pending struct {
	Calls  []Call // of the turn
	first  int    // those before it are taken
	taken  []bool // of the others; nil: none is
	byID   map[string][]int
	byName map[string][]int
}

// Take takes the first call that a result answers which has this id; without an id the first one of this
// name, or the first one if the result has no name either. It returns nil if there is none.
func (p *Pending) Take(id, name string) *Call {
	for p.taken != nil && p.first < len(p.Calls) && p.taken[p.first] {
		p.first++
	}
	if p.first == len(p.Calls) {
		return nil
	}
	c := &p.Calls[p.first]
	if id != "" && c.ID != id || id == "" && name != "" && c.Name != name {
		return p.find(id, name)
	}
	p.first++
	return c
}

// find takes a call behind the first one. Results mostly come in the order of the calls, so that there is no
// index until one does not.
func (p *Pending) find(id, name string) *Call {
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
	return &p.Calls[list[0]]
}

func (p *Pending) index() {
	p.taken, p.byID, p.byName = make([]bool, len(p.Calls)), make(map[string][]int), make(map[string][]int)
	for i := p.first; i < len(p.Calls); i++ {
		c := &p.Calls[i]
		p.byID[c.ID], p.byName[c.Name] = append(p.byID[c.ID], i), append(p.byName[c.Name], i)
	}
}
