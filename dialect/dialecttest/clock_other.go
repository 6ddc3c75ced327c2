//go:build !linux

package dialecttest

import "time"

// began is the origin of all times.
var began = time.Now()

// threadTime returns the time that has passed. What the thread was given of it would be better, but is not told
// everywhere.
func threadTime() time.Duration { return time.Since(began) }
