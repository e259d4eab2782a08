package app

import (
	"crypto/rand"
	"errors"
)

// ErrNoKeychain says that this system has no keychain that answers. What the key would have protected is then safe against
// accidents only.
var ErrNoKeychain = errors.New("there is no keychain")

// secretSize is the length of a key, in bytes.
const secretSize = 32

// Secret gives the 32-byte key that the user's keychain holds for service and account, and makes it when there is none: the
// macOS keychain, or what answers as the Secret Service on Linux. It may wait up to half a minute while the keychain asks
// the person to unlock it. A key of another length is an error; it isn't replaced.
func Secret(service, account string) ([]byte, error) { return named(service, account, false) }

// Renew puts a new key in the place of the one that Secret gives, and gives it.
func Renew(service, account string) ([]byte, error) { return named(service, account, true) }

// Forget removes the key that Secret gives. There being none is no error.
func Forget(service, account string) error {
	if service == "" || account == "" {
		return errors.New("removing a key: no name")
	}
	return forget(service, account)
}

func named(service, account string, renew bool) ([]byte, error) {
	if service == "" || account == "" {
		return nil, errors.New("getting a key: no name")
	}
	return secret(service, account, renew)
}

func newSecret() []byte {
	key := make([]byte, secretSize)
	rand.Read(key) // never fails
	return key
}
