//go:build !unix

package mcp

import "time"

// used returns 0: the processor time is measured on Unix only.
func used() time.Duration { return 0 }
