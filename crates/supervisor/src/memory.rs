//! Where memory comes from: large blocks are not copied into forked children.
//!
//! A prepared process is a fork that may wait for hours. Whatever large buffer the supervisor had at the fork would stay
//! allocated twice as soon as one side writes to it. So blocks from [`LARGE`] on come from mappings of their own that
//! children do not have, and the heap of the small ones is hidden from them too: nothing between fork and exec touches it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where the heap began when the first block was taken; before that lies what a child needs (a static binary's
/// thread-local storage).
static HEAP: AtomicUsize = AtomicUsize::new(0);
const PAGE: usize = 4096;

/// Blocks of this size and more, in bytes, are mapped.
const LARGE: usize = 64 * 1024;

/// The allocator: the system's for small blocks, mappings for large ones.
pub struct Memory;

fn heap_end() -> usize {
    // SAFETY: asks for the break without moving it.
    unsafe { libc::sbrk(0) as usize }
}

/// Keeps what is on the heap now out of children that are forked from now on. Only for children that never touch it.
pub fn hide_heap_from_children() {
    let start = HEAP.load(Ordering::Relaxed).next_multiple_of(PAGE);
    let length = heap_end().saturating_sub(start);
    if start != 0 && length > 0 {
        // SAFETY: advice about the heap's own pages; refused, it changes nothing.
        unsafe { libc::madvise(ptr::with_exposed_provenance_mut(start), length, libc::MADV_DONTFORK) };
    }
}

/// Gives memory that a burst left free back to the system.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number; locks the heap itself.
    unsafe {
        libc::malloc_trim(0);
    }
}

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

// SAFETY: each block goes back to where it came from, since size and alignment decide and both are passed back; mappings
// are page-aligned, zeroed, and as long as was asked for.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            if HEAP.load(Ordering::Relaxed) == 0 {
                HEAP.store(heap_end(), Ordering::Relaxed);
            }
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
