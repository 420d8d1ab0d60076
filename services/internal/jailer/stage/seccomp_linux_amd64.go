package stage

import (
	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

const (
	auditArch   = sys.AUDIT_ARCH_X86_64
	highestCall = 0x40000000
)

// refusedHere are refused calls that this architecture alone has.
var refusedHere = []uint32{sys.SYS_IOPL, sys.SYS_IOPERM, sys.SYS_MODIFY_LDT, sys.SYS_USELIB, sys.SYS_CREATE_MODULE, sys.SYS__SYSCTL}
