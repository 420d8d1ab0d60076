package stage

import (
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// Main runs the stage where this process is one, and does not return then.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != Name {
		return
	}
	// The thread that is locked here makes the namespaces.
	runtime.LockOSThread()
	s := &stage{}
	if err := s.run(); err != nil {
		_ = s.send(&Message{Failed: err.Error()}, -1) // the caller may have ended
		os.Exit(1)
	}
	os.Exit(0)
}

// stage is the process that starts the command.
type stage struct {
	order Order
	view  *view
	child int
}

func (s *stage) run() error {
	// What the caller's caller has left open is not the command's.
	if err := sys.CloseOnExec(orderFD); err != nil {
		return about("close_range", err)
	}
	file := os.NewFile(orderFD, "order")
	data, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := s.order.decode(data); err != nil {
		return err
	}
	if s.order.Probe {
		_ = s.send(&Message{Probed: true, Lacks: probe(&s.order)}, -1) // the caller sees the end of the stream
		return nil
	}
	if err := s.prepare(); err != nil {
		return err
	}
	enter := s.enter
	if !s.order.Namespaces {
		// The command may signal what is in its own domain of Landlock: this process's first thread stays out of it.
		enter = func() error { return apart(s.enter) }
	}
	if err := enter(); err != nil {
		return err
	}
	return s.finish()
}

// apart runs a function in a thread of its own, which stays: its children end with it.
func apart(run func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- run()
		select {}
	}()
	return <-done
}

// prepare replaces what this process sees by what the command may see.
func (s *stage) prepare() error {
	o := &s.order
	if err := streams(); err != nil {
		return err
	}
	if o.Namespaces {
		if err := s.namespaces(); err != nil {
			return err
		}
	} else if err := sys.Prctl(sys.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := os.Chdir(o.Dir); err != nil {
		return about("the folder in which the command starts", err)
	}
	spareThreads()
	return limits(o)
}

// spareThreads starts threads for later: a command may use up the processes of its jail, and Go's runtime ends a process
// that needs another thread and gets none. The runtime keeps idle threads, and takes them before it starts others.
func spareThreads() {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU())) // bounds the threads that are needed at once
	has, end := make(chan struct{}), make(chan struct{})
	for range spares {
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			has <- struct{}{}
			<-end
		}()
	}
	for range spares {
		<-has
	}
	close(end)
}

// enter builds the jail's walls around this thread, and starts the command in them.
func (s *stage) enter() error {
	o := &s.order
	if err := noNewPrivileges(); err != nil {
		return err
	}
	var err error
	switch {
	case !o.Namespaces:
		w := inheritedWall(o)
		w.streams()
		err = w.enforce()
	case o.abi() > 0 && !o.nests(): // Landlock lets nothing mount
		err = secondWall(o, o.abi())
	}
	if err != nil {
		return err
	}
	if err := install(filter(o)); err != nil {
		return err
	}
	return s.start()
}

// namespaces makes the view of files, and the network, of this process's own namespaces.
func (s *stage) namespaces() error {
	o := &s.order
	var err error
	if s.view, err = build(o); err != nil {
		return about(NotBuilt, err)
	}
	if o.Closed || o.Proxy {
		if err := loopback(); err != nil {
			return about("loopback", err)
		}
	}
	if o.Proxy {
		if err := s.listen(); err != nil {
			return about("proxy", err)
		}
	}
	if err := dropCapabilities(o.Root); err != nil {
		return err
	}
	// The command sees this process, and shall not read it.
	return sys.Prctl(syscall.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// streams replaces a stream that is a folder: paths can be opened from it around the jail's own view.
func streams() error {
	for fd := range 3 {
		var stat syscall.Stat_t
		err := syscall.Fstat(fd, &stat)
		if err == nil && stat.Mode&syscall.S_IFMT != syscall.S_IFDIR && stat.Mode&syscall.S_IFMT != syscall.S_IFBLK {
			continue
		}
		null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if null == fd {
			continue
		}
		if err := syscall.Dup3(null, fd, 0); err != nil {
			return err
		}
		syscall.Close(null)
	}
	return nil
}

// loopback brings the network namespace's only interface up.
func loopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return sys.InterfaceUp(fd, "lo")
}

// listen opens the proxy's socket in here, and hands it to the parent, who serves it out there.
func (s *stage) listen() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := syscall.Listen(fd, syscall.SOMAXCONN); err != nil {
		return err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return err
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return errors.New("no address")
	}
	s.order.Env = ProxyEnvironment(s.order.Env, address.Port)
	return s.send(&Message{Listening: true}, fd)
}

