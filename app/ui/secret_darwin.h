// copy_secret puts a text into the general pasteboard, marked as one that managers of clipboards don't keep, and gives the
// pasteboard's count of changes then; -1 if it can't.
long copy_secret(const char *text);

// clear_secret takes out what copy_secret put in, unless something else was copied since.
void clear_secret(long count);
