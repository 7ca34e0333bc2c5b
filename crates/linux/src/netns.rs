//! Network namespaces that are removed with their last descriptor.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::fs::{fstat, stat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::Context;
use crate::link::RouteSocket;
use crate::link::message::Message;

/// The calling thread's own namespace, which differs from the process's after the thread has moved.
const THREADS_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// A network namespace, held by a descriptor only.
///
/// It has no name and no mount, so it does not outlive the process. The kernel removes it with all
/// its devices when its last descriptor, socket and thread are closed. Cloning is cheap and returns
/// the same namespace.
#[derive(Debug, Clone)]
pub struct NetNs(Arc<NamespaceHandles>);

#[derive(Debug)]
struct NamespaceHandles {
    namespace: OwnedFd,
    route: Mutex<RouteSocket>,
}

impl NetNs {
    /// Returns the calling thread's namespace.
    ///
    /// # Errors
    /// The error of opening `/proc/thread-self/ns/net` or a netlink socket.
    pub fn current() -> io::Result<Self> {
        Self::open(Path::new(THREADS_NAMESPACE))
    }

    /// Opens an existing namespace: `/proc/PID/ns/net`, or `/run/netns/NAME` if it has a name.
    ///
    /// # Errors
    /// `NotFound`; `PermissionDenied` without CAP_SYS_ADMIN; `InvalidInput` if the file is not a
    /// network namespace.
    pub fn open(path: &Path) -> io::Result<Self> {
        // std opens files close-on-exec, so that a started program does not hold the namespace.
        let namespace = OwnedFd::from(File::open(path).context("open", path)?);
        let route = in_short_thread(|| {
            enter(namespace.as_fd())?;
            RouteSocket::open(None)
        })??;
        Ok(Self(Arc::new(NamespaceHandles {
            namespace,
            route: Mutex::new(route),
        })))
    }

    /// Moves the calling thread into the namespace permanently. Threads and programs that it starts
    /// later inherit the namespace.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN.
    pub fn enter(&self) -> io::Result<()> {
        enter(self.as_fd())
    }

    /// Runs `work` inside the namespace, in a temporary thread. Sockets opened there stay in the
    /// namespace and can be used from any thread. A panic of `work` is propagated to the caller.
    ///
    /// A thread that is in the namespace already needs no privilege.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be created or cannot enter the namespace; `work` has
    /// not run then.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        in_short_thread(|| {
            enter(self.as_fd())?;
            Ok(work())
        })?
    }

    /// Opens a socket of the namespace. The inner error is that of `socket`.
    pub(crate) fn socket(
        &self,
        family: AddressFamily,
        kind: SocketType,
        flags: SocketFlags,
    ) -> io::Result<rustix::io::Result<OwnedFd>> {
        let flags = flags | SocketFlags::CLOEXEC;
        self.run(|| socket_with(family, kind, flags, None))
    }

    /// Mounts a sysfs with the devices of the namespace. It has no path: it is reachable through
    /// the descriptor only, and unmounted with it.
    pub(crate) fn mount_sysfs(&self) -> io::Result<OwnedFd> {
        let harmless = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = || {
            let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, harmless)
        };
        self.run(mount)?
            .context("fsopen", "sysfs of a network namespace")
    }

    /// Sends a request to the namespace's route netlink; `take` receives the response, as (type,
    /// payload). An error names the `call` and its object.
    pub(crate) fn request(
        &self,
        call: &'static str,
        object: &str,
        request: Message,
        take: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        // Each request leaves the socket in its initial state, so a poisoned lock is usable.
        let mut route = self.0.route.lock().unwrap_or_else(PoisonError::into_inner);
        route.request(request, take).context(call, object)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.namespace.as_fd()
    }
}

/// Entering the current namespace would require a privilege without need.
fn enter(namespace: BorrowedFd<'_>) -> io::Result<()> {
    if is_in(namespace) {
        return Ok(());
    }
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))
        .context("setns", "network namespace")
}

/// Returns `true` if the calling thread is in `namespace`. Each namespace has a file of its own in
/// one file system.
fn is_in(namespace: BorrowedFd<'_>) -> bool {
    match (fstat(namespace), stat(THREADS_NAMESPACE)) {
        (Ok(held), Ok(here)) => (held.st_dev, held.st_ino) == (here.st_dev, here.st_ino),
        _ => false,
    }
}

/// Runs `work` in a thread of its own, so that the namespace of the caller never changes.
pub(crate) fn in_short_thread<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("taut-netns".to_owned())
            .spawn_scoped(scope, work)
            .context("clone", "thread for a namespace")?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Returns the identity of the calling thread's namespace.
#[cfg(test)]
fn identity() -> io::Result<std::path::PathBuf> {
    std::fs::read_link(THREADS_NAMESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;

    #[test]
    fn current_namespace_is_that_of_the_thread() {
        let here = NetNs::current().expect("own namespace");
        assert!(
            identity()
                .expect("readable")
                .to_string_lossy()
                .starts_with("net:[")
        );
        assert!(link::statistics(&here, "lo").is_ok());
    }

    #[test]
    fn file_of_another_type_is_not_a_namespace() {
        assert!(NetNs::open(Path::new("/nowhere")).is_err());
        let error = NetNs::open(Path::new("/proc/self/stat")).expect_err("not a namespace");
        assert!(error.to_string().starts_with("setns"), "{error}");
    }
}
