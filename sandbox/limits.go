package sandbox

// Limits lists what the sandbox of a system ("darwin" or "linux") doesn't stop or does otherwise, a sentence each, for
// SECURITY.md and `handrail doctor`.
func Limits(system string) []string {
	limits := []string{
		"What a command writes in a granted folder and another program runs later (a script in package.json, a Makefile, a test) runs outside the sandbox then.",
		"A second name (hard link) that the person gave a protected file or a secret is not known: under that name it is an ordinary file.",
		"The processor, memory and disk that a command uses are not bounded.",
		"With the network permission a command can send away all it can read, and receive datagrams (UDP) from others; on Linux at a port that it doesn't choose, unless it has the loopback permission too.",
		"The profile classic is no boundary.",
	}
	switch system {
	case "linux":
		limits = append(limits,
			"With the network permission datagrams (UDP) also reach programs that listen on this computer's own address; connections (TCP) don't, but for name servers on port 53.",
			"Without the loopback permission each command has a loopback of its own: two commands don't reach each other.",
			"Secrets inside a granted folder are hidden if they exist when the command starts; one that comes later can be read until the next start.",
			"Links with a protected name are followed in a granted folder and the folders directly in it, not deeper.",
			"Unix sockets are made only in the session's own folders, and unix datagram sockets not at all.",
			"Debuggers and tracers don't work (ptrace), nor do containers, nested sandboxes and 32-bit programs.",
			"A file has the mode that the command gave it, but never the bit that runs it as its owner.",
			"A program that catches signals without asking for restarts (SA_RESTART) may see a call that changes a file fail with EINTR.",
			"Before Linux 6.12 a command with the network or loopback permission is kept from abstract unix sockets by Handrail alone, not by the kernel too.",
			"With all it started a command has at most 4096 processes and threads at once; some 300 more if Handrail runs as root, and before Linux 6.14 then as many as it can start.",
			"On file systems without inode numbers of their own (some network and FUSE file systems) changes in granted folders may fail.",
		)
	case "darwin":
		limits = append(limits,
			"A new Git, Mercurial or Jujutsu repository can't be made by a command: its settings are protected from the first moment, also in the session's own folders. Handrail's git tool makes a Git one.",
			"The settings of a Git submodule whose name has a slash can be prepared elsewhere and moved to their place.",
			"Where the person has a Git repository whose folder isn't called .git or *.git, its settings are ordinary files to a command. A new one of the kind can't be made: no command makes a file called HEAD outside a folder .git.",
			"Links with a protected name in a granted folder aren't followed; those of the home folder's start-up files are, as they are when a command starts.",
			"Profiles name paths: a granted folder that the person swaps for another while a command runs is that other folder to the command.",
			"A process of the same user can read the arguments and environment of every other; no profile changes that.",
			"Programs that run with another user's rights (ps, top, sudo) can't be started.",
			"Programs with a Seatbelt sandbox of their own (Swift packages, browsers) must be told to leave it out.",
			"With the loopback permission a command can listen on a port on which another program listens at another address, or which that program shares.",
			"How many processes a command starts is bounded with those of the person's other programs together: it can take three quarters of what the system allows them.",
			"Hard links and clones of files are refused.",
		)
	}
	return limits
}
