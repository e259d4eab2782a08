// Feed signs what tells people's Handrail that a version is out (handrail/core/release). The key is a file that stands
// nowhere but with who releases; the numbers of feeds grow by the time at which they are made.
//
//	go run ./packaging/feed -new KEYFILE                       makes a key, and says its public half
//	go run ./packaging/feed -key KEYFILE -version v1.2.3       writes a feed that holds for 90 days
//
// A feed must be made anew before it expires, also when there is no new version.
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"handrail/core/release"
)

func main() {
	create := flag.String("new", "", "file to make, which must not exist")
	key := flag.String("key", "", "file of the private key")
	version := flag.String("version", "", "newest version, v1.2.3")
	days := flag.Int("days", 90, "how long the feed holds")
	flag.Parse()
	err := func() error {
		if *create != "" {
			return makeKey(*create)
		}
		private, err := readKey(*key)
		if err != nil {
			return err
		}
		now := time.Now().UTC().Truncate(time.Second)
		text, err := release.Feed{Version: *version, Serial: now.Unix(), Expires: now.AddDate(0, 0, *days)}.Sign(private)
		if err != nil {
			return fmt.Errorf("making the feed: %w", err)
		}
		_, err = os.Stdout.Write(text)
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "feed:", err)
		os.Exit(1)
	}
}

func makeKey(file string) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(f, base64.StdEncoding.EncodeToString(private.Seed()))
	fmt.Println(base64.StdEncoding.EncodeToString(public))
	return f.Close()
}

func readKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s isn't a key that -new made", file)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
