package release

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// head begins each feed and what is signed of it: a signature made for something else is none for a feed.
const head = "handrail update 1\n"

// largest bounds a feed, in bytes.
const largest = 4 << 10

// Feed says which version is the newest.
type Feed struct {
	// Version is that of a release, "v1.2.3".
	Version string `json:"version"`
	// Serial grows with each feed: one with a lower number than was seen before is an old one.
	Serial int64 `json:"serial"`
	// Expires is when a feed says nothing any more: who holds new ones back is noticed then.
	Expires time.Time `json:"expires"`
}

// Source is where feeds come from and who signs them. The zero value is none: nothing is ever asked.
type Source struct {
	url string
	key ed25519.PublicKey
}

// ParseSource reads an https address and a public Ed25519 key in base64. Both empty are no source.
func ParseSource(address, key string) (Source, error) {
	if address == "" && key == "" {
		return Source{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Source{}, fmt.Errorf("reading the address of the update feed: %q is no plain https address", address)
	}
	raw, err := decode(key)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return Source{}, errors.New("reading the key of the update feed: it isn't an Ed25519 key in base64")
	}
	return Source{u.String(), raw}, nil
}

var releaseVersion = regexp.MustCompile(`^v(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})$`)

// Sign gives the text of a feed, which is served as it is:
//
//	handrail update 1
//	base64 of the Ed25519 signature of the line above and of all below
//	{"version":"v1.2.3","serial":12,"expires":"2027-01-31T00:00:00Z"}
func (f Feed) Sign(key ed25519.PrivateKey) ([]byte, error) {
	if err := f.valid(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	signature := ed25519.Sign(key, append([]byte(head), body...))
	return append([]byte(head+base64.StdEncoding.EncodeToString(signature)+"\n"), body...), nil
}

// decode reads base64 in the one way in which it is written: the library passes over ends of lines.
func decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("more than a line")
	}
	return base64.StdEncoding.Strict().DecodeString(text)
}

// read checks the signature of a feed's text before anything else of it. It doesn't look whether the feed has expired.
func (s Source) read(text []byte) (Feed, error) {
	if len(s.key) != ed25519.PublicKeySize {
		return Feed{}, errors.New("there is no key")
	}
	rest, ok := bytes.CutPrefix(text, []byte(head))
	line, body, ok2 := bytes.Cut(rest, []byte("\n"))
	signature, err := decode(string(line))
	if !ok || !ok2 || err != nil || len(text) > largest {
		return Feed{}, errors.New("it isn't a feed")
	}
	if !ed25519.Verify(s.key, append([]byte(head), body...), signature) {
		return Feed{}, errors.New("its signature is wrong")
	}
	var f Feed
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Feed{}, fmt.Errorf("reading it: %w", err)
	}
	if d.More() {
		return Feed{}, errors.New("something follows it")
	}
	return f, f.valid()
}

func (f Feed) valid() error {
	if !releaseVersion.MatchString(f.Version) || f.Serial <= 0 || f.Expires.IsZero() {
		return fmt.Errorf("it says version %q, number %d, until %v", f.Version, f.Serial, f.Expires)
	}
	return nil
}
