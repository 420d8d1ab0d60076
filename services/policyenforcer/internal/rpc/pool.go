package rpc

// mostIdle bounds the goroutines that wait for more work. A new goroutine has to grow its stack again, which
// takes a sixth of the time of a check.
const mostIdle = 256

// pool runs work concurrently, in goroutines that it keeps for more work. Each runs one function at a time.
type pool struct {
	work  chan func()
	idle  chan struct{}
	ended chan struct{}
}

func newPool() *pool {
	return &pool{work: make(chan func()), idle: make(chan struct{}, mostIdle), ended: make(chan struct{})}
}

// end ends the idle goroutines. Later work is still done.
func (p *pool) end() { close(p.ended) }

// begin starts a function. It never waits.
func (p *pool) begin(do func()) {
	select {
	case p.work <- do: // to an idle one
	default:
		go p.serve(do)
	}
}

// serve runs a function, and more functions if the goroutine may be idle between them.
func (p *pool) serve(do func()) {
	for {
		do()
		select {
		case p.idle <- struct{}{}:
		default:
			return
		}
		select {
		case do = <-p.work:
			<-p.idle
		case <-p.ended:
			return
		}
	}
}
