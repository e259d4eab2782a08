package app

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/godbus/dbus/v5"

	"handrail/app/apptest"
)

// keyring is a stand-in for a Secret Service, as much of it as is used.
type keyring struct {
	conn *dbus.Conn

	mu     sync.Mutex
	locked bool // and the person dismisses the prompt to unlock it
	items  []map[string]string
}

// sealed is the Secret Service's struct for a secret.
type sealed struct {
	Session    dbus.ObjectPath
	Parameters []byte
	Value      []byte
	Type       string
}

type keyringItem struct {
	value  []byte
	remove func()
}

const (
	keyringPath    = dbus.ObjectPath("/org/freedesktop/secrets")
	keyringDefault = keyringPath + "/aliases/default"
	keyringPrompt  = keyringPath + "/prompt/1"
	noPrompt       = dbus.ObjectPath("/")
)

func newKeyring(t *testing.T, address string) *keyring {
	t.Helper()
	conn, err := dbus.Connect(address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	k := &keyring{conn: conn}
	for path, name := range map[dbus.ObjectPath]string{
		keyringPath: "Service", keyringDefault: "Collection", keyringPath + "/session/1": "Session", keyringPrompt: "Prompt",
	} {
		must(t, conn.Export(k, path, "org.freedesktop.Secret."+name))
	}
	_, err = conn.RequestName("org.freedesktop.secrets", dbus.NameFlagDoNotQueue)
	must(t, err)
	return k
}

func (k *keyring) OpenSession(mode string, _ dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	if mode != "plain" {
		return dbus.Variant{}, "", dbus.NewError("org.freedesktop.DBus.Error.NotSupported", nil)
	}
	return dbus.MakeVariant(""), keyringPath + "/session/1", nil
}

func (k *keyring) Close() *dbus.Error { return nil }

func (k *keyring) Unlock(paths []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.locked {
		return nil, keyringPrompt, nil
	}
	return paths, noPrompt, nil
}

// Prompt tells the caller alone that the person dismissed it, as GNOME Keyring does.
func (k *keyring) Prompt(_ string, caller dbus.Sender) *dbus.Error {
	k.conn.Send(&dbus.Message{
		Type: dbus.TypeSignal,
		Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldDestination: dbus.MakeVariant(string(caller)),
			dbus.FieldPath:        dbus.MakeVariant(keyringPrompt),
			dbus.FieldInterface:   dbus.MakeVariant("org.freedesktop.Secret.Prompt"),
			dbus.FieldMember:      dbus.MakeVariant("Completed"),
			dbus.FieldSignature:   dbus.MakeVariant(dbus.SignatureOf(true, dbus.MakeVariant(""))),
		},
		Body: []any{true, dbus.MakeVariant("")},
	}, nil)
	return nil
}

func (k *keyring) SearchItems(wanted map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := []dbus.ObjectPath{}
	for i, has := range k.items {
		if maps.Equal(has, wanted) {
			found = append(found, itemPath(i))
		}
	}
	return found, nil
}

func itemPath(i int) dbus.ObjectPath {
	return dbus.ObjectPath(fmt.Sprintf("%s/collection/login/%d", keyringPath, i))
}

func (k *keyring) CreateItem(properties map[string]dbus.Variant, secret sealed, replace bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	attributes, _ := properties["org.freedesktop.Secret.Item.Attributes"].Value().(map[string]string)
	k.mu.Lock()
	at := slices.IndexFunc(k.items, func(has map[string]string) bool { return maps.Equal(has, attributes) })
	k.mu.Unlock()
	if replace && at >= 0 {
		_ = k.conn.Export(k.item(secret.Value, at), itemPath(at), "org.freedesktop.Secret.Item")
		return itemPath(at), noPrompt, nil
	}
	return k.add(attributes, secret.Value), noPrompt, nil
}

func (k *keyring) add(attributes map[string]string, value []byte) dbus.ObjectPath {
	k.mu.Lock()
	defer k.mu.Unlock()
	path := itemPath(len(k.items))
	k.items = append(k.items, attributes)
	_ = k.conn.Export(k.item(value, len(k.items)-1), path, "org.freedesktop.Secret.Item")
	return path
}

func (k *keyring) item(value []byte, at int) keyringItem {
	return keyringItem{value, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.items[at] = nil // no search finds it
	}}
}

func (i keyringItem) Delete() (dbus.ObjectPath, *dbus.Error) {
	i.remove()
	return noPrompt, nil
}

func (i keyringItem) GetSecret(session dbus.ObjectPath) (sealed, *dbus.Error) {
	return sealed{session, nil, i.value, "application/octet-stream"}, nil
}

func TestSecret(t *testing.T) {
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	k := newKeyring(t, bus.Address)

	first, err := Secret("handrail", "a")
	must(t, err)
	again, err := Secret("handrail", "a")
	must(t, err)
	other, err := Secret("handrail", "b")
	must(t, err)
	if len(first) != secretSize || !bytes.Equal(first, again) || bytes.Equal(first, other) {
		t.Errorf("keys of %d and %d bytes, same again: %v", len(first), len(other), bytes.Equal(first, again))
	}

	renewed, err := Renew("handrail", "b")
	must(t, err)
	now, err := Secret("handrail", "b")
	must(t, err)
	if len(renewed) != secretSize || !bytes.Equal(renewed, now) || bytes.Equal(renewed, other) {
		t.Errorf("renewed: %d bytes, kept: %v, another than before: %v", len(renewed), bytes.Equal(renewed, now), !bytes.Equal(renewed, other))
	}
	if still, err := Secret("handrail", "a"); err != nil || !bytes.Equal(still, first) {
		t.Errorf("another key was renewed too: %v", err)
	}
	made, err := Renew("handrail", "new")
	must(t, err)
	if kept, err := Secret("handrail", "new"); err != nil || !bytes.Equal(made, kept) {
		t.Errorf("a key that wasn't there: %v", err)
	}

	must(t, Forget("handrail", "new"))
	must(t, Forget("handrail", "new")) // which isn't there any more
	if anew, err := Secret("handrail", "new"); err != nil || bytes.Equal(anew, made) {
		t.Errorf("a key that was removed is still there: %v", err)
	}
	if still, err := Secret("handrail", "a"); err != nil || !bytes.Equal(still, first) {
		t.Errorf("another key was removed too: %v", err)
	}

	k.add(map[string]string{"service": "handrail", "account": "short"}, []byte("1234"))
	if _, err := Secret("handrail", "short"); err == nil || errors.Is(err, ErrNoKeychain) || !strings.Contains(err.Error(), "4 bytes") {
		t.Errorf("a short key: %v", err)
	}
	k.add(map[string]string{"service": "handrail", "account": "b"}, newSecret())
	if _, err := Secret("handrail", "b"); err == nil {
		t.Error("two keys of one name")
	}
	k.mu.Lock()
	k.locked = true
	k.mu.Unlock()
	if _, err := Secret("handrail", "a"); !errors.Is(err, ErrNoKeychain) {
		t.Errorf("a keychain that stays locked: %v", err)
	}
}

func TestNoKeychain(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("without a bus: %v", err)
	}
	if err := Forget("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) {
		t.Errorf("without a bus: %v", err)
	}
	bus, err := apptest.StartBus(t.Context())
	must(t, err)
	defer bus.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", bus.Address)
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("on a bus without a keychain: %v", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	if key, err := Secret("handrail-test", "a"); !errors.Is(err, ErrNoKeychain) || key != nil {
		t.Errorf("on a bus that isn't there: %v", err)
	}
	if _, err := Secret("", "a"); err == nil {
		t.Error("a key without a service")
	}
}
