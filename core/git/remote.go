package git

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// Reach is how a remote is reached. The zero value is not at all.
type Reach uint8

const (
	Nowhere  Reach = iota
	Folder         // a folder of this computer
	HTTPS          // another computer, or with Loopback a server on this one
	SSH            // needs the person's SSH keys
	Loopback       // HTTP or HTTPS to this computer's own address
)

// Remote is what the address of a remote says.
type Remote struct {
	Reach Reach
	// Address is the address as it may be shown: without a password.
	Address string
	// Scheme and Host (with a port, if it names one) say where it is; User is the name in the address. Path is the folder, or
	// the path on the host.
	Scheme, Host, User, Path string
	// Secret says that the address holds a password.
	Secret bool
}

// ParseRemote reads the address of a remote as git does ("GIT URLS" in git-fetch(1)), and refuses the kinds that name a helper
// program ("ext::sh"), that a program might take for an option, or that are unencrypted and lead to another computer.
func ParseRemote(address string) (Remote, error) {
	switch {
	case address == "":
		return Remote{}, errors.New("it is empty")
	case address[0] == '-':
		return Remote{}, errors.New("it starts like an option")
	case strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		return Remote{}, errors.New("it has a blank, a backslash or a control character")
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return withoutScheme(address)
	}
	switch scheme {
	case "file":
		if !strings.HasPrefix(rest, "/") || strings.Contains(rest, "%") {
			return Remote{}, errors.New("a file address needs an absolute path")
		}
		return Remote{Reach: Folder, Address: address, Scheme: "file", Path: filepath.Clean(rest)}, nil
	case "https", "http":
	case "ssh", "git+ssh", "ssh+git":
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") {
			return Remote{}, errors.New("it can't be read")
		}
		return Remote{Reach: SSH, Address: u.Redacted(), Scheme: "ssh", Host: u.Host, User: u.User.Username(), Path: u.Path}, nil
	case "git":
		return Remote{}, errors.New("the git protocol is neither encrypted nor signed in to")
	default:
		return Remote{}, fmt.Errorf("there is no way to reach %s://", scheme)
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.Fragment != "" || u.RawQuery != "" {
		return Remote{}, errors.New("it can't be read")
	}
	if host := u.Hostname(); strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e }) || strings.Contains(host, "%") {
		return Remote{}, errors.New("the host's name has letters beyond ASCII")
	}
	_, secret := u.User.Password()
	r := Remote{Reach: HTTPS, Address: u.Redacted(), Scheme: scheme, Host: strings.ToLower(u.Host), User: u.User.Username(), Path: u.Path, Secret: secret}
	if isLoopback(u.Hostname()) {
		r.Reach = Loopback
	} else if scheme == "http" {
		return Remote{}, errors.New("it isn't encrypted (use https)")
	}
	return r, nil
}

// withoutScheme reads a path or the form host:path of scp.
func withoutScheme(address string) (Remote, error) {
	if strings.Contains(address, "::") {
		return Remote{}, errors.New("it names a helper program")
	}
	host, path, ok := strings.Cut(address, ":")
	if !ok || strings.Contains(host, "/") {
		return Remote{Reach: Folder, Address: address, Scheme: "file", Path: filepath.Clean(address)}, nil
	}
	user, name, hasUser := strings.Cut(host, "@")
	if !hasUser {
		user, name = "", host
	}
	if name == "" || name[0] == '-' || user != "" && user[0] == '-' || path == "" {
		return Remote{}, errors.New("it can't be read")
	}
	return Remote{Reach: SSH, Address: address, Scheme: "ssh", Host: name, User: user, Path: path}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// RemoteOf gives the address that a remote's name stands for, that for pushing if push is set. A remote with several
// addresses is an error: what would be asked isn't all that would be done.
func RemoteOf(settings []Setting, name string, push bool) (address string, err error) {
	var fetches, pushes []string
	for _, s := range settings {
		switch s.Key {
		case "remote." + name + ".url":
			fetches = append(fetches, s.Value)
		case "remote." + name + ".pushurl":
			pushes = append(pushes, s.Value)
		}
	}
	list := fetches
	if push && len(pushes) > 0 {
		list = pushes
	}
	switch len(list) {
	case 0:
		return "", fmt.Errorf("there is no remote %q", name)
	case 1:
		return list[0], nil
	}
	return "", fmt.Errorf("the remote %q has several addresses", name)
}

// Remotes lists the names of the remotes, in the order of the settings.
func Remotes(settings []Setting) []string {
	var list []string
	seen := map[string]bool{}
	for _, s := range settings {
		if section, sub, name := s.split(); section == "remote" && (name == "url" || name == "pushurl") && !seen[sub] {
			seen[sub] = true
			list = append(list, sub)
		}
	}
	return list
}
