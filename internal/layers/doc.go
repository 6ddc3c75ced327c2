// Package layers holds no code, only tests that keep the order of the packages: which may import which, and how
// little a program that imports a library package has to compile. The reasons for the order are in
// docs/architecture.md.
package layers
