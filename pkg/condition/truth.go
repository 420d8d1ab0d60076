package condition

// Truth is the result of a condition. The zero Truth is Doubt: a result that was not computed
// is in doubt.
type Truth uint8

// The three truths (S21.2).
const (
	// Doubt is the result where a value is missing, has the wrong kind, or can be read in
	// two ways. Each list of rules handles it in its own way.
	Doubt Truth = iota
	False
	True
)

// Of returns the truth of a fact that is known.
func Of(holds bool) Truth {
	if holds {
		return True
	}
	return False
}

// Not returns the opposite; that of doubt is doubt.
func (t Truth) Not() Truth {
	switch t {
	case True:
		return False
	case False:
		return True
	default:
		return Doubt
	}
}

// And returns True if both are, False if one is, and else Doubt.
func (t Truth) And(u Truth) Truth {
	switch {
	case t == False || u == False:
		return False
	case t == True && u == True:
		return True
	default:
		return Doubt
	}
}

// Or returns True if one is, False if both are, and else Doubt.
func (t Truth) Or(u Truth) Truth { return t.Not().And(u.Not()).Not() }

// String returns the word for messages and logs.
func (t Truth) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "doubt"
	}
}

// Stance is the effect of the rule around a condition: it picks the quantifier over several values, the
// reading of a value that has two, and the result for a call that has no such value (S21.3).
type Stance uint8

// The stances. The zero Stance is the strict one.
const (
	// Restricts is the stance of deny, ask and approval terms: one value that matches, in
	// one of its readings, is enough.
	Restricts Stance = 0
	// Requires is the stance of calls, and of not and unless in a restriction: each value must match, in
	// each of its readings. A call that is known to have no value of a facet meets it.
	Requires Stance = allowing
	// Allows is the stance of allow, leases and evidence: as Requires, but there must be a value.
	Allows Stance = allowing | granting
)

const (
	allowing Stance = 1 << iota
	granting
)

// Opposite returns the stance under not and unless.
func (s Stance) Opposite() Stance { return s ^ allowing }

// allows reports a stance in which a match lets the call pass.
func (s Stance) allows() bool { return s&allowing != 0 }
