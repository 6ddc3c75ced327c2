package dialecttest

// TB is the part of testing.TB that Run needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
}

// Run checks every case with Case.Check and reports what fails to t.
func Run(t TB, cases []Case) {
	t.Helper()
	s := new(Suite)
	for i := range cases {
		if err := s.check(&cases[i]); err != nil {
			t.Errorf("%s: %v", cases[i].ID, err)
		}
	}
}
