package jailer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer/stage"
	"github.com/interlock-run/interlock/services/internal/tree"
)

// Stage runs the inner part of a jail where this process is one, and does not return then. It must be
// called before anything else of a program that calls Run.
func Stage() { stage.Main() }

// How long a command may take to end after SIGTERM, and a stage after it was asked to end.
const (
	grace      = 5 * time.Second
	stageGrace = 2 * time.Second
)

// Run runs a command in a jail, and returns what it has witnessed. An error means that the command was
// not started.
func Run(ctx context.Context, c *Command) (*jail.Witness, error) {
	level, err := enforceable(c)
	if err != nil {
		return nil, err
	}
	r := &run{command: c, plan: c.Profile.On(c.Machine), level: level}
	defer r.close()
	if err := r.launch(); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		r.process.kill()
		r.process.end()
		return nil, err
	}
	if err := r.start(); err != nil {
		r.process.end()
		return nil, err
	}
	return r.watch(ctx)
}

// run is one command in its jail.
type run struct {
	command *Command
	plan    *jail.Plan
	level   jail.Level
	order   stage.Order
	// wall is written while the stage starts; nil at level 3, where the stage writes it.
	wall *stage.Wall
	// files are closed, and undo is run, when the run is over.
	files   []*os.File
	undo    []func()
	guarded *guarded
	config  *configWatch
	// guards is the file of Guards; nil for none.
	guards     *os.File
	guardsName string
	kept       kept
	records    []keptBelow
	before     *tree.Snapshot
	proxy      *proxy
	process    *process
	output     *output
	witness    jail.Witness
	// notes are what the order leaves out of the plan, for people.
	notes []string
}

func (r *run) close() {
	if r.output != nil {
		r.output.closeWriters()
	}
	r.dropGuards()
	for _, file := range r.files {
		file.Close()
	}
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
}

// launch starts the stage, which is ready to take its order when that is made.
func (r *run) launch() error {
	r.witness = jail.Witness{
		CallID: r.command.CallID, Profile: r.command.Profile.Digest(), Level: r.level, ExitStatus: -1,
	}
	if err := r.beginOrder(); err != nil {
		return err
	}
	streams, err := r.streams()
	if err != nil {
		return err
	}
	files := inherited{streams: streams, note: r.command.Note}
	r.order.Note = r.command.Note != nil
	if !r.order.Namespaces {
		if r.wall, err = stage.NewWall(&r.order); err != nil {
			return err
		}
		files.wall, r.files = r.wall.File, append(r.files, r.wall.File)
	}
	r.process, err = launch(&r.order, files)
	return err
}

// prepare finds all that the stage needs to know.
func (r *run) prepare(ctx context.Context) error {
	if err := r.finishOrder(); err != nil {
		return err
	}
	r.keeps()
	var err error
	if r.guarded, err = guard(r); err != nil {
		return err
	}
	if err := r.keepGuards(); err != nil {
		return fmt.Errorf("protected files could not be put back if this process were killed: %w", err)
	}
	if err := r.keepLeft(); err != nil {
		return fmt.Errorf("programs that the command leaves running could not be ended: %w", err)
	}
	if r.wall != nil {
		if err := r.wall.Fill(&r.order); err != nil {
			return errors.New(r.explain(err.Error()))
		}
	}
	r.watchConfig()
	r.takeTree(ctx)
	return nil
}

// start gives the stage its order, and waits until the command runs.
func (r *run) start() error {
	if err := r.process.send(&r.order); err != nil {
		return err
	}
	r.output.closeWriters()
	for {
		m, fd, err := r.process.receive()
		switch {
		case err != nil:
			return fmt.Errorf("the jail ended before the command was started: %w", err)
		case m.Failed != "":
			return errors.New(r.explain(m.Failed))
		case m.Listening:
			if err := r.serve(fd); err != nil {
				return err
			}
		case m.Started:
			r.witness.Started, r.witness.Notes = time.Now(), append(append(r.witness.Notes, r.notes...), m.Notes...)
			return nil
		}
	}
}

