package app

import (
	"errors"
	"fmt"

	"github.com/keybase/go-keychain"
)

// secret asks the login keychain. The item belongs to the program that made it: a build with another signature is asked
// about by the system. It is neither shared with other devices nor tied to Touch ID.
func secret(service, account string, renew bool) ([]byte, error) {
	if renew {
		if err := forget(service, account); err != nil {
			return nil, err
		}
	}
	key, err := keychain.GetGenericPassword(service, account, "", "")
	if err != nil {
		return nil, fmt.Errorf("reading from the keychain: %w: %w", ErrNoKeychain, err)
	}
	if key == nil { // there is none yet
		key = newSecret()
		err := keychain.AddItem(keychain.NewGenericPassword(service, account, service, key, ""))
		if errors.Is(err, keychain.ErrorDuplicateItem) { // another process was faster
			key, err = keychain.GetGenericPassword(service, account, "", "")
		}
		if err != nil {
			return nil, fmt.Errorf("writing to the keychain: %w: %w", ErrNoKeychain, err)
		}
	}
	if len(key) != secretSize {
		return nil, fmt.Errorf("reading from the keychain: the key for %s, %s has %d bytes", service, account, len(key))
	}
	return key, nil
}

func forget(service, account string) error {
	if err := keychain.DeleteGenericPasswordItem(service, account); err != nil && !errors.Is(err, keychain.ErrorItemNotFound) {
		return fmt.Errorf("writing to the keychain: %w: %w", ErrNoKeychain, err)
	}
	return nil
}
