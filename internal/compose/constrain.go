package compose

import (
	"wield/bridge"
	"wield/internal/config"
	"wield/wire/openai"
)

// autoHold says how a backend of each kind is held to the form of an answer if the file does not say. Of a kind that is not
// here it is not known that it can be.
var autoHold = map[string]bridge.Hold{
	"openai":    bridge.HoldAuto,
	"responses": bridge.HoldAuto,
	"anthropic": bridge.HoldAuto,
	"ollama":    bridge.HoldOllama,
}

// hold says how the backend is held to the form of an answer.
func holdOf(b *config.Backend) bridge.Hold {
	if b.Constrain != config.ConstrainAuto && b.Constrain != "" {
		return bridge.Hold(b.Constrain)
	}
	if h, ok := autoHold[b.Kind]; ok {
		return h
	}
	return bridge.HoldNone
}

func (w *builder) hold(m *config.Model) bridge.Hold {
	b := w.config.Backends[m.Backend]
	return holdOf(&b)
}

// constrains has the words in which servers of the OpenAI protocol are asked for a form, where they are not the protocol's own.
var constrains = map[string]openai.Constrain{
	"vllm":     openai.ConstrainVLLM,
	"llamacpp": openai.ConstrainLlamaCPP,
}
