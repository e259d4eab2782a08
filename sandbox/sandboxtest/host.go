package sandboxtest

// hostCommand makes the test program a host that is killed while a command of it runs.
const hostCommand = "sandboxtest-host"

func host(args []string) int { return 0 }
