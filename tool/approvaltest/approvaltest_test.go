package approvaltest_test

import (
	"testing"

	"wield/tool"
	"wield/tool/approvaltest"
)

func TestMemory(t *testing.T) {
	approvaltest.Run(t, func(*testing.T) tool.Approvals { return new(tool.MemoryApprovals) })
}
