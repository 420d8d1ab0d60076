package rpc

import "strings"

// stops are the calls that only stop or remove something, or decide on that: a store that is
// nearly full still takes them.
var stops = map[string]bool{
	"CancelRun": true, "PauseRun": true, "StopSession": true, "AttachPolicy": true, "DetachPolicy": true,
	"DecideApproval": true, "DecideApprovals": true, "CancelApproval": true, "VoidApproval": true, "RevokeLease": true,
	"SettleApproval": true, "SettleToolCall": true, "UnlockState": true, "FailTask": true,
	"DeleteState": true, "DeleteSession": true, "DeletePolicy": true, "DeleteAgent": true, "DeleteComponent": true,
}

// onlyStops returns whether a full method name is that of such a call.
func onlyStops(fullMethod string) bool {
	return stops[fullMethod[strings.LastIndexByte(fullMethod, '/')+1:]]
}
