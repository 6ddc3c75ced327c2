// Package docs holds no code of the program, only the check that keeps its pages true: every block of shell in
// README.md and docs/ is run as written, files that a page shows are written and read, and links lead somewhere.
// docs/CONTRIBUTING.md tells how a block is marked.
package docs
