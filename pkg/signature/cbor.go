package signature

import (
	"errors"
	"fmt"
)

var errCBOR = errors.New("it is no CBOR of a key or of an attestation")

// deepest is how deep CBOR may nest here.
const deepest = 8

// readCBOR reads one value from the front: int64, []byte, string, bool, nil, []any or a map by
// int64 or string. Lengths are definite, as CTAP 2 writes them, and no key comes twice.
func readCBOR(data []byte, depth int) (v any, rest []byte, err error) {
	if len(data) == 0 || depth > deepest {
		return nil, nil, errCBOR
	}
	major, info := data[0]>>5, data[0]&31
	rest = data[1:]
	if major == 7 {
		switch info {
		case 20, 21:
			return info == 21, rest, nil
		case 22:
			return nil, rest, nil
		}
		return nil, nil, errCBOR
	}
	n, rest, err := readLength(info, rest)
	if err != nil {
		return nil, nil, err
	}
	switch major {
	case 0:
		return n, rest, nil
	case 1:
		return -1 - n, rest, nil
	case 2, 3:
		if n > int64(len(rest)) {
			return nil, nil, errCBOR
		}
		if major == 2 {
			return rest[:n], rest[n:], nil
		}
		return string(rest[:n]), rest[n:], nil
	case 4:
		return readList(n, rest, depth)
	case 5:
		return readMap(n, rest, depth)
	default:
		return nil, nil, errCBOR
	}
}

func readLength(info byte, data []byte) (n int64, rest []byte, err error) {
	if info < 24 {
		return int64(info), data, nil
	}
	if info > 27 || len(data) < 1<<(info-24) {
		return 0, nil, errCBOR
	}
	size := 1 << (info - 24)
	for _, b := range data[:size] {
		n = n<<8 | int64(b)
	}
	if n < 0 {
		return 0, nil, errCBOR
	}
	return n, data[size:], nil
}

func readList(n int64, rest []byte, depth int) (any, []byte, error) {
	if n > int64(len(rest)) {
		return nil, nil, errCBOR
	}
	list := []any{}
	for range n {
		v, after, err := readCBOR(rest, depth+1)
		if err != nil {
			return nil, nil, err
		}
		list, rest = append(list, v), after
	}
	return list, rest, nil
}

func readMap(n int64, rest []byte, depth int) (any, []byte, error) {
	if n > int64(len(rest)) {
		return nil, nil, errCBOR
	}
	all := map[any]any{}
	for range n {
		key, after, err := readCBOR(rest, depth+1)
		if err != nil {
			return nil, nil, err
		}
		switch key.(type) {
		case int64, string:
		default:
			return nil, nil, errCBOR
		}
		if _, twice := all[key]; twice {
			return nil, nil, fmt.Errorf("%w: a key comes twice", errCBOR)
		}
		v, after, err := readCBOR(after, depth+1)
		if err != nil {
			return nil, nil, err
		}
		all[key], rest = v, after
	}
	return all, rest, nil
}
