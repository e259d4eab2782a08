package main

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// pageBits is the alignment of what is in a universal file: the 16 KB pages of arm64, which suit amd64 too.
const pageBits = 14

// universal joins executables for several architectures into one file (mach-o/fat.h). One alone stays as it is.
func universal(executables [][]byte) ([]byte, error) {
	if len(executables) == 0 {
		return nil, errors.New("no executable")
	}
	seen := map[macho.Cpu]bool{}
	header := binary.BigEndian.AppendUint32(nil, macho.MagicFat)
	header = binary.BigEndian.AppendUint32(header, uint32(len(executables)))
	end := len(header) + 20*len(executables)
	var offsets []int
	for _, data := range executables {
		f, err := macho.NewFile(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if f.Type != macho.TypeExec || seen[f.Cpu] {
			return nil, fmt.Errorf("%v for %v is no executable, or a second one", f.Type, f.Cpu)
		}
		seen[f.Cpu] = true
		offset := (end + 1<<pageBits - 1) >> pageBits << pageBits
		if end = offset + len(data); end > math.MaxUint32 {
			return nil, errors.New("too large")
		}
		offsets = append(offsets, offset)
		for _, n := range []uint32{uint32(f.Cpu), f.SubCpu, uint32(offset), uint32(len(data)), pageBits} {
			header = binary.BigEndian.AppendUint32(header, n)
		}
	}
	if len(executables) == 1 {
		return executables[0], nil
	}
	file := make([]byte, end)
	copy(file, header)
	for i, data := range executables {
		copy(file[offsets[i]:], data)
	}
	return file, nil
}
