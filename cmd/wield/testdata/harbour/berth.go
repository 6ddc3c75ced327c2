// Package harbour gives boats their berths.
package harbour

// Berth returns the berth of the boat that comes as the n-th, counted from 1, in a harbour with so many berths.
func Berth(n, berths int) int {
	return n % berths
}
