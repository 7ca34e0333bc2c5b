//! The `bpf` system call: a map of sockets, a program of six instructions, and its link to a
//! device.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;

/// Attached in the stack, or in the driver (`XDP_FLAGS_SKB_MODE`, `XDP_FLAGS_DRV_MODE`).
pub(crate) const FLAG_GENERIC: u32 = 1 << 1;
pub(crate) const FLAG_NATIVE: u32 = 1 << 2;

/// Returns a `struct bpf_insn`.
fn instruction(code: u8, destination: u8, source: u8, offset: i16, immediate: i32) -> [u8; 8] {
    let registers = if cfg!(target_endian = "little") {
        source << 4 | destination
    } else {
        destination << 4 | source
    };
    let ([o0, o1], [i0, i1, i2, i3]) = (offset.to_ne_bytes(), immediate.to_ne_bytes());
    [code, registers, o0, o1, i0, i1, i2, i3]
}

/// Redirects each packet to the socket of its queue in `map`, or passes it if there is none:
/// `return bpf_redirect_map(map, ctx->rx_queue_index, XDP_PASS)`.
fn redirect(map: BorrowedFd<'_>) -> [[u8; 8]; 6] {
    /// Offset of the queue in `struct xdp_md`.
    const RX_QUEUE_INDEX: i16 = 16;
    /// The constant is a map, by its descriptor.
    const PSEUDO_MAP_FD: u8 = 1;
    const XDP_PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    [
        // r2 = the queue; r1 is the context initially.
        instruction(0x61, 2, 1, RX_QUEUE_INDEX, 0),
        // r1 = the map, a constant of 64 bits in two slots.
        instruction(0x18, 1, PSEUDO_MAP_FD, 0, map.as_raw_fd()),
        instruction(0, 0, 0, 0, 0),
        // r3 = the action for a queue without a socket.
        instruction(0xb7, 3, 0, 0, XDP_PASS),
        instruction(0x85, 0, 0, 0, REDIRECT_MAP),
        instruction(0x95, 0, 0, 0, 0),
    ]
}

/// Makes the call with `attributes`, one of the structs of `union bpf_attr`.
fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: the pointer and length describe `attributes`, which outlives the call and is only
    // read; the memory to which it refers outlives the call as well, see each caller.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = i32::try_from(result).map_err(|_| io::ErrorKind::InvalidData)?;
    // SAFETY: the kernel just returned this descriptor (close-on-exec, as all of `bpf`), and it has
    // no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Creates a map from queues to AF_XDP sockets.
pub(crate) fn socket_map(queues: u32) -> io::Result<OwnedFd> {
    // Type, bytes of a key and of a value, entries, flags.
    let attributes = [MAP_TYPE_XSKMAP, 4, 4, queues, 0];
    descriptor(bpf(MAP_CREATE, &attributes)?)
}

/// Puts a socket into the map. The kernel removes it when it is closed.
pub(crate) fn set_socket(
    map: BorrowedFd<'_>,
    queue: u32,
    socket: BorrowedFd<'_>,
) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        map: u32,
        padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let value = socket.as_raw_fd() as u32;
    let attributes = Attributes {
        map: map.as_raw_fd() as u32,
        padding: 0,
        key: (&raw const queue) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    bpf(MAP_UPDATE_ELEM, &attributes).map(drop)
}

/// Loads the program that redirects packets to the sockets of `map`.
pub(crate) fn load_redirect(map: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attributes {
        kind: u32,
        instructions: u32,
        first_instruction: u64,
        license: u64,
        /// A log, the version of the kernel, flags.
        unused: [u64; 3],
        name: [u8; 16],
        device: u32,
        expected_attach_type: u32,
    }
    let program = redirect(map);
    let attributes = Attributes {
        kind: PROG_TYPE_XDP,
        instructions: program.len() as u32,
        first_instruction: program.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        unused: [0; 3],
        name: *b"taut_redirect\0\0\0",
        device: 0,
        expected_attach_type: ATTACH_TYPE_XDP,
    };
    descriptor(bpf(PROG_LOAD, &attributes)?)
}

/// Attaches a program to the device `index` until the returned link is closed.
pub(crate) fn attach(program: BorrowedFd<'_>, index: u32, flags: u32) -> io::Result<OwnedFd> {
    let attributes = [program.as_raw_fd() as u32, index, ATTACH_TYPE_XDP, flags];
    descriptor(bpf(LINK_CREATE, &attributes)?)
}
