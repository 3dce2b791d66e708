package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"os"
	"slices"
)

// The format of a bbolt file (version 2), as far as it is needed to check one without bbolt. bbolt
// maps the file and follows its pointers, on goroutines of its own: a broken file would end the
// agent with a stack trace instead of an error.
const (
	pageHeader = 16 // id 8, flags 2, count 2, overflow 4
	element    = 16 // branch: pos 4, ksize 4, pgid 8; leaf: flags 4, pos 4, ksize 4, vsize 4
	branchPage = 0x01
	leafPage   = 0x02
	metaSize   = 64 // magic 4, version 4, page size 4, flags 4, root 8+8, freelist 8, end 8, txid 8, checksum 8
	boltMagic  = 0xED0CDAED
)

type boltFile struct {
	data     []byte
	pageSize uint64
	end      uint64 // the first page that was never used
	seen     map[uint64]bool
	buckets  []string
}

var byteOrder = binary.NativeEndian

// checkFile reports what is wrong with a ledger file. A missing file is not wrong. An empty file
// is: bbolt would silently initialize it.
func checkFile(path string, bothMetas bool, buckets ...[]byte) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f := &boltFile{data: data, pageSize: uint64(os.Getpagesize()), seen: map[uint64]bool{}}
	root, err := f.meta(bothMetas)
	if err == nil {
		err = f.page(root, true)
	}
	if err != nil {
		return err
	}
	for _, b := range buckets {
		// a file without buckets was not initialized completely
		if len(f.buckets) > 0 && !slices.Contains(f.buckets, string(b)) {
			return fmt.Errorf("bucket %s is missing", b)
		}
	}
	return nil
}

// meta finds the newer one of the two valid meta pages.
func (f *boltFile) meta(both bool) (root uint64, err error) {
	valid, newest := 0, uint64(0)
	for i := range uint64(2) {
		at := i*f.pageSize + pageHeader
		if uint64(len(f.data)) < at+metaSize {
			return 0, errors.New("the file is cut off")
		}
		m := f.data[at : at+metaSize]
		h := fnv.New64a()
		h.Write(m[:56])
		if byteOrder.Uint32(m) != boltMagic || uint64(byteOrder.Uint32(m[8:])) != f.pageSize ||
			byteOrder.Uint64(m[56:]) != h.Sum64() {
			continue
		}
		valid++
		if txid := byteOrder.Uint64(m[48:]); valid == 1 || txid > newest {
			newest, root, f.end = txid, byteOrder.Uint64(m[16:]), byteOrder.Uint64(m[40:])
		}
	}
	if valid == 0 || both && valid < 2 {
		return 0, errors.New("the file's description is damaged")
	}
	return root, nil
}

// page checks a page and all pages below it.
func (f *boltFile) page(id uint64, top bool) error {
	if id < 2 || id >= f.end || (id+1)*f.pageSize > uint64(len(f.data)) {
		return fmt.Errorf("page %d is beyond the end", id)
	}
	p := f.data[id*f.pageSize:]
	last := id + uint64(byteOrder.Uint32(p[12:]))
	if byteOrder.Uint64(p) != id || last >= f.end || (last+1)*f.pageSize > uint64(len(f.data)) {
		return fmt.Errorf("page %d is damaged", id)
	}
	for n := id; n <= last; n++ {
		if f.seen[n] {
			return fmt.Errorf("page %d is used twice", n)
		}
		f.seen[n] = true
	}
	return f.elements(id, p[:(last+1-id)*f.pageSize], top)
}

func (f *boltFile) elements(id uint64, p []byte, top bool) error {
	flags, count := byteOrder.Uint16(p[8:]), uint64(byteOrder.Uint16(p[10:]))
	if flags != branchPage && flags != leafPage || pageHeader+count*element > uint64(len(p)) {
		return fmt.Errorf("page %d is damaged", id)
	}
	before := ""
	for i := range count {
		at := pageHeader + i*element
		e := p[at:]
		leaf, pos, ksize, vsize := byteOrder.Uint32(e), uint64(byteOrder.Uint32(e[4:])),
			uint64(byteOrder.Uint32(e[8:])), uint64(byteOrder.Uint32(e[12:]))
		if flags == branchPage {
			pos, ksize, vsize = uint64(byteOrder.Uint32(e)), uint64(byteOrder.Uint32(e[4:])), 0
		}
		if at+pos+ksize+vsize > uint64(len(p)) || pos < element {
			return fmt.Errorf("element %d of page %d is beyond the end", i, id)
		}
		key := string(p[at+pos : at+pos+ksize])
		if i > 0 && key <= before {
			return fmt.Errorf("page %d is out of order", id)
		}
		before = key
		var err error
		switch value := p[at+pos+ksize : at+pos+ksize+vsize]; {
		case flags == branchPage:
			err = f.page(byteOrder.Uint64(e[8:]), top)
		case leaf == 1 && top:
			f.buckets = append(f.buckets, key)
			err = f.bucket(id, value)
		case leaf != 0:
			err = fmt.Errorf("page %d holds what is no record", id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bucket checks a bucket: one with a page of its own, or a small one inside the value.
func (f *boltFile) bucket(id uint64, value []byte) error {
	if len(value) < 16 {
		return fmt.Errorf("bucket in page %d is damaged", id)
	}
	if root := byteOrder.Uint64(value); root != 0 {
		return f.page(root, false)
	}
	if len(value) < 16+pageHeader || byteOrder.Uint16(value[24:]) != leafPage {
		return fmt.Errorf("bucket in page %d is damaged", id)
	}
	return f.elements(id, value[16:], false)
}

// seal puts a checksum of key and value before the value. bbolt has none, and one flipped bit in a
// record could make it name another interface.
func seal(key, value []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, checksum(key, value)), value...)
}

func unseal(key, sealed []byte) ([]byte, error) {
	if len(sealed) < 4 || binary.BigEndian.Uint32(sealed) != checksum(key, sealed[4:]) {
		return nil, errors.New("the record's checksum is wrong")
	}
	return sealed[4:], nil
}

func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(key), crc32.IEEETable, value)
}
