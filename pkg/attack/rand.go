package attack

// Rand draws numbers that follow from a seed alone, on every machine and with every version
// of Go: a schedule is the same wherever it is drawn. It is splitmix64.
type Rand struct{ state uint64 }

// NewRand begins where a seed says.
func NewRand(seed uint64) *Rand { return &Rand{state: seed} }

func (r *Rand) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// N returns a number from 0 to n-1; 0 for n below 2.
func (r *Rand) N(n int) int {
	if n < 2 {
		return 0
	}
	return int(r.next() % uint64(n)) //nolint:gosec // below n
}

// Chance returns true in percent of the draws.
func (r *Rand) Chance(percent int) bool { return r.N(100) < percent }

// pick returns one of a list; the zero value of an empty one.
func pick[T any](r *Rand, all []T) (one T) {
	if len(all) == 0 {
		return one
	}
	return all[r.N(len(all))]
}
