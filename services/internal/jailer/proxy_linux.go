package jailer

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/interlock-run/interlock/pkg/jail"
)

// proxy is the only way of a command to hosts.
type proxy struct {
	stop context.CancelFunc
	// done is closed when the proxy has ended; asked and err are complete then.
	done  chan struct{}
	asked []jail.Asked
	err   error
}

// errNoProxy says that a profile's list of hosts cannot be held.
var errNoProxy = errors.New("the profile lists hosts, and this program has no proxy that lets a command reach them and no others")

// serve serves the profile's hosts on a socket that a stage has opened in its own network, until the run is over.
func (r *run) serve(fd int) error {
	socket := os.NewFile(uintptr(fd), "proxy")
	defer socket.Close()
	rules, err := jail.ParseHosts(r.plan.Hosts)
	if err != nil {
		return fmt.Errorf("the profile's hosts: %w", err)
	}
	serve, err := r.command.Proxy(socket, rules)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &proxy{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = serve(ctx, func(a jail.Asked) { p.asked = append(p.asked, a) })
	}()
	r.proxy = p
	r.undo = append(r.undo, func() { p.finish(&jail.Witness{}) })
	return nil
}

// finish ends the proxy, and records the hosts that were asked for.
func (p *proxy) finish(w *jail.Witness) {
	if p == nil {
		return
	}
	p.stop()
	<-p.done
	w.Hosts = p.asked
	if p.err != nil && len(w.Hosts) < jail.MostFiles {
		w.Hosts = append(w.Hosts, jail.Asked{Why: "the proxy has ended: " + p.err.Error()})
	}
}
