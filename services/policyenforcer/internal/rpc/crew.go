package rpc

import (
	"sync"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// stay is how many goroutines of a stream wait for its next message: a new one
// would have to grow its stack again.
const stay = 4

// crew works on the messages of a stream, each in a goroutine of its own.
type crew struct {
	do      func(*policyv1.CheckToolCallsRequest)
	work    chan *policyv1.CheckToolCallsRequest
	waiting chan struct{}
	group   sync.WaitGroup
	ended   sync.Once
}

func newCrew(do func(*policyv1.CheckToolCallsRequest)) *crew {
	return &crew{do: do, work: make(chan *policyv1.CheckToolCallsRequest), waiting: make(chan struct{}, stay)}
}

// begin starts the work on a message.
func (c *crew) begin(req *policyv1.CheckToolCallsRequest) {
	select {
	case c.work <- req: // one that waits
	default:
		c.group.Go(func() { c.serve(req) })
	}
}

// serve works on a message, and on others when it may wait for them.
func (c *crew) serve(req *policyv1.CheckToolCallsRequest) {
	for more := true; more; {
		c.do(req)
		select {
		case c.waiting <- struct{}{}:
		default:
			return
		}
		req, more = <-c.work
		<-c.waiting
	}
}

// end waits until all messages are worked on. There can be no more.
func (c *crew) end() {
	c.ended.Do(func() { close(c.work) })
	c.group.Wait()
}
