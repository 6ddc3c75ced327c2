package journal_test

import (
	"testing"

	"go.uber.org/goleak"

	"wield/journal"
	"wield/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(_ *testing.T, o journal.Options) journal.Store { return &journal.Memory{Options: o} })
}
