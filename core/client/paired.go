package client

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How long the tokens of a paired client last. A refresh token is good for one renewal, which gives the next one its 30 days: a
// client that isn't used for so long has to be paired again.
const (
	AccessLasts  = time.Hour
	RefreshLasts = 30 * 24 * time.Hour
)

// Pair is what a paired client gets, the only time that it can be seen.
type Pair struct {
	Name  string // of the client, as the person knows it
	Level Level
	// Access is the bearer token, for AccessLasts; Refresh renews both, once.
	Access, Refresh string
	// ID names the pairing, and is no secret.
	ID PairID
}

// PairID names a pairing as long as it lasts. The zero value names none.
type PairID [sha256.Size]byte

// Partner is with whom a client was paired, and for what.
type Partner struct {
	// Client is the OAuth client identifier. Anyone can use any: it is part of what was agreed to, and proves nothing.
	Client string
	// Resource is the endpoint's address that the tokens are for (RFC 8707).
	Resource string
}

// pairedEntry is what the file has of a pairing. A refresh token is tokenPrefix, a family (130 random bits, the same as long as
// the pairing lasts) and a secret (260 bits, new with each renewal). Who has the family of a pairing but not its present secret
// uses a token that was exchanged before: then somebody has stolen it, or has used the one that was.
type pairedEntry struct {
	Client       string `json:"client_sha256"`
	Resource     string `json:"resource"`
	Until        string `json:"until"` // the access token
	Family       string `json:"family_sha256"`
	Refresh      string `json:"refresh_sha256"`
	RefreshUntil string `json:"refresh_until"`

	client, family, refresh [sha256.Size]byte
	until, refreshUntil     time.Time
}

// parse reads the fields of the file. Anything unexpected is an error.
func (p *pairedEntry) parse() error {
	for text, hash := range map[*string]*[sha256.Size]byte{&p.Client: &p.client, &p.Family: &p.family, &p.Refresh: &p.refresh} {
		b, err := hex.DecodeString(*text)
		if err != nil || len(b) != len(hash) {
			return errors.New("its pairing lacks a SHA-256 hash")
		}
		copy(hash[:], b)
	}
	var err, err2 error
	p.until, err = time.Parse(time.RFC3339, p.Until)
	p.refreshUntil, err2 = time.Parse(time.RFC3339, p.RefreshUntil)
	if err = errors.Join(err, err2); err != nil {
		return fmt.Errorf("how long it lasts: %w", err)
	}
	if p.Resource == "" {
		return errors.New("its pairing is for nothing")
	}
	return nil
}

const (
	familyLength = 26
	secretLength = 52
)

// family is the hash of a refresh token's family; false if the text can't be a refresh token.
func family(refresh string) ([sha256.Size]byte, bool) {
	rest, ok := strings.CutPrefix(refresh, tokenPrefix)
	if !ok || len(rest) != familyLength+secretLength {
		return [sha256.Size]byte{}, false
	}
	return sha256.Sum256([]byte(rest[:familyLength])), true
}

// issue gives entry e new tokens, of a family that it has or, as "", of a new one.
func (e *tokenEntry) issue(fam string, now time.Time) Pair {
	if fam == "" {
		fam = strings.ToLower(rand.Text())
	}
	p := Pair{Name: e.Name, Level: e.level, Access: newToken(), Refresh: tokenPrefix + fam + strings.ToLower(rand.Text()+rand.Text())}
	sum := func(s string) string {
		h := sha256.Sum256([]byte(s))
		return hex.EncodeToString(h[:])
	}
	p.ID = sha256.Sum256([]byte(fam))
	paired := *e.Paired // entries are shared with who reads them
	paired.Family, paired.Refresh = sum(fam), sum(p.Refresh)
	paired.Until, paired.RefreshUntil = now.Add(AccessLasts).UTC().Format(time.RFC3339), now.Add(RefreshLasts).UTC().Format(time.RFC3339)
	e.SHA256, e.Paired = sum(p.Access), &paired
	return p
}

// Pair makes the tokens of a client that the person has just allowed. The name and level are as for [Tokens.New]. An earlier
// pairing with the same partner ends, and may leave its name to this one.
func (t *Tokens) Pair(name string, level Level, with Partner) (p Pair, err error) {
	if err := usable(name, level); err != nil {
		return Pair{}, err
	}
	if with.Client == "" || with.Resource == "" {
		return Pair{}, errors.New("pairing a client: with whom, and for what?")
	}
	sum := sha256.Sum256([]byte(with.Client))
	err = t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		left := slices.DeleteFunc(slices.Clone(entries), func(e tokenEntry) bool { return e.with(sum, with.Resource) })
		if taken(left, name) {
			return nil, nameTaken(name)
		}
		e := newEntry(name, level, "")
		e.Paired = &pairedEntry{Client: hex.EncodeToString(sum[:]), Resource: with.Resource}
		p = e.issue("", time.Now())
		return append(left, e), nil
	})
	if err != nil {
		return Pair{}, err
	}
	return p, nil
}

func (e *tokenEntry) with(client [sha256.Size]byte, resource string) bool {
	return e.Paired != nil && e.Paired.client == client && e.Paired.Resource == resource
}