// watch waits for the command's end, ends it when it is time, and completes the witness.
func (r *run) watch(ctx context.Context) (*jail.Witness, error) {
	w := &r.witness
	done := make(chan struct{})
	var guards sync.WaitGroup
	guards.Go(func() { r.supervise(ctx, done) })
	exited := false
	for {
		m, _, err := r.process.receive()
		if err != nil {
			break
		}
		w.Tried = append(w.Tried, m.Tried...)
		w.More = w.More || m.More
		if m.Exited {
			exited, w.Left = true, m.Left
			r.status(unix.WaitStatus(m.Status))
			break
		}
	}
	close(done)
	guards.Wait()
	switch {
	case exited && r.order.Background:
		r.process.release(false)
	case exited && len(r.order.Caches) == 0: // all that was in the jail has ended
		r.process.release(true)
	default: // the caches' copies are free when their mounts are gone
		r.process.end()
	}
	w.Ended = time.Now()
	if !exited {
		w.Signal = unix.SignalName(unix.SIGKILL)
		if w.Stopped == "" {
			w.Stopped = "the jail has ended"
		}
	}
	r.output.finish(w)
	r.proxy.finish(w)
	r.guarded.finish(w)
	r.config.finish(w)
	r.dropGuards()
	r.kept.finish(w)
	r.compareTrees(context.WithoutCancel(ctx))
	tidy(w)
	return w, nil
}

func (r *run) status(status unix.WaitStatus) {
	w := &r.witness
	if status.Signaled() {
		w.Signal = unix.SignalName(status.Signal())
		if status.Signal() == unix.SIGXCPU && w.Stopped == "" {
			w.Stopped = "cpu_seconds"
		}
		return
	}
	w.ExitStatus = status.ExitStatus()
}

// supervise passes signals on, and ends the command when its time is over, its output is too long, or ctx
// is done.
func (r *run) supervise(ctx context.Context, done <-chan struct{}) {
	var wall <-chan time.Time
	if seconds := r.plan.Limits.WallSeconds; seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		wall = timer.C
	}
	stopped, filled := "", r.kept.watch(done)
	for stopped == "" {
		select {
		case <-done:
			return
		case s := <-r.command.Signals:
			if number, ok := s.(unix.Signal); ok {
				r.process.signal(number)
			}
		case <-wall:
			stopped = "wall_seconds"
		case <-r.output.full():
			stopped = "output_bytes"
		case <-filled:
			stopped = "kept_mb"
		case <-ctx.Done():
			stopped = "cancelled"
		}
	}
	r.witness.Stopped = stopped
	r.process.signal(unix.SIGTERM)
	if waited(done, grace) {
		return
	}
	r.process.signal(stage.KillAll)
	if waited(done, stageGrace) {
		return
	}
	r.process.kill()
}

func waited(done <-chan struct{}, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// takeTree records the workspace before the command. A workspace without a tree has no digest: it is evidence of nothing, and
// the witness says why no one knows the files that were written.
func (r *run) takeTree(ctx context.Context) {
	switch {
	case r.order.Workspace == "":
	case r.command.Trees == "":
		r.witness.TreeFailed = "its workspace is not kept between commands"
	default:
		take := tree.Take
		if r.command.Profile.Reread {
			take = tree.Reread
		}
		before, err := take(ctx, r.order.Workspace, r.command.Trees)
		if err != nil {
			r.witness.TreeFailed = err.Error()
			return
		}
		r.before, r.witness.TreeBefore = before, before.Tree().Digest
	}
}

// compareTrees records the workspace after the command, and the files that have changed.
func (r *run) compareTrees(ctx context.Context) {
	if r.before == nil {
		return
	}
	w := &r.witness
	after, err := r.before.Again(ctx)
	if err != nil {
		w.TreeFailed = err.Error()
		return
	}
	w.TreeAfter = after.Tree().Digest
	changed, more := tree.Changed(r.before, after, jail.MostWritten)
	if w.TreeChanged = tree.Touched(r.before, after); len(changed) > 0 {
		w.TreeChanged = changed[0]
	}
	if p := r.command.Profile; p.MayChange(p.Workspace) {
		if w.Written = changed; more {
			w.TreeFailed = fmt.Sprintf("it has changed more than %d files", jail.MostWritten)
		}
	}
}
