//go:build linux && !amd64 && !arm64

package sandbox

// No filter has been written, and tried, for this kind of processor.
const (
	auditArch     = 0
	secondNumbers = 0
)

var moreRefusals []refusal
