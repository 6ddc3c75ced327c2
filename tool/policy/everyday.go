package policy

import _ "embed"

//go:embed testdata/common.yaml
var everyday string

// Everyday returns a configuration file with a policy for everyday work on a program: looking, building and
// testing run without a question, changes that others see are asked about, and what destroys is denied.
func Everyday() string { return everyday }
