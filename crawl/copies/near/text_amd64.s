#include "go_asm.h"
#include "textflag.h"

// The factors of fold.
DATA near·factors<>+0(SB)/8, $0x9e3779b97f4a7c15
DATA near·factors<>+8(SB)/8, $0xd1b54a32d192ed03
GLOBL near·factors<>(SB), RODATA|NOPTR, $16

// gramStep and gramOut.
DATA near·steps<>+0(SB)/8, $0x9e3779b97f4a7c55
DATA near·steps<>+8(SB)/8, $0xe5288d069d076261
GLOBL near·steps<>(SB), RODATA|NOPTR, $16

// func plain(r *reader, s *Signature, words []word) (n int)
//
// R8 is the hash of the text, R9 the gram, R10 what the last word brings to a pair, R11 how many
// words there were, R14 how many pairs are new.
TEXT ·plain(SB), NOSPLIT, $0-48
	MOVQ r+0(FP), DI
	MOVQ s+8(FP), R13
	MOVQ words_base+16(FP), SI
	MOVQ words_len+24(FP), R15
	SHLQ $4, R15
	ADDQ SI, R15
	MOVQ Signature_text(R13), R8
	MOVQ reader_gram(DI), R9
	MOVQ reader_before(DI), R10
	MOVQ reader_words(DI), R11
	XORL R14, R14
	MOVQ near·steps<>+0(SB), R13
	JMP  check

word:
	MOVQ  (SI), R12
	ADDQ  $16, SI
	ROLQ  $5, R8
	IMULQ R13, R8
	ADDQ  R12, R8

	// The gram gets the word, and loses the oldest one.
	MOVQ  R11, AX
	ANDL  $(const_gramWords-1), AX
	MOVQ  reader_last(DI)(AX*8), BX
	MOVQ  R12, reader_last(DI)(AX*8)
	IMULQ near·steps<>+8(SB), BX
	IMULQ R13, R9
	ADDQ  R12, R9
	SUBQ  BX, R9
	INCQ  R11

	// The pair, and whether it is new.
	MOVQ   near·factors<>+0(SB), AX
	XORQ   R12, AX
	XORQ   near·factors<>+8(SB), R10
	MULQ   R10
	XORQ   DX, AX
	MOVQ   R12, R10
	ROLQ   $23, R10
	SHRQ   $32, AX
	IMUL3Q $(const_sketchBits*const_pairParts), AX, AX
	SHRQ   $32, AX
	MOVQ   AX, DX
	SHRQ   $6, DX
	MOVQ   reader_pairs(DI)(DX*8), BX
	BTSQ   AX, BX
	MOVQ   BX, reader_pairs(DI)(DX*8)
	SBBQ   BX, BX
	INCQ   BX
	ADDQ   BX, R14
	SHRQ   $9, AX            // by pairParts
	MOVQ   AX, CX
	SHRQ   $6, AX
	MOVQ   BX, DX
	SHLQ   CX, DX
	XORQ   DX, reader_sketch(DI)(AX*8)

	CMPQ  R11, $const_gramWords
	JLT   check
	MOVQ  R9, CX
	IMULQ near·factors<>+0(SB), CX
	SHRQ  $32, CX
	LEAQ  (CX)(CX*2), CX    // scale by gramBits, which is 3<<6
	SHRQ  $26, CX
	MOVQ  CX, AX
	SHRQ  $6, AX
	SHLQ  CX, BX
	XORQ  BX, reader_grams(DI)(AX*8)

check:
	CMPQ SI, R15
	JEQ  done
	CMPB 8(SI), $0
	JEQ  word

done:
	MOVQ s+8(FP), R13
	MOVQ R8, Signature_text(R13)
	ADDL R14, Signature_pairs(R13)
	MOVQ R9, reader_gram(DI)
	MOVQ R10, reader_before(DI)
	MOVQ R11, reader_words(DI)
	SUBQ words_base+16(FP), SI
	SHRQ $4, SI
	MOVQ SI, n+40(FP)
	RET
