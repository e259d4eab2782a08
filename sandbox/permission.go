package sandbox

import "math/bits"

// Permission is a set of what a policy opens beyond files. The zero value is none.
type Permission uint16

const (
	Network     Permission = 1 << iota // other computers
	Loopback                           // programs of this computer that listen on its own address
	SSHAgent                           // the person's SSH agent
	Docker                             // the Docker socket
	BrowserTest                        // a browser started by tests
	Xcode                              // Apple's developer tools
)

var permissions = [...]struct{ name, sentence string }{
	{"network", "reaches other computers, so what it can read it can also send away"},
	{"loopback", "talks to programs on this computer that listen on its own address, and they to it"},
	{"ssh agent", "signs in elsewhere with the person's SSH keys while it runs"},
	{"docker", "controls Docker, which is as good as full access to this computer"},
	{"browser test", "starts a browser for tests, which then runs without its own sandbox"},
	{"xcode", "uses Apple's developer tools, their simulators and services"},
}

// List gives the single permissions in the set.
func (p Permission) List() []Permission {
	var l []Permission
	for p != 0 {
		one := Permission(1) << bits.TrailingZeros16(uint16(p))
		l = append(l, one)
		p &^= one
	}
	return l
}

// String names a single permission; a set is named by its first.
func (p Permission) String() string { return p.text().name }

// Sentence says what a single permission opens, as the end of "the command …".
func (p Permission) Sentence() string { return p.text().sentence }

func (p Permission) text() struct{ name, sentence string } {
	if i := bits.TrailingZeros16(uint16(p)); i < len(permissions) {
		return permissions[i]
	}
	return struct{ name, sentence string }{"none", "opens nothing"}
}

// AllowNetwork opens other computers. Our own port stays closed, and so does this computer's own address.
func (p Policy) AllowNetwork() Policy { return p.allow(Network) }

// AllowLoopback opens this computer's own address, for connecting and for listening, so that the person's programs reach a server
// that the command starts, there alone. Our own port stays closed. On Linux a command also gets no port before 1024 and none on
// which another program listens, at whatever address, and shares none (SO_REUSEPORT has no effect).
func (p Policy) AllowLoopback() Policy { return p.allow(Loopback) }

// AllowSSHAgent opens the socket Machine.SSHAgent.
func (p Policy) AllowSSHAgent() Policy { return p.allow(SSHAgent) }

// AllowDocker opens the socket Machine.Docker: as good as full access.
func (p Policy) AllowDocker() Policy { return p.allow(Docker) }

// AllowBrowserTest opens what Chromium and its kin need to start under tests. It matters on macOS only.
func (p Policy) AllowBrowserTest() Policy { return p.allow(BrowserTest) }

// AllowXcode opens Apple's developer tools. It matters on macOS only.
func (p Policy) AllowXcode() Policy { return p.allow(Xcode) }

func (p Policy) allow(perm Permission) Policy {
	if p.profile != nothing && p.profile != readOnly && p.profile != outside {
		p.permissions |= perm
	}
	return p
}

// Allows reports whether the policy has every permission of the set.
func (p Policy) Allows(set Permission) bool { return set != 0 && p.permissions&set == set }
