package tool

// mdfind asks the system's index of files (mdfind(1)).
const mdfind = "/usr/bin/mdfind"
