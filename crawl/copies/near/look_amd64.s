#include "textflag.h"

// Sixteen times: the byte before the first of a range, and the one behind its last.
DATA near·ranges<>+0(SB)/8, $0x2020202020202020 // the case of letters; the last that is no sign
DATA near·ranges<>+8(SB)/8, $0x2020202020202020
DATA near·ranges<>+16(SB)/8, $0x6060606060606060 // before a
DATA near·ranges<>+24(SB)/8, $0x6060606060606060
DATA near·ranges<>+32(SB)/8, $0x7b7b7b7b7b7b7b7b // behind z
DATA near·ranges<>+40(SB)/8, $0x7b7b7b7b7b7b7b7b
DATA near·ranges<>+48(SB)/8, $0x2f2f2f2f2f2f2f2f // before 0
DATA near·ranges<>+56(SB)/8, $0x2f2f2f2f2f2f2f2f
DATA near·ranges<>+64(SB)/8, $0x3a3a3a3a3a3a3a3a // behind 9
DATA near·ranges<>+72(SB)/8, $0x3a3a3a3a3a3a3a3a
DATA near·ranges<>+80(SB)/8, $0xe2e2e2e2e2e2e2e2 // before firstWide
DATA near·ranges<>+88(SB)/8, $0xe2e2e2e2e2e2e2e2
DATA near·ranges<>+96(SB)/8, $0xeeeeeeeeeeeeeeee // behind lastWide
DATA near·ranges<>+104(SB)/8, $0xeeeeeeeeeeeeeeee
GLOBL near·ranges<>(SB), RODATA|NOPTR, $112

// SIXTEEN looks at the bytes at an offset: it leaves those of words in R8, those above a
// blank in R9, and adds those that are words of their own to X7. Comparisons are signed, so that bytes
// from 0x80 on are below all others, and the bits of them are those of the signs.
#define SIXTEEN(offset) \
	MOVOU    offset(SI), X0; \
	PMOVMSKB X0, R10;        \
	MOVO     X0, X1;         \
	POR      X8, X1;         \
	MOVO     X10, X2;        \
	PCMPGTB  X1, X2;         \
	PCMPGTB  X9, X1;         \
	PAND     X2, X1;         \
	MOVO     X0, X3;         \
	PCMPGTB  X11, X3;        \
	MOVO     X12, X2;        \
	PCMPGTB  X0, X2;         \
	PAND     X2, X3;         \
	POR      X3, X1;         \
	PMOVMSKB X1, R8;         \
	ORQ      R10, R8;        \
	MOVO     X0, X3;         \
	PCMPGTB  X8, X3;         \
	PMOVMSKB X3, R9;         \
	MOVO     X14, X2;        \
	PCMPGTB  X0, X2;         \
	PCMPGTB  X13, X0;        \
	PAND     X2, X0;         \
	POR      X0, X7

// func look(text string) (inWords, signs uint64, ok bool)
TEXT ·look(SB), NOSPLIT, $0-33
	MOVQ  text_base+0(FP), SI
	MOVOU near·ranges<>+0(SB), X8
	MOVOU near·ranges<>+16(SB), X9
	MOVOU near·ranges<>+32(SB), X10
	MOVOU near·ranges<>+48(SB), X11
	MOVOU near·ranges<>+64(SB), X12
	MOVOU near·ranges<>+80(SB), X13
	MOVOU near·ranges<>+96(SB), X14
	PXOR  X7, X7

	SIXTEEN(0)
	MOVQ R8, AX
	MOVQ R9, BX
	SIXTEEN(16)
	SHLQ $16, R8
	SHLQ $16, R9
	ORQ  R8, AX
	ORQ  R9, BX
	SIXTEEN(32)
	SHLQ $32, R8
	SHLQ $32, R9
	ORQ  R8, AX
	ORQ  R9, BX
	SIXTEEN(48)
	SHLQ $48, R8
	SHLQ $48, R9
	ORQ  R8, AX
	ORQ  R9, BX

	MOVQ     AX, CX
	NOTQ     CX
	ANDQ     CX, BX
	PMOVMSKB X7, R8
	TESTQ    R8, R8
	SETEQ    ok+32(FP)
	MOVQ     AX, inWords+16(FP)
	MOVQ     BX, signs+24(FP)
	RET
