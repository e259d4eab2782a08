// Package sandbox runs one command under a policy that the kernel enforces.
//
// A [Policy] is a value that says what a command may reach. The zero Policy allows nothing; a profile ([Guarded],
// [ReadOnly], [Classic]) allows what it names, and each method that widens a policy says so in its name and returns a copy:
//
//	p := sandbox.Guarded(machine).AllowWrite(folder)
//	proc, err := sandbox.Start(p, sandbox.Command{Argv: []string{"/bin/sh", "-c", script}, Dir: folder.Path})
//
// [Start] refuses, with an [UnavailableError], where the policy can't be enforced. Nothing ever runs unsandboxed.
//
// The same value answers [Policy.Decide], for programs of ours that change files themselves and have no kernel around them,
// and prints itself as a Seatbelt profile ([Policy.SBPL]). On macOS the profile is given to sandbox-exec. On Linux a command
// starts inside bubblewrap, with its whole view mounted read-only but for its temporary folder; a supervisor beside it
// (`handrail launch`, the same executable) does, on descriptors it has checked, each change in a granted folder that Decide
// allows. SECURITY.md says what neither stops.
package sandbox
