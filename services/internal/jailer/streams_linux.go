package jailer

import (
	"io"
	"os"
	"sync"

	"github.com/interlock-run/interlock/pkg/jail"
)

// output passes a command's output through pipes, and counts it, where the profile limits it.
type output struct {
	limit    int64
	overflow chan struct{}
	writers  []*os.File
	copying  sync.WaitGroup
	mu       sync.Mutex
	count    int64
}

// streams returns the files that are the command's streams.
func (r *run) streams() ([3]*os.File, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return [3]*os.File{}, err
	}
	r.files = append(r.files, null)
	streams := [3]*os.File{r.command.Stdin, r.command.Stdout, r.command.Stderr}
	for i, file := range streams {
		if file == nil {
			streams[i] = null
		}
	}
	r.output = &output{limit: r.plan.Limits.OutputBytes, overflow: make(chan struct{})}
	if err := r.input(&streams[0]); err != nil {
		return streams, err
	}
	if r.output.limit == 0 {
		return streams, nil
	}
	out, err := r.output.pipe(streams[1])
	if err != nil {
		return streams, err
	}
	if streams[2] == streams[1] {
		streams[2] = out
	} else if streams[2], err = r.output.pipe(streams[2]); err != nil {
		return streams, err
	}
	streams[1] = out
	return streams, nil
}

// input passes a file's content through a pipe: a descriptor of the file itself could be opened anew, by
// the file's own permissions.
func (r *run) input(stdin **os.File) error {
	info, err := (*stdin).Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	file := *stdin
	go func() {
		defer write.Close()
		_, _ = io.Copy(write, file) // a command need not read to the end
	}()
	r.output.writers = append(r.output.writers, read)
	*stdin = read
	return nil
}

func (o *output) pipe(to *os.File) (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.writers = append(o.writers, write)
	o.copying.Go(func() {
		defer read.Close() // who writes more gets SIGPIPE
		buffer := make([]byte, 32<<10)
		for {
			n, err := read.Read(buffer)
			if !o.pass(to, buffer[:n]) || err != nil {
				return
			}
		}
	})
	return write, nil
}

// pass writes what the limit leaves, and reports that more may come.
func (o *output) pass(to *os.File, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := max(o.limit-o.count, 0)
	o.count += int64(len(data))
	over := int64(len(data)) > left
	if over {
		data = data[:left]
	}
	_, err := to.Write(data)
	if over {
		select {
		case <-o.overflow:
		default:
			close(o.overflow)
		}
	}
	return err == nil && !over
}

// closeWriters closes this process's copies of the command's streams.
func (o *output) closeWriters() {
	for _, file := range o.writers {
		file.Close()
	}
}

// full is closed when the output is longer than the limit.
func (o *output) full() <-chan struct{} { return o.overflow }

// finish waits until all output is passed on.
func (o *output) finish(w *jail.Witness) {
	o.copying.Wait()
	w.OutputBytes = min(o.count, o.limit)
	select {
	case <-o.overflow:
		w.Stopped = "output_bytes"
	default:
	}
}
