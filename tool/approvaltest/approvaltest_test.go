package approvaltest_test

import (
	"testing"

	"wield/tool/approvaltest"
	"wield/tool/runner"
)

func TestMemory(t *testing.T) {
	approvaltest.Run(t, func(*testing.T) runner.Approvals { return new(runner.MemoryApprovals) })
}
