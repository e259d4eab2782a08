package tool

// installing says how a person gets a program.
var installing = map[string]string{
	"python3": "from python.org, or with Homebrew (brew install python)",
	"git":     "with Homebrew (brew install git), or with Apple's developer tools (xcode-select --install)",
}
