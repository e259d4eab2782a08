package sandbox

// The launcher's descriptors, set up by Start.
const (
	fdPlan   = 3 + iota // what the launcher is to do, never in arguments or environment: other processes can read those
	fdStatus            // the launcher's reports
	fdStdin
	fdStdout
	fdStderr
)
