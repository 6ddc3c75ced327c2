package compose

import (
	"path/filepath"

	"wield/internal/capture"
	"wield/internal/config"
)

// Captures returns what keeps exchanges as the configuration says, or nil if nothing is to be kept.
func Captures(c *config.Config, getenv func(string) string) (*capture.Ring, error) {
	o := capture.Options{Keep: c.Capture.Keep, Hide: c.Hide(getenv)}
	switch c.Capture.Requests {
	case "off":
		return nil, nil
	case "auto":
		if !c.Listen.Loopback() {
			return nil, nil
		}
	case "disk":
		o.Dir = CaptureDir(c, getenv)
	}
	return capture.New(o)
}

// CaptureDir returns the directory of captures on disk.
func CaptureDir(c *config.Config, getenv func(string) string) string {
	return filepath.Join(c.DataDir(getenv), "captures")
}
