package cli

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestTerminalIsSpared_cmd211: nothing that a tool says moves the cursor of a terminal, writes its clipboard or
// hides, however it is cut into pieces.
func TestTerminalIsSpared_cmd211(t *testing.T) {
	said := "a\tb\n\x1b]52;c;aGk=\a\x1b[2K\x1b[1A\r\u202egnp.exe\u200b \u009b31m é 日本 😀 \xff\xe2\x82"
	want := "a\tb\n" + `\x1b]52;c;aGk=\x07\x1b[2K\x1b[1A\x0d\u{202e}gnp.exe\u{200b} \u{9b}31m é 日本 😀 \xff\xe2\x82`
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(said),
		"by bytes":  iotest.OneByteReader(strings.NewReader(said)),
		"by halves": iotest.HalfReader(strings.NewReader(said))} {
		var b strings.Builder
		w := &PlainWriter{W: &b}
		if _, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, 7)); err != nil {
			t.Fatal(err)
		}
		w.End()
		if b.String() != want {
			t.Errorf("%s: %q, want %q", name, b.String(), want)
		}
	}
}
