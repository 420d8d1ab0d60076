package rpc

// stay is how many goroutines wait for more work: a new one would have to grow its
// stack again, which takes a sixth of the time of a check.
const stay = 256

// crew works on things at once, each in a goroutine that does nothing else in the meantime.
type crew struct {
	work    chan func()
	waiting chan struct{}
	ended   chan struct{}
}

func newCrew() *crew {
	return &crew{work: make(chan func()), waiting: make(chan struct{}, stay), ended: make(chan struct{})}
}

// end lets no goroutine wait any more. What begins afterwards is still done.
func (c *crew) end() { close(c.ended) }

// begin starts the work on something. It never waits.
func (c *crew) begin(do func()) {
	select {
	case c.work <- do: // to one that waits
	default:
		go c.serve(do)
	}
}

// serve does something, and more when it may wait for that.
func (c *crew) serve(do func()) {
	for {
		do()
		select {
		case c.waiting <- struct{}{}:
		default:
			return
		}
		select {
		case do = <-c.work:
			<-c.waiting
		case <-c.ended:
			return
		}
	}
}
