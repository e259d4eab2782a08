package sandbox

import (
	"slices"
	"sync"
)

// compiled is a policy made ready: for decisions, as a profile, as text for the launcher. Each part is made once, when it is
// first asked for, and is not changed afterwards.
//
// All of it follows from text alone, which holds every field of the policy: policies with the same text are the same, and
// nothing that the maker of a policy does later with the slices it gave reaches what was made. What depends on the disk (which
// folders exist, what a link leads to, a place's identity) is no part of it and looked at for each command.
type compiled struct {
	text    string
	valid   func() error
	index   func() *index
	profile func() profileText
}

// profileText is a policy as a Seatbelt profile.
type profileText struct {
	text   string
	params []Param
	err    error
}

// maxCompiled bounds how many policies are kept ready: those of a few sessions, with and without a permission.
const maxCompiled = 16

var ready struct {
	sync.Mutex
	policies []*compiled // used last first
}

// compiled gives what was made of the policy, or begins it.
func (p Policy) compiled() *compiled {
	w := &wire{}
	p.carry(w)
	ready.Lock()
	defer ready.Unlock()
	i := slices.IndexFunc(ready.policies, func(c *compiled) bool { return c.text == string(w.text) })
	if i < 0 {
		i = min(len(ready.policies), maxCompiled-1)
		ready.policies = append(ready.policies[:i], compile(string(w.text)))
	}
	c := ready.policies[i]
	copy(ready.policies[1:], ready.policies[:i])
	ready.policies[0] = c
	return c
}

func compile(text string) *compiled {
	var p Policy
	if take([]byte(text), p.carry) != nil {
		p = Policy{} // which allows nothing
	}
	return &compiled{
		text:  text,
		valid: sync.OnceValue(p.validate),
		index: sync.OnceValue(p.index),
		profile: sync.OnceValue(func() (t profileText) {
			t.text, t.params, t.err = p.sbpl()
			return t
		}),
	}
}
