// SPDX-License-Identifier: GPL-2.0
// Numbers of the kernel put into words (Documentation/ABI/testing, protocol F).
#include "failure.hh"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace rnbdadm {

const ExitText kExitTexts[14] = {
    {Exit::Done, "done", "what was asked is done, or was so already"},
    {Exit::Failed, "failed", "the kernel or the server refused; the message says why"},
    {Exit::Usage, "usage", "the command line is wrong; nothing was tried"},
    {Exit::NotFound, "not-found", "no object has that name"},
    {Exit::Ambiguous, "ambiguous", "the name fits several objects; they are listed"},
    {Exit::Exists, "exists", "the object is there already"},
    {Exit::Busy, "busy", "the object is in use"},
    {Exit::TimedOut, "timed-out", "not decided within --timeout; it may still happen"},
    {Exit::Denied, "denied", "not permitted: the command needs root"},
    {Exit::Missing, "missing", "a kernel module is not loaded, or lacks what is needed"},
    {Exit::Partial, "partial", "some of several objects failed; each is reported"},
    {Exit::Config, "config",
     "the configuration, or a file with a key, is faulty; nothing was done"},
    {Exit::Differs, "differs",
     "diff found a difference, or doctor, explain or key check a problem"},
    {Exit::Mistakes, "mistakes",
     "the configuration has mistakes, each is reported; all else in it was done"},
};

namespace {

struct Words {
	int error;
	Action action;
	const char *text;
};

// What a number means for one action; below, what it means for all.
const Words kSpecial[] = {
    {ENOENT, Action::Map,
     "the server has no such block device below its search path, or exports no such name"},
    {EPERM, Action::Map,
     "the server refuses: another session has the device open for writing, or this client is not "
     "allowed to use it"},
    {EOPNOTSUPP, Action::Map,
     "the server's device is a zoned one, or, with access shared, the server does not know that: "
     "it "
     "has the kernel's own modules, or older ones"},
    {EACCES, Action::Map,
     "the server refuses access: the export is disabled, or not for this session, key, address or "
     "mode (shared "
     "takes one with access shared), or the "
     "server "
     "offers exports by name alone and none has this one"},
    {EROFS, Action::Map, "the device is read-only on the server: map it with --access ro"},
    {EEXIST, Action::Map, "the device is mapped in this session already"},
    {ENXIO, Action::Map, "the session does not exist and no --path was given to make it"},
    {ENOTBLK, Action::Map, "the name on the server is no block device"},
    {EBUSY, Action::Map, "the device is in use on the server"},
    {EINVAL, Action::Map,
     "the kernel refuses the options, or the server the name (see dmesg on both)"},
    {EPROTONOSUPPORT, Action::Map,
     "one side requires a proof that the other does not give: say --key, or, if the server has "
     "none and is yours all the same, --auth optional; or look at the parameter auth of "
     "rtrs_server"},
    {EBUSY, Action::Unmap, "somebody has the device open"},
    {EALREADY, Action::Unmap, "the device is being removed already"},
    {EALREADY, Action::Remap, "the device is mapped and open"},
    {EBUSY, Action::Remap, "the device is being mapped at this moment"},
    {ENODEV, Action::Remap, "the device is being removed"},
    {ENOENT, Action::Remap, "the server has no such device any more"},
    {EPERM, Action::Remap, "another session has the device open for writing"},
    {EOPNOTSUPP, Action::Remap, "the server does not know access shared"},
    {ECONNABORTED, Action::Remap,
     "the session's path is lost at present: the device comes back with it, or by rnbdadm recover"},
    {ENOENT, Action::Resize, "the device is not open at present: remap it first"},
    {EINVAL, Action::Resize, "the device cannot have that size"},
    {EEXIST, Action::AddPath, "the session has that path already"},
    {ENOSPC, Action::AddPath, "a session has 128 paths at most"},
    {EINVAL, Action::AddPath, "the address is malformed, or of a family that cannot be combined"},
    {EPROTONOSUPPORT, Action::AddPath, "one side requires a proof that the other does not give"},
    {EOPNOTSUPP, Action::Discover,
     "the server does not tell what it exports: it has the kernel's own modules, or older ones"},
    {EOVERFLOW, Action::Discover, "the server's answer does not come to an end"},
    {EINVAL, Action::Discover,
     "the kernel refuses the question, or what the server answered (see dmesg)"},
    {ENXIO, Action::Discover, "the session does not exist and no path was given to make it"},
    {EPROTONOSUPPORT, Action::Discover,
     "one side requires a proof that the other does not give: say --key, or, if the server has "
     "none and is yours all the same, --auth optional; or look at the parameter auth of "
     "rtrs_server"},
    {EPROTONOSUPPORT, Action::ConnectPath,
     "one side requires a proof that the other does not give, as it has before or as auth says"},
    {ENOTCONN, Action::ConnectPath, "the server did not accept a connection on this path"},
    {EBUSY, Action::ConnectPath, "the path is being closed"},
    {EEXIST, Action::Export, "an export of that name is there already"},
    {EBUSY, Action::Export,
     "a session has the exported device open, or something of this machine uses it (see dmesg)"},
    {EBUSY, Action::Reservations, "the disk is being asked by somebody else at this moment"},
    {ENOENT, Action::Reservations, "no client is registered with it any more"},
};

const Words kCommon[] = {
    {ECONNREFUSED,
     {},
     "nobody listens there: is rnbd_server loaded, with this port, and does rtrs_server's listen "
     "name the address?"},
    {ECONNRESET,
     {},
     "the server rejected the connection: rnbd_server is not loaded there, has another port or "
     "listens on other addresses (rtrs_server's listen), or a machine with another address has a "
     "session of that name"},
    {ECONNABORTED, {}, "the connection broke while it was set up"},
    {ENOTCONN, {}, "no path of the session is connected"},
    {EHOSTUNREACH, {}, "there is no route to the server, or no RDMA device leads there"},
    {ENETUNREACH, {}, "there is no route to the server's network"},
    {EADDRNOTAVAIL, {}, "this machine does not have the source address on an RDMA device"},
    {ENODEV, {}, "no RDMA device serves this address (see: rnbdadm hca list)"},
    {EUSERS,
     {},
     "the server has as many sessions, paths or connections as it may have: rtrs_server's max_*, "
     "see "
     "its kernel log"},
    {ETIMEDOUT,
     {},
     "the kernel has given up: nobody answers at that address. Most often rnbd_server is not "
     "loaded "
     "there; or the address is another one, or what is sent gets lost on the way"},
    {ENOKEY,
     {},
     "there is no key of that name in this machine's keyring .rnbd (see: rnbdadm key list; rnbdadm "
     "key load), or auth is required and no key was named"},
    {EKEYEXPIRED, {}, "the key in this machine's keyring has expired"},
    {EKEYREVOKED, {}, "the key in this machine's keyring was revoked"},
    {EKEYREJECTED,
     {},
     "one side did not believe the other's proof, or the server wants this session no more: do "
     "both have the same secret under this name and generation (rnbdadm key show-fingerprint)? Is "
     "the session's name in use by another "
     "machine? The server's kernel log says what was wrong, which it tells nobody else"},
    {ECOMM, {}, "the server did not answer"},
    {EPROTO, {}, "the other side does not speak this protocol, or broke it"},
    {ENOMEM, {}, "not enough memory, or the RDMA device has too few resources"},
    {EACCES, {}, "permission denied: run as root"},
    {EPERM, {}, "not permitted"},
    {ENOENT, {}, "there is no such file: the object is gone, or the module is too old for this"},
    {EINVAL, {}, "the kernel refuses the value"},
    {ERANGE, {}, "the value is out of range"},
    {EAFNOSUPPORT, {}, "the address family is not supported here"},
    {EPROTONOSUPPORT, {}, "an address begins with ip: or gid:"},
    {EROFS, {}, "read-only"},
};

} // namespace

