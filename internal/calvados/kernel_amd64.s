#include "textflag.h"

// Four pairs at a time in AVX2. The layout is kernel.go's: a bead is four floats
// (x, y, z, charge), lists are padded to fours with a bead beyond the cutoff.

DATA num<>+0(SB)/8, $1.0
DATA num<>+8(SB)/8, $4.0                    // cutAH²
DATA num<>+16(SB)/8, $16.0                  // cutDH²
DATA num<>+24(SB)/8, $128.0                 // decayPoints
DATA num<>+32(SB)/8, $0.0078125             // 1/decayPoints
DATA num<>+40(SB)/8, $0.5
DATA num<>+48(SB)/8, $5.0                   // decayReach
DATA num<>+56(SB)/8, $-0.00833333333333333333 // the series of e^-u
DATA num<>+64(SB)/8, $0.04166666666666666667
DATA num<>+72(SB)/8, $-0.16666666666666666667
DATA num<>+80(SB)/8, $-1.0
GLOBL num<>(SB), RODATA|NOPTR, $88

// Y2–Y5 = bead i (Y0) less beads R10–R13 (offsets); Y10 = squares of the distances,
// Y13 = their fourth lanes.
#define DIFFERENCES \
	VSUBPD     (SI)(R10*1), Y0, Y2; \
	VSUBPD     (SI)(R11*1), Y0, Y3; \
	VSUBPD     (SI)(R12*1), Y0, Y4; \
	VSUBPD     (SI)(R13*1), Y0, Y5; \
	VUNPCKLPD  Y3, Y2, Y6; \
	VUNPCKHPD  Y3, Y2, Y7; \
	VUNPCKLPD  Y5, Y4, Y8; \
	VUNPCKHPD  Y5, Y4, Y9; \
	VPERM2F128 $0x20, Y8, Y6, Y10; \
	VPERM2F128 $0x31, Y8, Y6, Y11; \
	VPERM2F128 $0x20, Y9, Y7, Y12; \
	VPERM2F128 $0x31, Y9, Y7, Y13; \
	VMULPD     Y10, Y10, Y10; \
	VFMADD231PD Y11, Y11, Y10; \
	VFMADD231PD Y12, Y12, Y10

// PUSH adds the force over distance at w times the difference D to i (Y1) and takes
// it from the bead at offset R.
#define PUSH(W, D, R) \
	VBROADCASTSD W, Y7; \
	VFMADD231PD  Y7, D, Y1; \
	VMOVUPD      (DI)(R*1), Y8; \
	VFNMADD231PD Y7, D, Y8; \
	VMOVUPD      Y8, (DI)(R*1)

// func stickAVX(x, f *quad, js *uint32, n, i int, table *quad)
TEXT ·stickAVX(SB), NOSPLIT, $32-48
	MOVQ x+0(FP), SI
	MOVQ f+8(FP), DI
	MOVQ js+16(FP), BX
	MOVQ n+24(FP), CX
	MOVQ i+32(FP), R9
	MOVQ table+40(FP), R8
	SHLQ $5, R9
	VMOVUPD (SI)(R9*1), Y0
	VXORPD Y1, Y1, Y1
	VBROADCASTSD num<>+0(SB), Y14
	VBROADCASTSD num<>+8(SB), Y15

sticky:
	MOVL 0(BX), R10
	MOVL 4(BX), R11
	MOVL 8(BX), R12
	MOVL 12(BX), R13
	ANDL $0x7ffffff, R10
	ANDL $0x7ffffff, R11
	ANDL $0x7ffffff, R12
	ANDL $0x7ffffff, R13
	SHLQ $5, R10
	SHLQ $5, R11
	SHLQ $5, R12
	SHLQ $5, R13
	DIFFERENCES
	VDIVPD Y10, Y14, Y11 // 1/r²

	MOVL 0(BX), AX
	MOVL 4(BX), DX
	SHRL $27, AX
	SHRL $27, DX
	SHLQ $5, AX
	SHLQ $5, DX
	VMOVUPD (R8)(AX*1), Y6
	VMOVUPD (R8)(DX*1), Y7
	MOVL 8(BX), AX
	MOVL 12(BX), DX
	SHRL $27, AX
	SHRL $27, DX
	SHLQ $5, AX
	SHLQ $5, DX
	VMOVUPD (R8)(AX*1), Y8
	VMOVUPD (R8)(DX*1), Y9
	VUNPCKLPD Y7, Y6, Y12
	VUNPCKHPD Y7, Y6, Y13
	VUNPCKLPD Y9, Y8, Y6
	VUNPCKHPD Y9, Y8, Y7
	VPERM2F128 $0x20, Y6, Y12, Y8  // c6
	VPERM2F128 $0x31, Y6, Y12, Y9  // min2
	VPERM2F128 $0x20, Y7, Y13, Y6  // c12
	VPERM2F128 $0x31, Y7, Y13, Y12 // λ

	VMULPD Y11, Y11, Y13
	VMULPD Y11, Y13, Y13         // 1/r⁶
	VFMSUB213PD Y8, Y13, Y6      // c12/r⁶ − c6
	VMULPD Y11, Y13, Y13
	VMULPD Y13, Y6, Y6
	VCMPPD $1, Y9, Y10, Y7       // within the minimum: whole, else times λ
	VBLENDVPD Y7, Y14, Y12, Y8
	VMULPD Y8, Y6, Y6
	VCMPPD $1, Y15, Y10, Y7      // nothing beyond the cutoff
	VANDPD Y7, Y6, Y6
	VMOVUPD Y6, w-32(SP)
	PUSH(w-32(SP), Y2, R10)
	PUSH(w-24(SP), Y3, R11)
	PUSH(w-16(SP), Y4, R12)
	PUSH(w-8(SP), Y5, R13)

	ADDQ $16, BX
	SUBQ $4, CX
	JG sticky

	VADDPD (DI)(R9*1), Y1, Y1
	VMOVUPD Y1, (DI)(R9*1)
	VZEROUPPER
	RET

