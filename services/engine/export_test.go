package engine

import "github.com/interlock-run/interlock/pkg/bus"

// ObeyApproval handles an event as the durable consumer of approvals does.
func (e *Engine) ObeyApproval() bus.Handler { return e.approvals().Handler }
