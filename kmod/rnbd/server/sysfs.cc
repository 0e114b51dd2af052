// SPDX-License-Identifier: GPL-2.0
// ctl/devices/<bdev>/sessions/<session>/ (protocol F.4).
#include <cxxrt/kernel.hh>
#include <cxxrt/text.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

using cxxrt::SysfsText;

void Mapping::show_access_mode(SysfsText &text)
{
	text.print("%s\n", to_text(access_mode_));
}

void Mapping::show_read_only(SysfsText &text)
{
	text.print("%d\n", !may_write(access_mode_));
}

void Mapping::show_mapping_path(SysfsText &text)
{
	text.print("%s\n", name_.c_str());
}

void Mapping::show_requests(SysfsText &text)
{
	text.print("reads %llu\nread_bytes %llu\nwrites %llu\nwritten_bytes %llu\n",
		   counts_.requests(Operation::Read), counts_.bytes(Operation::Read),
		   counts_.requests(Operation::Write), counts_.bytes(Operation::Write));
	text.print("flushes %llu\ndiscards %llu\nsecure_erases %llu\nwrite_zeroes %llu\n",
		   counts_.requests(Operation::Flush), counts_.requests(Operation::Discard),
		   counts_.requests(Operation::SecureErase),
		   counts_.requests(Operation::WriteZeroes));
	text.print("errors %llu\n", counts_.errors());
}

void Mapping::show_force_close(SysfsText &text)
{
	text.print("Usage: echo 1 > force_close\n");
}

// Closes the device whatever the client does with it. Its id stays in use without a device, so that
// the client's requests are answered with ENOTCONN, and never reach another device, until the
// client closes the id or the session ends.
Status Mapping::force_close(TextView input, cxxrt::SysfsCall &call)
{
	TRY(cxxrt::parse_one(input));
	// This function runs on in the module after it has removed what removal of the module
	// waits for. A module that is going ends all mappings itself.
	if (!try_module_get(THIS_MODULE))
		return err::enodev;
	// A writer that loses against CLOSE or the end of the session must leave at once: that one
	// waits for this method, and the file may not be touched while its directory goes.
	Status ended;
	if (cxxrt::Ref<Mapping> self = session_->retire(*this)) {
		WARN_ON_ONCE(!call.remove_file());
		self->end();
		ended = exports_.wait_killable([&] { return self->ended(); });
	}
	module_put(THIS_MODULE);
	return ended;
}

Status Mapping::add_files()
{
	using File = cxxrt::SysfsFile<Mapping>;
	static constexpr File kFiles[] = {
	    File::read_only("access_mode", &Mapping::show_access_mode),
	    File::read_only("read_only", &Mapping::show_read_only),
	    File::read_only("mapping_path", &Mapping::show_mapping_path),
	    File::read_only("requests", &Mapping::show_requests),
	    File::read_write("force_close", &Mapping::show_force_close, &Mapping::force_close),
	};
	dir_ = TRY(
	    cxxrt::SysfsDir::create(export_->sessions_folder(), session_->name(), this, kFiles));
	return {};
}

} // namespace rnbd::server