// limits applies the limits of one process to this one, which hands them on.
func limits(o *Order) error {
	set := func(name string, what int, value int64) error {
		if value <= 0 {
			return nil
		}
		limit := syscall.Rlimit{Cur: uint64(value), Max: uint64(value)}
		if what == syscall.RLIMIT_CPU {
			limit.Max++ // SIGXCPU comes first, and says why
		}
		if err := sys.Setrlimit(what, &limit); err != nil {
			return about("the limit of "+name, err)
		}
		return nil
	}
	processes := int64(0)
	if o.Processes > 0 {
		processes = int64(o.Processes) + ownThreads
		if !o.Namespaces { // all of the user's processes count
			processes += tasks()
		}
	}
	return errors.Join(
		set("memory", syscall.RLIMIT_DATA, o.MemoryMB<<20),
		set("CPU time", syscall.RLIMIT_CPU, o.CPUSeconds),
		set("core files", syscall.RLIMIT_CORE, 1),
		set("processes", sys.RLIMIT_NPROC, processes))
}

// tasks returns how many threads this machine runs.
func tasks() int64 {
	data, _ := os.ReadFile("/proc/loadavg") // "0.10 0.20 0.30 1/234 5678"
	words := fields(string(data))
	if len(words) < 4 {
		return 0
	}
	_, all, _ := cut(words[3], '/')
	n, _ := strconv.ParseInt(all, 10, 64)
	return n
}

const (
	// ownThreads is how many threads of the stage count as processes of the user.
	ownThreads = 16
	// spares is how many of them are started before the command.
	spares = 6
)

// start starts the command, in a session of its own without a terminal to steer.
func (s *stage) start() error {
	o := &s.order
	path, err := lookPath(o.Argv[0], o.Env)
	if err != nil {
		return err
	}
	attributes := &syscall.SysProcAttr{Setsid: true}
	if !o.Background {
		attributes.Pdeathsig = syscall.SIGKILL
	}
	files := []uintptr{0, 1, 2}
	if o.Note {
		files = append(files, noteFD)
	}
	s.child, err = syscall.ForkExec(path, o.Argv, &syscall.ProcAttr{Env: o.Env, Files: files, Sys: attributes})
	if err != nil {
		return about(path+" cannot be started", err)
	}
	started := &Message{Started: true}
	if s.view != nil {
		started.Notes = s.view.notes
	}
	if err := s.send(started, -1); err != nil {
		return err
	}
	go s.obey()
	return nil
}

// obey passes the parent's signals on to the command, and ends the jail with the parent.
func (s *stage) obey() {
	buffer := make([]byte, 1)
	for {
		n, err := syscall.Read(controlFD, buffer)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			if s.order.Background {
				return
			}
			// What is left without a parent becomes a child of this process, so that all has ended when there are none.
			for until := time.Now().Add(longestEnd); time.Now().Before(until); time.Sleep(time.Millisecond) {
				s.kill()
				if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); errors.Is(err, syscall.ECHILD) {
					break
				}
			}
			os.Exit(1)
		}
		if syscall.Signal(buffer[0]) == KillAll {
			s.kill()
			continue
		}
		_ = syscall.Kill(-s.child, syscall.Signal(buffer[0])) // it may have ended
	}
}

// finish waits for the command, ends what it has left, and reports.
func (s *stage) finish() error {
	var status syscall.WaitStatus
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return about("wait", err)
		}
		if pid == s.child {
			break
		}
	}
	var left []string
	if !s.order.Background {
		left = s.killAll()
	}
	if s.view != nil {
		if err := s.tried(); err != nil {
			return err
		}
	}
	if err := s.send(&Message{Exited: true, Status: int(status), Left: left}, -1); err != nil {
		return err
	}
	if s.order.Background {
		s.remain()
	}
	return nil
}

