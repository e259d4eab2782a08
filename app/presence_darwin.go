package app

// ChecksPresence says that a dialog can have the system check that it is the person, by Touch ID or their password.
const ChecksPresence = true