// func repelAVX(x, f *quad, js *uint32, n, i int, decay *float64, qa, kappa float64)
TEXT ·repelAVX(SB), NOSPLIT, $32-64
	MOVQ x+0(FP), SI
	MOVQ f+8(FP), DI
	MOVQ js+16(FP), BX
	MOVQ n+24(FP), CX
	MOVQ i+32(FP), R9
	MOVQ decay+40(FP), R8
	SHLQ $5, R9
	VMOVUPD (SI)(R9*1), Y0
	VXORPD Y1, Y1, Y1
	VBLENDPD $8, Y1, Y0, Y0 // so that the fourth lane of a difference is −q_j

charged:
	MOVL 0(BX), R10
	MOVL 4(BX), R11
	MOVL 8(BX), R12
	MOVL 12(BX), R13
	SHLQ $5, R10
	SHLQ $5, R11
	SHLQ $5, R12
	SHLQ $5, R13
	DIFFERENCES
	VSQRTPD Y10, Y11             // r
	VBROADCASTSD num<>+0(SB), Y6
	VDIVPD Y11, Y6, Y12          // 1/r
	VBROADCASTSD num<>+48(SB), Y7
	VMINPD Y7, Y11, Y8           // keeps what is far, or no number, within the table
	VBROADCASTSD num<>+24(SB), Y9
	VBROADCASTSD num<>+40(SB), Y14
	VFMADD213PD Y14, Y8, Y9
	VCVTTPD2DQY Y9, X14          // nearest point of the table
	VCVTDQ2PD X14, Y15
	VMOVQ X14, AX                // a gather is slower, on processors mended against its leaks by far
	VPEXTRQ $1, X14, DX
	MOVL AX, R9
	SHRQ $32, AX
	VMOVSD (R8)(R9*8), X7
	VMOVHPD (R8)(AX*8), X7, X7
	MOVL DX, R9
	SHRQ $32, DX
	VMOVSD (R8)(R9*8), X6
	VMOVHPD (R8)(DX*8), X6, X6
	VINSERTF128 $1, X6, Y7, Y7
	VBROADCASTSD num<>+32(SB), Y9
	VFNMADD231PD Y9, Y15, Y8
	VBROADCASTSD kappa+56(FP), Y6
	VMULPD Y6, Y8, Y8            // u
	VBROADCASTSD num<>+56(SB), Y9
	VBROADCASTSD num<>+64(SB), Y14
	VBROADCASTSD num<>+72(SB), Y15
	VFMADD213PD Y14, Y8, Y9
	VFMADD213PD Y15, Y8, Y9
	VBROADCASTSD num<>+40(SB), Y14
	VBROADCASTSD num<>+80(SB), Y15
	VFMADD213PD Y14, Y8, Y9
	VFMADD213PD Y15, Y8, Y9
	VBROADCASTSD num<>+0(SB), Y14
	VFMADD213PD Y14, Y8, Y9      // e^-u
	VMULPD Y7, Y9, Y9            // e^-κr
	VADDPD Y12, Y6, Y6           // 1/r + κ
	VMULPD Y12, Y12, Y12
	VBROADCASTSD qa+48(FP), Y7
	VMULPD Y13, Y7, Y7
	VMULPD Y12, Y6, Y6
	VMULPD Y7, Y9, Y9
	VMULPD Y6, Y9, Y9
	VBROADCASTSD num<>+16(SB), Y15
	VCMPPD $1, Y15, Y10, Y7
	VANDPD Y7, Y9, Y9
	VMOVUPD Y9, w-32(SP)
	PUSH(w-32(SP), Y2, R10)
	PUSH(w-24(SP), Y3, R11)
	PUSH(w-16(SP), Y4, R12)
	PUSH(w-8(SP), Y5, R13)

	ADDQ $16, BX
	SUBQ $4, CX
	JG charged

	MOVQ i+32(FP), R9
	SHLQ $5, R9
	VADDPD (DI)(R9*1), Y1, Y1
	VMOVUPD Y1, (DI)(R9*1)
	VZEROUPPER
	RET
