package stage

import (
	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

const (
	auditArch   = sys.AUDIT_ARCH_AARCH64
	highestCall = 0
)

// refusedHere are refused calls that this architecture alone has.
var refusedHere []uint32
