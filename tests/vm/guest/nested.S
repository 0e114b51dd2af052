/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest that is all in its boot sector, for machines that are emulated by an emulated one: no
 * kernel would be up within minutes. By the BIOS it writes one block after the other, of WEAR in
 * turn from the second one of its disk on, each filled with its number, says on the serial port
 * what is on the disk ("written 0000001f"), and reads an earlier one again, of which it says if
 * that is another ("wrong ...") or an I/O failed ("failed ...").
 */
	.code16
	.set BUFFER, 0x8000
	.set AGAIN, 0x8200
	.set WEAR, 4096			/* a power of two */

	.globl	_start
_start:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movw	$0x7c00, %sp
	sti
	cld
	movb	%dl, drive
next:
	incl	number
	movl	number, %eax
	movw	$BUFFER, %di
	movw	$128, %cx
	rep stosl
	movw	$BUFFER, packet + 4
	movb	$0x43, %ah
	movl	number, %ebx
	call	transfer
	movw	$written, %si
	movl	number, %ebx
	call	say

	movl	number, %ebx
	movl	%ebx, %eax
	shrl	$1, %eax
	andl	$WEAR / 2 - 1, %eax
	subl	%eax, %ebx
	pushl	%ebx
	movw	$AGAIN, packet + 4
	movb	$0x42, %ah
	call	transfer
	popl	%ebx
	movw	$AGAIN, %di
	movw	$128, %cx
	movl	%ebx, %eax
	repe scasl
	je	next
	movw	$wrong, %si
	call	say
	jmp	next

/* AH: what to do with block EBX. */
transfer:
	pushl	%ebx
	andl	$WEAR - 1, %ebx
	incl	%ebx
	movl	%ebx, packet + 8
	xorb	%al, %al
	movw	$packet, %si
	movb	drive, %dl
	int	$0x13
	popl	%ebx
	jnc	1f
	movw	$failed, %si
	call	say
1:	ret

/* The text at SI, which ends with a zero, and EBX. */
say:
	lodsb
	testb	%al, %al
	jz	1f
	call	put
	jmp	say
1:	movw	$8, %cx
2:	roll	$4, %ebx
	movb	%bl, %al
	andb	$15, %al
	addb	$'0', %al
	cmpb	$'9', %al
	jbe	3f
	addb	$'a' - '0' - 10, %al
3:	call	put
	loop	2b
	movb	$'\n', %al
put:
	pushw	%ax
	movw	$0x3fd, %dx
4:	inb	%dx, %al
	testb	$0x20, %al
	jz	4b
	popw	%ax
	movw	$0x3f8, %dx
	outb	%al, %dx
	ret

written: .asciz	"written "
wrong:	.asciz	"wrong "
failed:	.asciz	"failed "
drive:	.byte	0
	.balign	4
number:	.long	0
packet:	.byte	16, 0			/* of the BIOS's extended calls: */
	.word	1			/* blocks, */
	.word	0, 0			/* offset and segment of the buffer, */
	.quad	0			/* the first block */

	.org	510
	.word	0xaa55
