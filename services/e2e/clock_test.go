package e2e

import (
	"bytes"
	"debug/elf"
	bin "encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// A machine has one clock, and a test must not set it. Programs read it by functions that
// the kernel maps into each process, the vDSO: those of one process are replaced by ones
// that add an offset, which is written into the process. So the program is the one that
// users run, and only its time of day jumps: the rest of a timer does not, as when
// a person sets the clock.

// clock is the time of day of one process.
type clock struct {
	memory string // of the process
	offset int64  // where the seconds are that are added
}

// caveSize is the needed size at the end of the vDSO, which is empty there.
const caveSize = 128

// clockFunctions are programs for amd64 that make the system call and add to its result
// the number at the beginning of the cave, whose distance is filled in after each
// offsetMark.
var clockFunctions = []struct {
	name string
	code []byte
}{
	{"__vdso_clock_gettime", []byte{
		0xb8, 228, 0, 0, 0, // mov eax, clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xc0, // test eax, eax
		0x75, 19, // jnz end
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME
		0x74, 5, // jz add
		0x83, 0xff, 5, // cmp edi, CLOCK_REALTIME_COARSE
		0x75, 10, // jne end
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // add: mov rcx, [rip+offset]
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // end: ret
	}},
	{"__vdso_gettimeofday", []byte{
		0xb8, 96, 0, 0, 0, // mov eax, gettimeofday
		0x0f, 0x05, // syscall
		0x85, 0xc0, // test eax, eax
		0x75, 15, // jnz end
		0x48, 0x85, 0xff, // test rdi, rdi
		0x74, 10, // jz end
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [rip+offset]
		0x48, 0x01, 0x0f, // add [rdi], rcx
		0xc3, // end: ret
	}},
	{"__vdso_time", []byte{
		0xb8, 201, 0, 0, 0, // mov eax, time
		0x0f, 0x05, // syscall
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, // mov rcx, [rip+offset]
		0x48, 0x01, 0xc8, // add rax, rcx
		0x48, 0x85, 0xff, // test rdi, rdi
		0x74, 3, // jz end
		0x48, 0x89, 0x07, // mov [rdi], rax
		0xc3, // end: ret
	}},
}

var offsetMark = []byte{0x48, 0x8b, 0x0d, 0, 0, 0, 0}

// clockOf takes over the clock of a process. It can be called again.
func clockOf(pid int) (*clock, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("the clock of one process cannot be set on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	start, end, err := vdsoOf(pid)
	if err != nil {
		return nil, err
	}
	c := &clock{memory: procFile(pid, "mem"), offset: end - caveSize}
	memory, err := os.OpenFile(c.memory, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	image := make([]byte, end-start)
	if _, err := memory.ReadAt(image, start); err != nil {
		return nil, err
	}
	if image[c.offset-start+8] != 0 {
		return c, nil // it has been taken over
	}
	if len(bytes.Trim(image[c.offset-start:], "\x00")) != 0 {
		return nil, errors.New("the vDSO has no room at its end")
	}
	entries, err := entriesOf(image)
	if err != nil {
		return nil, err
	}
	cave := c.offset + 8
	for _, f := range clockFunctions {
		code := bytes.Clone(f.code)
		at := bytes.Index(code, offsetMark) + len(offsetMark)
		bin.LittleEndian.PutUint32(code[at-4:], uint32(int32(c.offset-cave-int64(at))))
		if _, err := memory.WriteAt(code, cave); err != nil {
			return nil, err
		}
		jump := bin.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(cave-start-entries[f.name]-5)))
		if err := replaceCode(pid, memory, start+entries[f.name], jump); err != nil {
			return nil, err
		}
		cave += int64(len(code))
	}
	return c, nil
}

func procFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }

// vdsoOf returns where the vDSO of a process is.
func vdsoOf(pid int) (start, end int64, err error) {
	maps, err := os.ReadFile(procFile(pid, "maps"))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			_, err := fmt.Sscanf(line, "%x-%x ", &start, &end)
			return start, end, err
		}
	}
	return 0, 0, errors.New("the process has no vDSO")
}

