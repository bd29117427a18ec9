//! Gives the memory that a load took back to the system: the only unsafe code of the project, two calls of the C library.
//!
//! Glibc's allocator gives back the ends of its heaps only, and one small piece that lives on holds all before it. After a
//! crowd of a thousand callers 190 MiB stayed with a gateway that needed 50. [`give_back`] returns every free page.
//! Other allocators do so by themselves, or get no word from here.

/// Large pieces are mappings of their own from now on, so that they go back when they are freed. By itself glibc takes
/// them from its heaps as soon as one of that size was freed.
pub fn map_large_pieces() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const LARGE: i32 = 128 * 1024;
        // SAFETY: `mallopt` takes two numbers, and may be called at any time by any thread.
        unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
    }
}

/// Returns every free page of the heap. Takes some milliseconds for each 10 MiB, in which other threads may wait for
/// memory.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` takes a number, and may be called at any time by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
