package engine

import "github.com/interlock-run/interlock/pkg/bus"

// ConsumeApproval handles an event as the durable consumer of approvals does.
func (e *Engine) ConsumeApproval() bus.Handler { return e.approvals().Handler }
