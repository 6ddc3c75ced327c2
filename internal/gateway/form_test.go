package gateway

import (
	"context"
	"testing"

	"wield/chat"
)

// TestFormField: what is wrong with the form of an answer is told under the name that the client's protocol has for it.
func TestFormField(t *testing.T) {
	for _, tt := range []struct {
		f    *clientProtocol
		want string
	}{{completionsFront, "response_format"}, {responsesFront, "text.format"}, {messagesFront, "output_config.format"},
		{ollamaFront, "format"}} {
		x := &exchange{front: tt.f}
		f := x.modelFailure(context.Background(), &chat.Error{Kind: chat.ErrBadRequest, Param: "response_format"})
		if f.status != 400 || f.err.Param != tt.want {
			t.Errorf("%s: status %d, field %q, want %q", tt.f.name, f.status, f.err.Param, tt.want)
		}
	}
}
