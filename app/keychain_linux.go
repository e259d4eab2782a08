package app

import (
	"fmt"
	"time"

	"github.com/keybase/dbus"
	"github.com/keybase/go-keychain/secretservice"
)

// secret asks the Secret Service (freedesktop.org), such as GNOME Keyring or KWallet, on the session bus.
func secret(service, account string, renew bool) ([]byte, error) {
	if !hasSessionBus() { // the library would start one
		return nil, ErrNoKeychain
	}
	fail := func(doing string, err error) ([]byte, error) {
		return nil, fmt.Errorf("%s the keychain: %w: %w", doing, ErrNoKeychain, err)
	}
	keychain, err := secretservice.NewService()
	if err != nil {
		return fail("reaching", err)
	}
	keychain.SetSessionOpenTimeout(5 * time.Second)
	// Not with the other mode's encryption: it keeps the key from nobody who couldn't ask for it too, and the library
	// derives another key than the service from one exchange in 256.
	session, err := keychain.OpenSession(secretservice.AuthenticationInsecurePlain)
	if err != nil {
		return fail("reaching", err)
	}
	defer keychain.CloseSession(session)
	const collection = secretservice.DefaultCollection
	attributes := secretservice.Attributes{"service": service, "account": account}
	if err := keychain.Unlock([]dbus.ObjectPath{collection}); err != nil {
		return fail("unlocking", err)
	}
	items, err := keychain.SearchCollection(collection, attributes)
	if err != nil {
		return fail("searching", err)
	}
	if len(items) > 1 {
		return nil, fmt.Errorf("reading from the keychain: %d keys for %s, %s", len(items), service, account)
	}
	if len(items) == 0 || renew {
		replace := secretservice.ReplaceBehavior(secretservice.ReplaceBehaviorDoNotReplace)
		if renew {
			replace = secretservice.ReplaceBehaviorReplace
		}
		key := newSecret()
		sealed, err := session.NewSecret(key)
		if err != nil {
			return fail("writing to", err)
		}
		properties := secretservice.NewSecretProperties(service+": "+account, attributes)
		if _, err := keychain.CreateItem(collection, properties, sealed, replace); err != nil {
			return fail("writing to", err)
		}
		return key, nil
	}
	key, err := keychain.GetSecret(items[0], *session)
	if err != nil {
		return fail("reading from", err)
	}
	if len(key) != secretSize {
		return nil, fmt.Errorf("reading from the keychain: the key for %s, %s has %d bytes", service, account, len(key))
	}
	return key, nil
}

func forget(service, account string) error {
	if !hasSessionBus() {
		return ErrNoKeychain
	}
	keychain, err := secretservice.NewService()
	if err != nil {
		return fmt.Errorf("reaching the keychain: %w: %w", ErrNoKeychain, err)
	}
	const collection = secretservice.DefaultCollection
	if err := keychain.Unlock([]dbus.ObjectPath{collection}); err != nil {
		return fmt.Errorf("unlocking the keychain: %w: %w", ErrNoKeychain, err)
	}
	items, err := keychain.SearchCollection(collection, secretservice.Attributes{"service": service, "account": account})
	if err != nil {
		return fmt.Errorf("searching the keychain: %w: %w", ErrNoKeychain, err)
	}
	for _, item := range items {
		if err := keychain.DeleteItem(item); err != nil {
			return fmt.Errorf("removing from the keychain: %w", err)
		}
	}
	return nil
}
