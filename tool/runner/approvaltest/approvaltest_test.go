package approvaltest_test

import (
	"testing"

	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

func TestMemory(t *testing.T) {
	approvaltest.Run(t, func(*testing.T) runner.Approvals { return new(runner.MemoryApprovals) })
}
