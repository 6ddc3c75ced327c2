package policy

import "testing"

// TestProgramsText reads the table, which panics in use if it is broken.
func TestProgramsText(t *testing.T) {
	table, _, err := readPrograms(programsText)
	if err != nil {
		t.Fatal(err)
	}
	if len(table) < 400 {
		t.Errorf("only %d programs: has a part of the table been lost?", len(table))
	}
}
