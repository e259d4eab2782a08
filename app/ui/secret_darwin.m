#import <AppKit/AppKit.h>

#include "secret_darwin.h"

long copy_secret(const char *text) {
	@autoreleasepool {
		NSString *string = [NSString stringWithUTF8String:text];
		NSPasteboard *board = [NSPasteboard generalPasteboard];
		if (string == nil || board == nil) {
			return -1;
		}
		// Both types are known from nspasteboard.org: the first asks that it not be shown or kept, the second that it not be kept.
		NSPasteboardType concealed = @"org.nspasteboard.ConcealedType", transient = @"org.nspasteboard.TransientType";
		[board declareTypes:@[ NSPasteboardTypeString, concealed, transient ] owner:nil];
		if (![board setString:string forType:NSPasteboardTypeString]) {
			[board clearContents];
			return -1;
		}
		[board setString:@"" forType:concealed];
		[board setString:@"" forType:transient];
		return (long)[board changeCount];
	}
}

void clear_secret(long count) {
	@autoreleasepool {
		NSPasteboard *board = [NSPasteboard generalPasteboard];
		if ([board changeCount] == count) {
			[board clearContents];
		}
	}
}
