package config

import (
	"wield/bridge"
	"wield/wire/openai"
)

// The value of backends.NAME.constrain that leaves it to the backend's kind.
const constrainAuto = "auto"

// autoHold says how a backend of each kind is held to the form of an answer if the file does not say. Of a kind that is not
// here it is not known that it can be.
var autoHold = map[string]bridge.Hold{
	"openai":    bridge.HoldAuto,
	"responses": bridge.HoldAuto,
	"anthropic": bridge.HoldAuto,
	"ollama":    bridge.HoldOllama,
}

// hold says how the backend is held to the form of an answer.
func (b *Backend) hold() bridge.Hold {
	if b.Constrain != constrainAuto && b.Constrain != "" {
		return bridge.Hold(b.Constrain)
	}
	if h, ok := autoHold[b.Kind]; ok {
		return h
	}
	return bridge.HoldNone
}

func (w *workshop) hold(m *Model) bridge.Hold {
	b := w.config.Backends[m.Backend]
	return b.hold()
}

// constrains has the words in which servers of the OpenAI protocol are asked for a form, where they are not the protocol's own.
var constrains = map[string]openai.Constrain{
	"vllm":     openai.ConstrainVLLM,
	"llamacpp": openai.ConstrainLlamaCPP,
}
