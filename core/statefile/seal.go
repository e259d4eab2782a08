package statefile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Seal makes and checks the MACs by which text in a file of ours is known to have been written by us. The zero Seal, that of a
// computer without a keychain, knows nothing: no MAC fits it.
//
// Not covered: who can write the file may put back an older text of ours with its MAC.
type Seal struct{ key []byte }

// NewSeal gives the seal for one purpose. key is from the keychain; nil is none. Each purpose has a key of its own, so that the MAC
// of one fits no other.
func NewSeal(key []byte, purpose string) Seal {
	if key == nil {
		return Seal{}
	}
	m := hmac.New(sha256.New, key)
	m.Write([]byte(purpose))
	return Seal{m.Sum(nil)}
}

// Known reports whether there is a key, so that anything can be sealed.
func (s Seal) Known() bool { return s.key != nil }

// Of gives the MAC of a text, in hex; "" without a key.
func (s Seal) Of(text []byte) string {
	if !s.Known() {
		return ""
	}
	m := hmac.New(sha256.New, s.key)
	m.Write(text)
	return hex.EncodeToString(m.Sum(nil))
}

// Fits reports whether mac is the text's. Without a key none is.
func (s Seal) Fits(text []byte, mac string) bool {
	return s.Known() && hmac.Equal([]byte(s.Of(text)), []byte(mac))
}

// ErrForeign is given for a file that another user could have written, or that is none of ours.
var ErrForeign = errors.New("it is no plain file of yours alone")

// Read reads a file that nobody but the user can have written: a plain file, without the permissions that others must not have, of
// at most that many bytes.
func Read(path string, most int64, others fs.FileMode) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrForeign
	}
	if info.Mode().Perm()&others != 0 {
		return nil, fmt.Errorf("%w: chmod 600 mends that", ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = errors.New("it is too long")
	}
	return text, err
}
