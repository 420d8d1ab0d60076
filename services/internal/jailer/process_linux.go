package jailer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/services/internal/jailer/stage"
	"github.com/interlock-run/interlock/services/internal/shield"
)

// process is a stage that runs, or is about to.
type process struct {
	control int
	// orders takes the order: the stage starts while it is being made.
	orders *os.File
	// started is closed when process or err is there.
	started chan struct{}
	pid     int
	err     error
	// over is closed when the thread that is the stage's parent may end.
	over chan struct{}
}

// inherited are the files that a stage starts with. Those that are nil, it has not.
type inherited struct {
	streams    [3]*os.File
	note, wall *os.File
}

// launch starts a stage.
func launch(order *stage.Order, files inherited) (*process, error) {
	order.Root = os.Geteuid() == 0
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	pair, err := syscall.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	inner := os.NewFile(uintptr(pair[1]), "control")
	single := attributes(order, false)
	all := []*os.File{files.streams[0], files.streams[1], files.streams[2], read, inner, files.note, files.wall}
	attributes := &syscall.ProcAttr{Dir: "/", Env: []string{"GOGC=off", "GOMAXPROCS=2"}, Sys: attributes(order, order.Root)}
	for _, file := range all {
		attributes.Files = append(attributes.Files, file.Fd()) // of nil it is none
	}
	p := &process{control: pair[0], orders: write, started: make(chan struct{}), over: make(chan struct{})}
	go func() { // a stage ends with the thread that has started it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		self := shield.Self()
		argv := []string{stage.Name}
		// os.StartProcess would start another process first, to learn what the kernel knows of processes.
		p.pid, p.err = syscall.ForkExec(self, argv, attributes)
		if p.err != nil && order.Namespaces && order.Root { // root of a container may map no one but itself
			attributes.Sys = single
			p.pid, p.err = syscall.ForkExec(self, argv, attributes)
		}
		read.Close()
		inner.Close()
		runtime.KeepAlive(all)
		close(p.started)
		if p.err == nil {
			<-p.over
		}
	}()
	return p, nil
}

// send gives the stage its order. It reports the reason where there is no stage.
func (p *process) send(order *stage.Order) error {
	_, err := p.orders.Write(order.Encode())
	err = errors.Join(err, p.orders.Close())
	if <-p.started; p.err != nil {
		return fmt.Errorf("the jail cannot be started: %w", p.err)
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // the stage says why it has ended
	}
	return err
}

// attributes says in which namespaces a stage starts, and that it ends with its parent. ranges maps all ids
// of the user's namespace, and not the user's alone.
func attributes(order *stage.Order, ranges bool) *syscall.SysProcAttr {
	sys := &syscall.SysProcAttr{Setsid: true}
	if !order.Namespaces {
		return sys // the stage sees the end of its parent, and has programs to end then
	}
	if !order.Background {
		sys.Pdeathsig = syscall.SIGKILL
	}
	sys.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if order.Closed || order.Proxy {
		sys.Cloneflags |= unix.CLONE_NEWNET
	}
	uid, gid := os.Geteuid(), os.Getegid()
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	if ranges {
		sys.UidMappings, sys.GidMappings = idMap("uid_map"), idMap("gid_map")
		sys.GidMappingsEnableSetgroups = true
	}
	if uid != 0 { // executing the stage would lose them
		sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}
	}
	return sys
}

// idMap returns a mapping of each id of this process's namespace to itself.
func idMap(name string) []syscall.SysProcIDMap {
	data, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		return nil
	}
	var ranges []syscall.SysProcIDMap
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(fields[0])
		size, err2 := strconv.Atoi(fields[2])
		if errors.Join(err1, err2) == nil {
			ranges = append(ranges, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return ranges
}

const (
	messageSize = 64 << 10
	rightsSize  = 24 // CMSG_SPACE of one descriptor
)

// receive returns the stage's next message, and the descriptor that came with it, or -1.
func (p *process) receive() (*stage.Message, int, error) {
	data, rights := make([]byte, messageSize), make([]byte, rightsSize)
	var n, extra int
	for {
		var err error
		n, extra, _, _, err = unix.Recvmsg(p.control, data, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, -1, err
		}
		break
	}
	if n == 0 {
		return nil, -1, io.ErrUnexpectedEOF
	}
	m := &stage.Message{}
	if err := m.Decode(data[:n]); err != nil {
		return nil, -1, err
	}
	fd := -1
	if extra > 0 {
		messages, err := unix.ParseSocketControlMessage(rights[:extra])
		if err != nil {
			return nil, -1, err
		}
		fds, err := unix.ParseUnixRights(&messages[0])
		if err != nil {
			return nil, -1, err
		}
		fd = fds[0]
	}
	return m, fd, nil
}

// signal passes a signal on to the command.
func (p *process) signal(s unix.Signal) {
	_ = unix.Sendto(p.control, []byte{byte(s)}, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, nil) // the stage may have ended
}

// kill ends the stage at once. It must not be called after end or release, when the number may be another process's.
func (p *process) kill() {
	if <-p.started; p.err == nil {
		_ = unix.Kill(p.pid, unix.SIGKILL) // it may have ended
	}
}

// end lets the stage end, and waits for it.
func (p *process) end() {
	p.orders.Close()
	unix.Close(p.control)
	if <-p.started; p.err == nil {
		p.wait()
	}
	close(p.over)
}

func (p *process) wait() {
	for {
		if _, err := unix.Wait4(p.pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// release leaves the stage to itself: to its own end, or to what the command has left running.
func (p *process) release(wait bool) {
	unix.Close(p.control)
	if !wait {
		close(p.over)
		return
	}
	go func() {
		p.wait()
		close(p.over)
	}()
}
