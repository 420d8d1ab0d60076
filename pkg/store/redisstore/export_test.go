package redisstore

// Waiting is how many commits wait for their turn, over all lanes.
func (s *Store) Waiting() int { return s.sum(func(l *lane) int { return len(l.queue) }) }

// Flying is how many flights are under way, over all lanes.
func (s *Store) Flying() int { return s.sum(func(l *lane) int { return l.flying }) }

func (s *Store) sum(of func(*lane) int) int {
	sum, seen := 0, map[*lane]bool{}
	for _, l := range s.lanes {
		if !seen[l] {
			seen[l] = true
			l.mu.Lock()
			sum += of(l)
			l.mu.Unlock()
		}
	}
	return sum
}
