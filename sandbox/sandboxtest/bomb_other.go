//go:build !linux

package sandboxtest

const bombCommand = "sandboxtest-bomb"

func bombHost() int { return 1 }
