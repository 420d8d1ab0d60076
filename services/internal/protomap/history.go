package protomap

import enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"

// historyWords are the types of history entries as the core and JSON know them.
var historyWords = map[enginev1.HistoryType]string{
	enginev1.HistoryType_HISTORY_TYPE_STARTED:            "started",
	enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED:       "transitioned",
	enginev1.HistoryType_HISTORY_TYPE_INTERRUPT_FIRED:    "interrupt.fired",
	enginev1.HistoryType_HISTORY_TYPE_FORK_STARTED:       "fork.started",
	enginev1.HistoryType_HISTORY_TYPE_FORK_BRANCH_BOUND:  "fork.branch_bound",
	enginev1.HistoryType_HISTORY_TYPE_INVOKE_STARTED:     "invoke.started",
	enginev1.HistoryType_HISTORY_TYPE_INVOKE_ENDED:       "invoke.ended",
	enginev1.HistoryType_HISTORY_TYPE_FORCED:             "forced",
	enginev1.HistoryType_HISTORY_TYPE_PAUSED:             "paused",
	enginev1.HistoryType_HISTORY_TYPE_HELD:               "held",
	enginev1.HistoryType_HISTORY_TYPE_HOLD_LIFTED:        "hold.lifted",
	enginev1.HistoryType_HISTORY_TYPE_RESUMED:            "resumed",
	enginev1.HistoryType_HISTORY_TYPE_CANCELLED:          "cancelled",
	enginev1.HistoryType_HISTORY_TYPE_APPROVAL_PARKED:    "approval.parked",
	enginev1.HistoryType_HISTORY_TYPE_APPROVAL_REJECTED:  "approval.rejected",
	enginev1.HistoryType_HISTORY_TYPE_APPROVAL_EXPIRED:   "approval.expired",
	enginev1.HistoryType_HISTORY_TYPE_APPROVAL_CANCELLED: "approval.cancelled",
	enginev1.HistoryType_HISTORY_TYPE_APPROVAL_STALE:     "approval.stale",
	enginev1.HistoryType_HISTORY_TYPE_TOOL_RESULT:        "tool_result",
	enginev1.HistoryType_HISTORY_TYPE_MIGRATED:           "migrated",
	enginev1.HistoryType_HISTORY_TYPE_REMINDED:           "reminded",
	enginev1.HistoryType_HISTORY_TYPE_STALE:              "stale",
	enginev1.HistoryType_HISTORY_TYPE_TIMER_BLOCKED:      "timer.blocked",
}

var historyTypes = func() map[string]enginev1.HistoryType {
	types := make(map[string]enginev1.HistoryType, len(historyWords))
	for value, word := range historyWords {
		types[word] = value
	}
	return types
}()

// HistoryType returns the contract's value for the type of a history entry.
func HistoryType(word string) enginev1.HistoryType { return historyTypes[word] }

// HistoryWord returns the word for the type of a history entry. One that this build does
// not know has the contract's name.
func HistoryWord(t enginev1.HistoryType) string {
	if word, known := historyWords[t]; known {
		return word
	}
	return t.String()
}
