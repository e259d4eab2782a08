package app

const pageOpener = "/usr/bin/open"
