// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/mapping.hh>

#include <cxxrt/log.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/session.hh>

namespace rnbd {

Mapping::Mapping(Session &session, Exports &exports, BlockDevice device, const OpenRequest &request,
		 cxxrt::Box<cxxrt::Inflight> users, cxxrt::Box<ExportUse> use)
    : session_(cxxrt::Ref<Session>::share(&session)), exports_(exports),
      device_(cxxrt::move(device)), access_mode_(request.access_mode), name_(request.name),
      announced_(device_.properties()), max_io_bytes_(session.max_io_bytes()),
      users_(cxxrt::move(users)), use_(cxxrt::move(use))
{
}

// Out of line: Session is complete here.
Mapping::~Mapping() = default;

Result<cxxrt::Ref<Mapping>> Mapping::create(Session &session, Exports &exports, BlockDevice device,
					    const OpenRequest &request, cxxrt::Box<ExportUse> use)
{
	cxxrt::Box<cxxrt::Inflight> users = TRY(cxxrt::Inflight::create());
	Mapping *mapping = new (GFP_KERNEL) Mapping(session, exports, cxxrt::move(device), request,
						    cxxrt::move(users), cxxrt::move(use));
	if (!mapping)
		return err::enomem;
	return cxxrt::Ref<Mapping>::adopt(mapping);
}

Status Mapping::published()
{
	return use_ ? use_->published(*this) : Status();
}

void Mapping::announce() const
{
	log_info_limited(Subject(*session_, name_).c_str(), "Opened device, id %u, access mode %s",
			 id_.value, to_text(access_mode_));
}

void Mapping::end()
{
	const bool was_open = static_cast<bool>(dir_);
	// 1. No I/O is under way, and nobody who looked the id up still has this object.
	users_->close();
	// 2. No file method runs or will run. Not under the lock of Exports: force_close needs it.
	dir_.reset();
	// 3. What was written is durable: whoever gets the device next finds it, and it outlasts an
	//    orderly restart of the machine (serving.cc).
	if (may_write(access_mode_) && !device_.flush().ok()) {
		log_warning_limited(Subject(*session_, name_).c_str(), "Flush at close failed");
		session_->flush_failed();
	}
	// 4. The access right is given back. The device is still open, so the export's key, its
	//    address, cannot stand for another device meanwhile.
	exports_.detach(*this);
	// 5. Nobody knows it any more, once its configured export has forgotten it.
	use_.reset();
	device_.close();
	if (was_open)
		log_info_limited(Subject(*session_, name_).c_str(), "Device closed, id %u",
				 id_.value);
}

} // namespace rnbd
