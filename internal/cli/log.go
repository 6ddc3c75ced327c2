package cli

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
)

var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"text", "json"}
)

// LogFlags choose how a command logs.
type LogFlags struct {
	level, format string
}

// Add defines the flags. Their defaults come from the environment.
func (f *LogFlags) Add(cmd *cobra.Command, app *App) {
	level, format := app.Getenv("WIELD_LOG_LEVEL"), app.Getenv("WIELD_LOG_FORMAT")
	if level == "" {
		level = "info"
	}
	if format == "" {
		format = "text"
	}
	cmd.Flags().StringVar(&f.level, "log-level", level, "lowest `LEVEL` to log: "+strings.Join(LogLevels, ", "))
	cmd.Flags().StringVar(&f.format, "log-format", format, "`FORMAT` of the log: "+strings.Join(LogFormats, ", "))
}

// Logger returns the logger that the flags ask for. It never sees the text of conversations: nothing logs them.
func (f *LogFlags) Logger(w io.Writer) (*slog.Logger, error) {
	if !slices.Contains(LogLevels, f.level) {
		return nil, UsageErrorf("--log-level: %q is none of %s", f.level, strings.Join(LogLevels, ", "))
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return nil, err
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, UsageErrorf("--log-format: %q is none of %s", f.format, strings.Join(LogFormats, ", "))
}

// A hider hides the secrets of the configuration in force, once there is one.
type hider struct {
	how atomic.Pointer[func(string) string]
}

func (h *hider) set(how func(string) string) { h.how.Store(&how) }

func (h *hider) hide(text string) string {
	if how := h.how.Load(); how != nil {
		return (*how)(text)
	}
	return text
}

// A hidingWriter hides secrets in what is written, a line or more at a time.
type hidingWriter struct {
	to      io.Writer
	secrets *hider
}

// Write implements io.Writer.
func (w hidingWriter) Write(p []byte) (int, error) {
	text := string(p)
	if hidden := w.secrets.hide(text); hidden != text {
		if _, err := io.WriteString(w.to, hidden); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return w.to.Write(p)
}

// Bare returns what is behind a hidingWriter, for a program that has the terminal to itself and may leave others behind
// that hold it.
func Bare(w io.Writer) io.Writer {
	if h, ok := w.(hidingWriter); ok {
		return h.to
	}
	return w
}
