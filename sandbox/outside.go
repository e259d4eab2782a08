package sandbox

// Outside is no sandbox: a command has all the rights of the person. Start still knows everything that the command starts, so that
// nothing of it is left when it has ended or is killed; on macOS it doesn't ride on Handrail's own privacy permissions.
//
// Not covered: what the command has another program start for it (systemd, cron, launchd, Docker, an app that is opened), and what runs with
// another user's rights.
func Outside(m Machine) Policy { return Policy{profile: outside, machine: m} }
