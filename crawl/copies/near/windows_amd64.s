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

// Sixteen bytes that are kept, and sixteen that are not: the mask of a word of n bytes begins n
// before the middle.
DATA near·masks<>+0(SB)/8, $0xffffffffffffffff
DATA near·masks<>+8(SB)/8, $0xffffffffffffffff
DATA near·masks<>+16(SB)/8, $0
DATA near·masks<>+24(SB)/8, $0
GLOBL near·masks<>(SB), RODATA|NOPTR, $32

// The factors of partHash.
DATA near·primes<>+0(SB)/8, $0x9e3779b97f4a7c15
DATA near·primes<>+8(SB)/8, $0xd1b54a32d192ed03
GLOBL near·primes<>(SB), RODATA|NOPTR, $16

// func windows(text string, words []word) (at, n int)
//
// SI is the window, R13 where its words go, R15 how many bytes of these there are already. The
// stack has, for each byte of the window at which a word begins, where that word went. Processors
// without TZCNT take it for BSF, which is the same unless no bit is set: one always is.
TEXT ·windows(SB), NOSPLIT, $128-56
	MOVQ  text_base+0(FP), SI
	MOVQ  words_base+16(FP), R13
	MOVOU near·ranges<>+0(SB), X8
	MOVOU near·ranges<>+16(SB), X9
	MOVOU near·ranges<>+32(SB), X10
	MOVOU near·ranges<>+48(SB), X11
	MOVOU near·ranges<>+64(SB), X12
	MOVOU near·ranges<>+80(SB), X13
	MOVOU near·ranges<>+96(SB), X14
	LEAQ  near·masks<>+16(SB), R14

window:
	MOVQ text_base+0(FP), AX
	ADDQ text_len+8(FP), AX
	LEAQ (64+16)(SI), BX
	CMPQ BX, AX
	JHI  done
	MOVQ words_len+24(FP), AX
	SHLQ $4, AX
	ADDQ words_base+16(FP), AX
	LEAQ (32*16)(R13), BX
	CMPQ BX, AX
	JHI  done

	PXOR X7, X7
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

	PMOVMSKB X7, R8
	TESTQ    R8, R8
	JNE      done

	// AX has a bit for the first byte of each word, R12 one for the byte after each.
	LEAQ (AX)(AX*1), R8
	MOVQ AX, R12
	NOTQ R12
	ANDQ R12, BX          // signs
	ANDQ R8, R12
	NOTQ R8
	ANDQ R8, AX
	MOVQ AX, R11
	XORL R15, R15
	XORL DX, DX           // after the last word that was taken
	TESTQ R12, R12
	JEQ  done

word:
	TZCNTQ  R11, R8
	TZCNTQ  R12, R9
	MOVQ    R8, R10
	SUBQ    R9, R10
	CMPQ    R10, $-16
	JLT     taken
	MOVQ    R9, DX
	LEAQ    -1(R11), R9
	ANDQ    R9, R11
	LEAQ    -1(R12), R9
	ANDQ    R9, R12
	MOVW    R15, (SP)(R8*2)
	MOVOU   (SI)(R8*1), X0
	MOVOU   (R14)(R10*1), X2
	MOVO    X0, X1
	PSRLW   $2, X1
	PANDN   X8, X1
	POR     X1, X0
	PAND    X2, X0
	MOVQ    X0, CX
	PSRLDQ  $8, X0
	MOVQ    X0, R9
	LEAL    -48(CX), R8
	CMPB    R8, $10
	SETCS   8(R13)(R15*1)
	IMULQ   near·primes<>+0(SB), CX
	IMULQ   near·primes<>+8(SB), R9
	ADDQ    R9, CX
	MOVQ    CX, R9
	SHRQ    $32, R9
	XORQ    R9, CX
	MOVQ    CX, (R13)(R15*1)
	ADDQ    $16, R15
	TESTQ   R12, R12
	JNE     word

taken:
	TESTQ R15, R15
	JEQ   done
	MOVQ  DX, CX
	MOVL  $1, R8
	SHLQ  CX, R8
	DECQ  R8
	ANDQ  R8, BX
	JEQ   next
	MOVL  $-1, R12        // where the word went that the last sign stands before
	XORL  R10, R10

sign:
	TZCNTQ  BX, R8
	MOVBLZX (SI)(R8*1), CX
	MOVQ    BX, R9
	NEGQ    R9
	MOVQ    AX, R11
	ANDQ    R9, R11       // the words behind it
	ANDQ    BX, R9
	XORQ    R9, BX
	TZCNTQ  R11, R11
	MOVWLZX (SP)(R11*2), R11
	XORL    R9, R9
	CMPL    R11, R12
	CMOVQEQ R10, R9       // what signs have made before this word
	MOVL    R11, R12
	MOVQ    R9, R10
	XORQ    CX, R10
	IMULQ   near·primes<>+0(SB), R10
	XORQ    R10, R9
	XORQ    R9, (R13)(R11*1)
	TESTQ   BX, BX
	JNE     sign

next:
	ADDQ DX, SI
	ADDQ R15, R13
	JMP  window

done:
	SUBQ text_base+0(FP), SI
	SUBQ words_base+16(FP), R13
	SHRQ $4, R13
	MOVQ SI, at+40(FP)
	MOVQ R13, n+48(FP)
	RET