// entriesOf returns where the functions of a vDSO begin, from its beginning.
func entriesOf(image []byte) (map[string]int64, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	entries := map[string]int64{}
	for _, s := range symbols {
		entries[s.Name] = int64(s.Value)
	}
	for _, f := range clockFunctions {
		if entries[f.name] == 0 {
			return nil, fmt.Errorf("the vDSO has no %s", f.name)
		}
	}
	return entries, nil
}

// replaceCode writes code while no thread of the process is inside of the replaced part.
func replaceCode(pid int, memory io.WriterAt, at int64, code []byte) error {
	for range 100 {
		if err := stopped(pid); err != nil {
			return err
		}
		inside, err := threadIn(pid, at+1, at+int64(len(code)))
		if err == nil && !inside {
			_, err = memory.WriteAt(code, at)
		}
		if err := errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)); err != nil || !inside {
			return err
		}
	}
	return errors.New("a thread does not leave the vDSO")
}

// stopped stops a process and waits until all its threads have stopped.
func stopped(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		threads, err := filepath.Glob(procFile(pid, "task/*/stat"))
		if err != nil {
			return err
		}
		running := 0
		for _, thread := range threads {
			if stat, err := os.ReadFile(thread); err == nil && !bytes.Contains(stat, []byte(") T ")) {
				running++
			}
		}
		if running == 0 {
			return nil
		}
	}
	return errors.New("the process does not stop")
}

// threadIn reports whether a thread of a stopped process is between two addresses.
func threadIn(pid int, from, to int64) (bool, error) {
	threads, err := filepath.Glob(procFile(pid, "task/*/syscall"))
	if err != nil {
		return false, err
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread) // "-1 SP PC", or a system call's number, arguments, SP and PC
		if err != nil {
			return false, err
		}
		fields := strings.Fields(string(text))
		pc, err := strconv.ParseInt(strings.TrimPrefix(fields[len(fields)-1], "0x"), 16, 64)
		if err != nil {
			return true, nil //nolint:nilerr // a thread that is running says no address
		}
		if from <= pc && pc < to {
			return true, nil
		}
	}
	return false, nil
}

// set makes the process's time of day differ from the machine's.
func (c *clock) set(by time.Duration) error {
	memory, err := os.OpenFile(c.memory, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	_, err = memory.WriteAt(bin.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))), c.offset)
	return err
}

// clocksJump says why this machine has no clocks that jump, or is nil.
var clocksJump = sync.OnceValue(func() error {
	program := exec.Command("cat")
	in, err := program.StdinPipe()
	if err != nil {
		return err
	}
	out, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	defer program.Wait()
	defer program.Process.Kill()
	// Its answer comes from the program, and not from its successor.
	if _, err := io.WriteString(in, "x"); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		return err
	}
	_, err = clockOf(program.Process.Pid)
	return err
})

// TestClockOfOneProcess: the time of day of one program jumps, and no other's.
func TestClockOfOneProcess(t *testing.T) {
	t.Parallel()
	u, redis := startUp(t), redistest.Start(t)
	client := redis.Client(t)
	c := (&world{shape: &u.shape, namespace: "clock"}).as(t, auth.Agent)
	c.register(t, pingPong)
	programs := map[int]func() time.Time{
		u.process.pid(): func() time.Time { return c.start(t, "ping-pong").GetCreatedAt().AsTime() },
		redis.PID():     func() time.Time { return must[time.Time](t)(client.Time(t.Context()).Result()) },
	}
	for pid, now := range programs {
		for _, by := range []time.Duration{time.Hour, -time.Hour, 0} {
			theirs, err := clockOf(pid)
			if err != nil {
				t.Skipf("not run: %v", err)
			}
			if err := theirs.set(by); err != nil {
				t.Fatal(err)
			}
			if off := time.Until(now()) - by; off.Abs() > time.Minute {
				t.Errorf("process %d was set by %s, and is %s off", pid, by, off)
			}
		}
	}
}
