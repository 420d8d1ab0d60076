package stage

import "errors"

// codec writes values one after the other, or reads them back: encoding/json and encoding/binary are initialised late.
type codec struct {
	data    []byte
	reading bool
	err     error
}

var errShort = errors.New("the order of a jail's stage is not complete")

func (c *codec) number(n *int64) {
	if !c.reading {
		for shift := 0; shift < numberBits; shift += 8 {
			c.data = append(c.data, byte(*n>>shift))
		}
		return
	}
	if len(c.data) < numberBits/8 {
		c.err, c.data, *n = errShort, nil, 0
		return
	}
	*n = 0
	for shift := 0; shift < numberBits; shift += 8 {
		*n |= int64(c.data[shift/8]) << shift
	}
	c.data = c.data[numberBits/8:]
}

const numberBits = 64

func (c *codec) small(n *int) {
	wide := int64(*n)
	c.number(&wide)
	*n = int(wide)
}

func (c *codec) truth(b *bool) {
	var n int64
	if *b {
		n = 1
	}
	c.number(&n)
	*b = n == 1
}

func (c *codec) text(s *string) {
	size := int64(len(*s))
	c.number(&size)
	if !c.reading {
		c.data = append(c.data, *s...)
		return
	}
	if size < 0 || size > int64(len(c.data)) {
		c.err, c.data = errShort, nil
		return
	}
	*s, c.data = string(c.data[:size]), c.data[size:]
}

func (c *codec) texts(list *[]string) {
	size := int64(len(*list))
	c.number(&size)
	if !c.reading {
		for i := range *list {
			c.text(&(*list)[i])
		}
		return
	}
	if size < 0 || size > int64(len(c.data)) {
		c.err = errShort
		return
	}
	*list = make([]string, size)
	for i := range *list {
		c.text(&(*list)[i])
	}
}

// values visits all of an order.
func (o *Order) values(c *codec) {
	for _, list := range []*[]string{&o.Argv, &o.Env, &o.Write, &o.Protect, &o.Hide, &o.Keep} {
		c.texts(list)
	}
	for _, text := range []*string{&o.Dir, &o.Home, &o.Workspace, &o.Copies, &o.Tmp, &o.VarTmp} {
		c.text(text)
	}
	for _, truth := range []*bool{&o.Namespaces, &o.Root, &o.Probe, &o.Discard, &o.Deny, &o.Closed, &o.Proxy, &o.Note, &o.Background, &o.Nest} {
		c.truth(truth)
	}
	for _, number := range []*int64{&o.MemoryMB, &o.CPUSeconds, &o.ScratchMB} {
		c.number(number)
	}
	c.small(&o.Processes)
	c.small(&o.Landlock)
	count := len(o.Caches)
	c.small(&count)
	if c.reading {
		o.Caches = make([]Cache, min(max(count, 0), len(c.data)))
	}
	for i := range o.Caches {
		c.text(&o.Caches[i].Base)
		c.text(&o.Caches[i].Name)
		c.texts(&o.Caches[i].Paths)
	}
}

// values visits all of a message.
func (m *Message) values(c *codec) {
	c.text(&m.Failed)
	for _, truth := range []*bool{&m.Listening, &m.Started, &m.More, &m.Exited, &m.Probed} {
		c.truth(truth)
	}
	for _, list := range []*[]string{&m.Notes, &m.Tried, &m.Lacks, &m.Left} {
		c.texts(list)
	}
	c.small(&m.Status)
}

// Encode returns an order's bytes.
func (o *Order) Encode() []byte {
	c := &codec{}
	o.values(c)
	return c.data
}

func (o *Order) decode(data []byte) error {
	c := &codec{data: data, reading: true}
	o.values(c)
	return c.err
}

func (m *Message) encode() []byte {
	c := &codec{}
	m.values(c)
	return c.data
}

// Decode reads a message's bytes.
func (m *Message) Decode(data []byte) error {
	c := &codec{data: data, reading: true}
	m.values(c)
	return c.err
}
