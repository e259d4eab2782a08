package approval

// Pairing is an assistant that wants to connect for the first time, and what it gets if the person allows it. All but Name, Level
// and Resource is what it says of itself: any program can say the same.
type Pairing struct {
	// Name is what the client will be called in Handrail's lists.
	Name string `json:"name"`
	// Level is what it may do at most: "look" or "ask".
	Level string `json:"level"`
	// Claimed is what it calls itself; "" if it gave no name.
	Claimed string `json:"claimed,omitempty"`
	// Document is the address of the web page that describes it, from which its name and Redirect were read; "" if it described
	// itself.
	Document string `json:"document,omitempty"`
	// ClientSHA256 is that of its OAuth client identifier, in hex.
	ClientSHA256 string `json:"client_sha256"`
	// Redirect is the address to which the browser takes the answer. Whoever listens there gets in.
	Redirect string `json:"redirect"`
	// Resource is the endpoint's address that it gets in at.
	Resource string `json:"resource"`
	// Challenge is the S256 code challenge of who began this (RFC 7636): nobody else can use the answer.
	Challenge string `json:"challenge"`
}
