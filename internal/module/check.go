package module

import (
	"context"
	"fmt"
	"log/slog"
)

// Check runs the output of m over text at once and in pieces of every size up to 9 bytes, and reports the first
// difference: what comes out must not depend on how a model's text happens to be cut. It is for tests of modules.
func Check(ctx context.Context, m Module, text string) error {
	if m.Output == nil {
		return nil
	}
	want := run(ctx, m, text, len(text))
	for size := 1; size < min(10, len(text)); size++ {
		if got := run(ctx, m, text, size); got != want {
			return fmt.Errorf("module %s: pieces of %d bytes of %q give %q, the whole gives %q", m.Name, size, text,
				got, want)
		}
	}
	return nil
}

// run returns what m makes of a text in pieces of a size.
func run(ctx context.Context, m Module, text string, size int) string {
	o := output{ctx: ctx, x: &Exchange{Meta: make(map[string]string)},
		o: &Options{MaxPending: defaultPending, Log: slog.New(slog.DiscardHandler)}}
	s := stage{module: &m, t: m.Output(o.x)}
	o.stages = []stage{s}
	defer o.close()
	var out string
	for i := 0; i < len(text); i += size {
		out += o.pass(text[i:min(i+size, len(text))], false)
	}
	return out + o.pass("", true)
}
