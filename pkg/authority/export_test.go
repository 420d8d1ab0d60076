package authority

// RuledOps counts the operations that have a rule.
func RuledOps() int { return len(rules) }
