#include "textflag.h"

// func vfork(call uintptr, args *cloneArgs, size uintptr) (r uintptr)
//
// The way back stays in its register, R30, which the child has a copy of.
TEXT ·vfork(SB),NOSPLIT|NOFRAME,$0-32
	MOVD	call+0(FP), R8
	MOVD	args+8(FP), R0
	MOVD	size+16(FP), R1
	SVC
	MOVD	R0, r+24(FP)
	RET