// remain keeps the jail for programs that outlive the command.
func (s *stage) remain() {
	if null, err := syscall.Open("/dev/null", syscall.O_RDWR, 0); err == nil {
		for fd := range 3 {
			_ = syscall.Dup3(null, fd, 0)
		}
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// killAll ends every process of the jail but this one, waits for their end, and returns the names of the programs that ran.
func (s *stage) killAll() (left []string) {
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); errors.Is(err, syscall.ECHILD) {
		return nil // as after most commands
	}
	for _, name := range descendants() {
		if !slices.Contains(left, name) && len(left) < mostLeft {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	for {
		s.kill()
		// Those whose parent has ended become children of this process, one generation after the other.
		for {
			_, err := syscall.Wait4(-1, nil, 0, nil)
			if errors.Is(err, syscall.ECHILD) {
				return left
			}
			if err == nil && !s.order.Namespaces {
				break // their children are known now
			}
		}
	}
}

// longestEnd is how long a stage whose parent has ended looks for processes to end.
const longestEnd = 10 * time.Second

// kill ends every process of the jail but this one, as far as they are known.
func (s *stage) kill() {
	if s.order.Namespaces {
		_ = syscall.Kill(-1, syscall.SIGKILL) // none may be left
		return
	}
	killDescendants()
}

// killDescendants ends the processes that this one has started, by /proc.
func killDescendants() {
	for pid := range descendants() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// mostLeft bounds the names of programs in a Message.
const mostLeft = 16

// descendants returns the numbers and names of the running processes that this one has started, by /proc. A program chooses
// its own name.
func descendants() map[int]string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	parents, names := map[int]int{}, map[int]string{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		name, rest := nameOf(string(stat))
		if words := fields(rest); len(words) > 1 {
			parents[pid], _ = strconv.Atoi(words[1])
			if words[0] != "Z" {
				names[pid] = name
			}
		}
	}
	self := os.Getpid()
	for pid := range names {
		at := pid
		for hops := 0; at > 1 && at != self && hops < len(parents); hops++ {
			at = parents[at]
		}
		if at != self || pid == self {
			delete(names, pid)
		}
	}
	return names
}

// nameOf parts the line "PID (NAME) STATE PARENT ...", where the name can have any character.
func nameOf(stat string) (name, rest string) {
	_, stat, _ = cut(stat, '(')
	for i := len(stat) - 1; i >= 0; i-- {
		if stat[i] == ')' {
			return stat[:i], stat[i+1:]
		}
	}
	return "", stat
}

const accessExecute = 1

// lookPath finds a program as a shell would, by the PATH of its own environment.
func lookPath(name string, env []string) (string, error) {
	runs := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return &os.PathError{Op: "run", Path: path, Err: syscall.EISDIR}
		}
		if err := syscall.Access(path, accessExecute); err != nil {
			return &os.PathError{Op: "run", Path: path, Err: err}
		}
		return nil
	}
	if _, _, ok := cut(name, '/'); ok {
		return name, runs(name)
	}
	folders := "/usr/local/bin:/usr/bin:/bin"
	for _, variable := range env {
		if key, value, _ := cut(variable, '='); key == "PATH" {
			folders = value
		}
	}
	var found error
	for more := true; more; {
		var folder string
		if folder, folders, more = cut(folders, ':'); folder == "" {
			folder = "."
		}
		path := join(folder, name)
		err := runs(path)
		if err == nil {
			return path, nil
		}
		if _, stat := os.Stat(path); stat == nil {
			found = err
		}
	}
	if found != nil {
		return "", found
	}
	return "", errors.New(name + " is not in PATH")
}

// send sends a message to the parent, with a descriptor unless it is -1.
func (s *stage) send(m *Message, fd int) error {
	var rights []byte
	if fd >= 0 {
		rights = syscall.UnixRights(fd)
	}
	return syscall.Sendmsg(controlFD, m.encode(), rights, nil, 0)
}
