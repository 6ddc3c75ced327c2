package compose

import (
	"strings"

	"wield/bridge"
	"wield/internal/config"
	"wield/wire/openai"
)

// autoHold says how a backend of each kind is held to the form of an answer if the file does not say. Of a kind that
// is not here it is not known that it can be.
var autoHold = map[string]bridge.Constraint{
	"openai":    bridge.ConstraintAuto,
	"responses": bridge.ConstraintAuto,
	"anthropic": bridge.ConstraintAuto,
	"ollama":    bridge.ConstraintOllama,
}

// holdOf says how the backend is held to the form of an answer.
func holdOf(b *config.Backend) bridge.Constraint {
	if b.Constrain != config.ConstrainAuto && b.Constrain != "" {
		return bridge.Constraint(b.Constrain)
	}
	if h, ok := autoHold[b.Kind]; ok {
		return h
	}
	return bridge.ConstraintNone
}

func (w *builder) hold(m *config.Model) bridge.Constraint {
	b := w.config.Backends[m.Backend]
	return holdOf(&b)
}

// counts reports whether it is found out by counting tokens that a model's server drops tools. Servers behind https are
// mostly services that charge for each request and say what they do not take.
func (w *builder) counts(m *config.Model) bool {
	b := w.config.Backends[m.Backend]
	return b.Kind == "openai" && strings.HasPrefix(string(b.URL), "http://")
}

// stops reports whether a model's server takes stop sequences.
func (w *builder) stops(m *config.Model) bool {
	return config.Kinds[w.config.Backends[m.Backend].Kind].Stops
}

// constrains has the words in which servers of the OpenAI protocol are asked for a form, where they are not the
// protocol's own.
var constrains = map[string]openai.Constrain{
	"vllm":     openai.ConstrainVLLM,
	"llamacpp": openai.ConstrainLlamaCPP,
}

// Constrain returns the words in which a backend of the OpenAI protocol is asked for a form.
func Constrain(b config.Backend) openai.Constrain { return constrains[b.Constrain] }
