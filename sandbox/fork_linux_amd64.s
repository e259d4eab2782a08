#include "textflag.h"

// func vfork(call uintptr, args *cloneArgs, size uintptr) (r uintptr)
//
// R12 keeps the way back, for the child's own calls write over its place on the stack.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-32
	MOVQ	call+0(FP), AX
	MOVQ	args+8(FP), DI
	MOVQ	size+16(FP), SI
	POPQ	R12
	SYSCALL
	PUSHQ	R12
	MOVQ	AX, r+24(FP)
	RET
