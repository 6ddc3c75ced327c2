package exchange

// NewTransport makes what a Server uses that is given no other.
var NewTransport = newTransport
