package sandbox

// The launcher's descriptors, set up by Start. The plan says how many folders follow fdHeld.
const (
	fdArgs    = 3 + iota // bubblewrap's arguments; it closes them
	fdPlan               // what the launcher is to do, never in arguments or environment: other processes can read those
	fdSelf               // the launcher's executable
	fdStatus             // the launcher's reports
	fdControl            // orders from the host; its end of file is the host's end
	fdStdin
	fdStdout
	fdStderr
	fdHeld
)

// The host's orders.
const orderTerminate = 't'
