//! Where memory comes from: large blocks are not copied into forked children.
//!
//! A prepared process is a fork that may wait for hours. Whatever large buffer the supervisor had at the fork would stay
//! allocated twice as soon as one side writes to it. So blocks from [`LARGE`] on come from mappings of their own that
//! children do not have; nothing between fork and exec touches the heap.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// Blocks of this size and more, in bytes, are mapped.
const LARGE: usize = 64 * 1024;

/// The allocator: the system's for small blocks, mappings for large ones.
pub struct Memory;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= 4096
}

// SAFETY: each block goes back to where it came from, since size and alignment decide and both are passed back; mappings
// are page-aligned, zeroed, and as long as was asked for.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: the caller's promises are passed on.
            return unsafe { System.alloc(layout) };
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping; madvise of just that range.
        unsafe {
            let block = libc::mmap(ptr::null_mut(), layout.size(), protection, flags, -1, 0);
            if block == libc::MAP_FAILED {
                return ptr::null_mut();
            }
            libc::madvise(block, layout.size(), libc::MADV_DONTFORK);
            block.cast()
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            // SAFETY: as above; new mappings are zero.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back what `alloc` gave for this layout.
        unsafe {
            if is_large(layout) {
                libc::munmap(block.cast(), layout.size());
            } else {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size`, rounded up to the alignment, does not overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: each branch keeps a block with its own kind; the last copies what both have.
        unsafe {
            match (is_large(layout), is_large(wanted)) {
                (false, false) => System.realloc(block, layout, size),
                (true, true) => {
                    let moved = libc::mremap(block.cast(), layout.size(), size, libc::MREMAP_MAYMOVE);
                    if moved == libc::MAP_FAILED { ptr::null_mut() } else { moved.cast() }
                }
                _ => {
                    let other = self.alloc(wanted);
                    if !other.is_null() {
                        ptr::copy_nonoverlapping(block, other, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    other
                }
            }
        }
    }
}