std::string words_of(int error, Action action)
{
	const char *name = strerrorname_np(error);
	std::string tail = name ? fmt::format(" ({})", name) : fmt::format(" (error {})", error);
	for (const Words &w : kSpecial)
		if (w.error == error && w.action == action)
			return w.text + tail;
	for (const Words &w : kCommon)
		if (w.error == error)
			return w.text + tail;
	return std::strerror(error) + tail;
}

std::string advice_of(int error, Action action)
{
	if (action != Action::Map && action != Action::AddPath && action != Action::ConnectPath &&
	    action != Action::Discover)
		return "";
	switch (error) {
	case ETIMEDOUT:
		return "on the server: modprobe rnbd_server, or systemctl start rnbd-server\nis "
		       "the "
		       "address right, and the server up? ping <address>; ip neigh show "
		       "<address>; rnbdadm hca list; RoCE needs UDP port 4791 both ways";
	case EHOSTUNREACH:
	case ENETUNREACH:
		return "is the address right, and the server up? ping <address>; ip neigh show "
		       "<address>; rnbdadm hca list; RoCE needs UDP port 4791 both ways";
	case ECONNREFUSED:
	case ECONNRESET:
		return "on the server: rnbdadm doctor; dmesg | grep -E 'rtrs|rnbd'";
	default:
		return "";
	}
}

Exit exit_of(int error, Action action)
{
	switch (error) {
	case 0:
		return Exit::Done;
	case EEXIST:
		return Exit::Exists;
	case EBUSY:
		return Exit::Busy;
	case EPERM:
		// Of a server: the device has a writer (protocol E.2).
		return action == Action::Map || action == Action::Remap ? Exit::Busy : Exit::Failed;
	case EACCES:
		return action == Action::Map || action == Action::Discover ? Exit::Failed
									   : Exit::Denied;
	default:
		return Exit::Failed;
	}
}

Failure unwritable(const std::string &file, int error)
{
	std::string reason = words_of(error, Action::Configure), hint;
	if (error == ENOENT) {
		const std::string folder = file.substr(0, file.rfind('/') + 1);
		reason = fmt::format("there is no folder {}", folder.empty() ? "." : folder);
		hint = "make it first, if its name is right";
	}
	return {exit_of(error), fmt::format("cannot write {}: {}", file, reason), hint};
}

} // namespace rnbdadm
