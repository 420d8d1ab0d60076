package backup

// Source has the contents for a restored store.
type Source interface {
	// About describes the store.
	About() (Head, Tail)
	// Each yields all items in their order.
	Each(yield func(Item) error) error
}

var _ Source = (*File)(nil)

// About returns the header and the trailer.
func (f *File) About() (Head, Tail) { return f.Head, f.Tail }
