package bridge

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"

	"wield/bridge/internal/grammar"
	"wield/chat"
	"wield/prompt"
)

// grammars keeps the forms that hold calls in a dialect, since a client offers the same tools again and again. The
// zero value is ready, and safe for concurrent use.
type grammars struct {
	mu   sync.Mutex
	kept []cachedGrammar
}

// cachedGrammar is a form and what it was made of.
type cachedGrammar struct {
	dialect string
	tools   []tool
	must    bool
	most    int
	behind  string
	form    *chat.Format // nil: these calls cannot be held
}

// maxGrammars limits the forms that are kept.
const maxGrammars = 32

// find returns what is known of calls like these.
func (g *grammars) find(want cachedGrammar) (*chat.Format, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.kept {
		k := &g.kept[i]
		if k.dialect == want.dialect && k.must == want.must && k.most == want.most && k.behind == want.behind &&
			slices.Equal(k.tools, want.tools) {
			return k.form, true
		}
	}
	return nil, false
}

func (g *grammars) keep(h cachedGrammar) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.kept) == maxGrammars {
		g.kept = slices.Delete(g.kept, 0, 1)
	}
	g.kept = append(g.kept, h)
}

// grammar returns the form that holds calls of the tools in the dialect that the model is taught, nil if the
// backend or the dialect has none.
func (r *run) grammar(must bool) *chat.Format {
	if constraints[r.o.Constraint].grammar == noLanguage ||
		r.mode == ModeText && (r.o.Prompt.Dialect == prompt.PTK || r.o.Prompt.ForTools != "") {
		return nil // instructions of the user's own may teach anything
	}
	h := cachedGrammar{dialect: r.taught(), tools: r.tools, must: must, most: r.most()}
	if must && r.opens() {
		h.behind = cmp.Or(r.o.Decode.Thinking.Closer, "</think>")
	}
	if f, ok := r.grammars.find(h); ok {
		return f
	}
	h.tools, h.form = slices.Clone(r.tools), r.newGrammar(h)
	r.grammars.keep(h)
	return h.form
}

// grammarOptions says which calls are written.
func (r *run) grammarOptions(h cachedGrammar) grammar.Options {
	o := grammar.Options{Dialect: r.taught(), Required: h.must, MaxCalls: h.most, Behind: h.behind,
		Decoders: r.o.Decode.Cache}
	schemas := make(map[string]json.RawMessage, len(r.req.Tools))
	for _, t := range slices.Backward(r.req.Tools) { // the first of a name counts
		schemas[t.Name] = t.Parameters
	}
	for _, t := range r.tools {
		if t.hidden {
			continue
		}
		o.Tools = append(o.Tools, grammar.Tool{Name: r.prefix() + t.name, Args: t.shape,
			Schema: schemas[t.name], Syntax: t.syntax, Definition: t.definition})
	}
	return o
}

// textGrammars takes the grammars of freeform tools over, as long as they do not cost too much together.
func textGrammars(tools []tool, offered []chat.Tool) {
	cost := 0
	for i := range offered {
		t := &offered[i]
		if more := grammar.Cost(t.Grammar); cost+more <= grammar.MaxCost { // of others the model is told
			cost += more
			tools[i].syntax, tools[i].definition = t.Syntax, t.Grammar
		}
	}
}

func (r *run) newGrammar(h cachedGrammar) *chat.Format {
	g, err := grammar.New(r.grammarOptions(h))
	if err != nil {
		return nil // the model is told, and its calls are checked
	}
	f := &chat.Format{Kind: chat.FormatGrammar, Name: callsName}
	if constraints[r.o.Constraint].grammar == structural {
		tag, ok := g.StructuralTag()
		if !ok {
			return nil
		}
		f.Grammar = string(tag)
	} else {
		if f.Grammar, err = g.GBNF(); err != nil {
			return nil
		}
	}
	return f
}