// NameOf is the name of the client that is paired with that partner, "" if none is.
func (t *Tokens) NameOf(with Partner) string {
	sum := sha256.Sum256([]byte(with.Client))
	list, err := t.current()
	if err != nil {
		return ""
	}
	for _, e := range list {
		if e.with(sum, with.Resource) {
			return e.Name
		}
	}
	return ""
}

// Taken says that a client has that name; also when that can't be told.
func (t *Tokens) Taken(name string) bool {
	list, err := t.current()
	return err != nil || taken(list, name)
}

// current gives the entries as the file has them now. They are shared and must not be changed.
func (t *Tokens) current() ([]tokenEntry, error) {
	t.mu.Lock()
	gone, revoked := t.reload()
	list, err := slices.Clone(t.entries), t.err
	t.mu.Unlock()
	tell(revoked, gone)
	return list, err
}

// VerifyPaired says whose access token it is. Refused are tokens of [Tokens.New], one that has expired, and one for another
// resource.
func (t *Tokens) VerifyPaired(token, resource string) (Identity, Level, bool) {
	return t.verify(token, func(e *tokenEntry) bool {
		return e.Paired != nil && time.Now().Before(e.Paired.until) && subtle.ConstantTimeCompare([]byte(e.Paired.Resource), []byte(resource)) == 1
	})
}

// ErrBadGrant says that a refresh token isn't good: unknown, expired, of another partner, or used before.
var ErrBadGrant = errors.New("the refresh token is not valid")

// Renew exchanges a refresh token. One that was exchanged before ends the pairing: it, or the one that it was exchanged for, is
// in wrong hands; p.Name is then the client whose pairing has ended. What isn't exchanged gives [ErrBadGrant].
func (t *Tokens) Renew(refresh string, with Partner) (p Pair, err error) {
	fam, ok := family(refresh)
	if !ok {
		return Pair{}, ErrBadGrant
	}
	whole, partner := sha256.Sum256([]byte(refresh)), sha256.Sum256([]byte(with.Client))
	ended := ""
	err = t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		i := find(entries, familyHash, fam[:])
		if i < 0 {
			return nil, ErrBadGrant
		}
		e := entries[i]
		now := time.Now()
		if subtle.ConstantTimeCompare(whole[:], e.Paired.refresh[:]) != 1 {
			ended = e.Name
			return slices.Delete(slices.Clone(entries), i, i+1), nil
		}
		if !e.with(partner, with.Resource) || !now.Before(e.Paired.refreshUntil) {
			return nil, ErrBadGrant
		}
		p = e.issue(refresh[len(tokenPrefix):][:familyLength], now)
		entries = slices.Clone(entries)
		entries[i] = e
		return entries, nil
	})
	if ended != "" && err == nil {
		return Pair{Name: ended}, ErrBadGrant
	}
	if err != nil {
		return Pair{}, err
	}
	return p, nil
}

func familyHash(e *tokenEntry) []byte {
	if e.Paired == nil {
		return nil
	}
	return e.Paired.family[:]
}

// Unpair ends the pairing that an access or refresh token belongs to, also a refresh token that was exchanged, and an access token
// that has expired. It gives the client's name, "" if there is no such pairing.
func (t *Tokens) Unpair(token string) (name string, err error) {
	hash := sha256.Sum256([]byte(token))
	if fam, ok := family(token); ok {
		return t.unpair(familyHash, fam[:])
	}
	return t.unpair(func(e *tokenEntry) []byte {
		if e.Paired == nil {
			return nil
		}
		return e.hash[:]
	}, hash[:])
}

// UnpairID is [Tokens.Unpair] for the pairing with that ID.
func (t *Tokens) UnpairID(id PairID) (name string, err error) { return t.unpair(familyHash, id[:]) }

func (t *Tokens) unpair(of func(*tokenEntry) []byte, hash []byte) (name string, err error) {
	err = t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		i := find(entries, of, hash)
		if i < 0 {
			return nil, errNoPairing
		}
		name = entries[i].Name
		return slices.Delete(slices.Clone(entries), i, i+1), nil
	})
	if errors.Is(err, errNoPairing) {
		return "", nil
	}
	return name, err
}

var errNoPairing = errors.New("there is no such pairing")

// UnpairTunnels ends all pairings by a tunnel (https) but those for the resource keep; "" keeps none.
func (t *Tokens) UnpairTunnels(keep string) error {
	ends := func(e tokenEntry) bool {
		return e.Paired != nil && strings.HasPrefix(e.Paired.Resource, "https://") && e.Paired.Resource != keep
	}
	list, err := t.current()
	if err != nil || !slices.ContainsFunc(list, ends) {
		return err
	}
	return t.change(func(entries []tokenEntry) ([]tokenEntry, error) {
		return slices.DeleteFunc(slices.Clone(entries), ends), nil
	})
}

// HasPaired says whether any client is paired.
func (t *Tokens) HasPaired() bool {
	list, err := t.current()
	return err == nil && slices.ContainsFunc(list, func(e tokenEntry) bool { return e.Paired != nil })
}
