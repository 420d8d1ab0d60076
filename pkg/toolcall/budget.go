package toolcall

import "fmt"

// BudgetSpent reports that results of spent bytes leave no room for a further
// call (S3.7). A budget of 0 is none.
func BudgetSpent(spent, budget int64) bool { return budget > 0 && spent >= budget }

// BudgetWarning is what a result says from 90 % of the budget on, or empty.
func BudgetWarning(spent, budget int64) string {
	switch {
	case BudgetSpent(spent, budget):
		return fmt.Sprintf("The budget of %d bytes of tool results in this state is spent: the next call is denied. Move on with an event.", budget)
	case budget > 0 && budget-spent <= budget/10:
		return fmt.Sprintf("%d of the %d bytes of tool results that this state may have are spent. Read less, or move on with an event.",
			spent, budget)
	default:
		return ""
	}
}
