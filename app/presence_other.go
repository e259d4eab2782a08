//go:build !darwin

package app

// ChecksPresence says that no dialog here can have the system check that it is the person.
const ChecksPresence = false
