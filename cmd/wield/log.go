package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
)

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"text", "json"}
)

// logFlags choose how a command logs.
type logFlags struct {
	level, format string
}

// add defines the flags. Their defaults come from the environment.
func (f *logFlags) add(cmd *cobra.Command, app *app) {
	level, format := app.getenv("WIELD_LOG_LEVEL"), app.getenv("WIELD_LOG_FORMAT")
	if level == "" {
		level = "info"
	}
	if format == "" {
		format = "text"
	}
	cmd.Flags().StringVar(&f.level, "log-level", level, "least `LEVEL` to log: "+strings.Join(logLevels, ", "))
	cmd.Flags().StringVar(&f.format, "log-format", format, "`FORM` of the log: "+strings.Join(logFormats, ", "))
}

// logger returns the logger that the flags ask for. It never sees secrets or the text of conversations:
// nothing logs them.
func (f *logFlags) logger(w io.Writer) (*slog.Logger, error) {
	if !slices.Contains(logLevels, f.level) {
		return nil, usageErrorf("--log-level: %q is none of %s", f.level, strings.Join(logLevels, ", "))
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
	return nil, usageErrorf("--log-format: %q is none of %s", f.format, strings.Join(logFormats, ", "))
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
