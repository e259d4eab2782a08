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
func Secret(service, account string) ([]byte, error) {
	if service == "" || account == "" {
		return nil, errors.New("getting a key: no name")
	}
	return secret(service, account)
}

func newSecret() []byte {
	key := make([]byte, secretSize)
	rand.Read(key) // never fails
	return key
}
