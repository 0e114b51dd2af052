// SPDX-License-Identifier: GPL-2.0
// OPEN: the first one, and those after a reconnect or on request. One work item sends them all, so
// there is never more than one in flight for a device, and none is abandoned: whoever asked may
// give up waiting, the work item stays and closes what nobody wants any more.
#include <cxxrt/log.hh>
#include <cxxrt/noio.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

u32 Device::start_open()
{
	const u32 number = opens_.with([](Opens &o) { return ++o.wanted; });
	open_work_.queue(session_->workqueue());
	return number;
}

// ETIMEDOUT: the server's disk hangs, or the server has lost the question. Only who waits gives up.
Status Device::await_open(u32 number)
{
	constexpr unsigned int kTimeoutMs = 60'000;
	auto ended = [&] {
		return opens_.with(
		    [&](Opens &o) { return static_cast<int>(o.ended - number) >= 0; });
	};
	TRY(changed_.wait_killable_for(msecs_to_jiffies(kTimeoutMs), [&] {
		return state() == DeviceState::Unmapped || ended();
	}));
	if (!ended())
		return err::enodev;
	return opens_.with([](Opens &o) { return Status::from_code(o.code); });
}

void Device::run_open()
{
	const cxxrt::NoIoScope noio;
	session_->begin_open(*this);
	const u32 number = opens_.with([](Opens &o) { return o.wanted; });
	const Session::Since since = session_->now();
	Status s = open_or_settle();
	session_->end_open(*this);
	if (!s.ok() && s.error() == err::einprogress)
		return;
	ask_pause_ms_ = 0;
	// A loss of the link needs no second try: its end brings an OPEN.
	if (!s.ok() && !session_->lost(since))
		try_again_later();
	opens_.with([&](Opens &o) {
		o.ended = number;
		o.code = s.code();
	});
	changed_.wake_all();
}

// EINPROGRESS: the server goes on with it, and is asked again in a while.
Status Device::open_or_settle()
{
	Status s = session_->resend_while_up([&] {
		const Status one =
		    state() == DeviceState::Unmapped ? Status(err::enodev) : open_once();
		if (!(one.code() == err::einprogress.code()))
			open_error_ = one.code();
		return one;
	});
	if (!s.ok() && s.error() == err::einprogress && ask_later())
		return s;
	if (state() != DeviceState::Unmapped)
		return s;
	settle();
	return err::enodev;
}

// What nobody wants any more is closed, also if the server has not got so far yet.
void Device::settle()
{
	if (!asked_.under_way || module_.stopping())
		return;
	if (asked_by_wwid_) {
		Result<DeviceName> name = make_wwid_name(wwid_);
		if (name.ok())
			exchange_settle(*session_, asked_, name.value(), &reserve_);
	} else {
		exchange_settle(*session_, asked_, name_, &reserve_);
	}
}

void Device::ask_again()
{
	open_work_.queue(session_->workqueue());
}

// False if nobody wants it any more.
bool Device::ask_later()
{
	constexpr unsigned int kFirstPauseMs = 100;
	constexpr unsigned int kLastPauseMs = 2'000;
	return session_->with_link([&](Link &) {
		if (state() == DeviceState::Unmapped)
			return false;
		ask_pause_ms_ =
		    cxxrt::min_of(cxxrt::max_of(2 * ask_pause_ms_, kFirstPauseMs), kLastPauseMs);
		ask_.queue_after(session_->workqueue(), msecs_to_jiffies(ask_pause_ms_));
		return true;
	});
}

// A server that has just started may not have the device yet, and one that has not noticed the loss
// still has it open.
void Device::try_again_later()
{
	constexpr unsigned int kRetryMs = 5'000;
	session_->with_link([&](Link &) {
		if (state() == DeviceState::MappedDisconnected && !closed_by_server_)
			retry_.queue_after(session_->workqueue(), msecs_to_jiffies(kRetryMs));
	});
}

Status Device::open_once()
{
	// The server has it open by an OPEN that belongs to it.
	if (state() == DeviceState::Mapped)
		return {};
	Result<OpenedDevice> opened = open_ours();
	if (!opened.ok()) {
		if (opened.code() != open_error_ && opened.code() != err::einprogress.code())
			log_error(label(), "Cannot open the device at the server: %d",
				  opened.code());
		return opened.error();
	}
	Status taken = session_->with_link([&](Link &link) { return take_opened(link, *opened); });
	// If the epoch is over, this sends nothing.
	if (!taken.ok())
		close(*opened);
	return taken;
}

// The disk that it has been so far, by its name or under another one.
Result<OpenedDevice> Device::open_ours()
{
	const u32 epoch = TRY(session_->introduced_epoch());
	TRY(check_access_is_known(epoch));
	if (asked_.under_way && asked_.epoch == epoch && asked_by_wwid_)
		return open_by_identity(epoch, cxxrt::Error::from_code(by_name_));
	asked_by_wwid_ = false;
	Result<OpenedDevice> by_name =
	    exchange_open(*session_, epoch, mode_, name_, asked_, reserve_);
	if (!by_name.ok())
		return open_by_identity(epoch, by_name.error());
	if (!is_another(*by_name))
		return by_name;
	// First, as who has that disk may be looking for it.
	close(*by_name);
	if (open_error_ != err::einval.code())
		log_warning(label(), "The server has another device of that name, %s instead of %s",
			    by_name->identity.wwid.empty() ? "one without wwid"
							   : by_name->identity.wwid.c_str(),
			    wwid_.c_str());
	return open_by_identity(epoch, err::einval);
}

// EOPNOTSUPP. In-tree would answer EINVAL, which says nothing; and some other server might take the
// number for what it pleases.
Status Device::check_access_is_known(u32 epoch) const
{
	if (knows_access(TRY(session_->extension(epoch)).features, mode_))
		return {};
	if (open_error_ != err::eopnotsupp.code())
		log_error(label(), "The server does not know access mode %s", to_text(mode_));
	return err::eopnotsupp;
}

// A server that identifies devices gives each one the same identity always, or none.
bool Device::is_another(const OpenedDevice &opened) const
{
	return !wwid_.empty() && opened.extension.has(feature::identify) &&
	       !(wwid_ == opened.identity.wwid);
}

// The disk itself, under whatever name the server has it now; `by_name` is what its old one met,
// and the result if there is no better one.
Result<OpenedDevice> Device::open_by_identity(u32 epoch, cxxrt::Error by_name)
{
	// What tells nothing of the name, but of the link or of memory; and EACCES, by which an
	// administrator keeps this client out: he does not mean that name alone.
	constexpr cxxrt::Error kOthers[] = {
	    err::econnaborted, err::econnreset, err::enotconn, err::eintr,	 err::enomem,
	    err::eagain,       err::etimedout,	err::eacces,   err::einprogress, err::estale};
	for (const cxxrt::Error &other : kOthers)
		if (by_name == other)
			return by_name;
	// Nor that disk: what he configures is open by its name and rules, or not at all.
	if (configured_)
		return by_name;
	const Extension extension = TRY(session_->extension(epoch));
	if (wwid_.empty() || !extension.has(feature::identify | feature::open_by_wwid))
		return by_name;
	const DeviceName name = TRY(make_wwid_name(wwid_));
	asked_by_wwid_ = true;
	by_name_ = by_name.code();
	Result<OpenedDevice> found = exchange_open(*session_, epoch, mode_, name, asked_, reserve_);
	// The answer to that is still to come.
	if (!found.ok() && asked_.under_way)
		return found;
	asked_by_wwid_ = false;
	if (!found.ok())
		return by_name;
	// Between its look and its open the server may have got another disk.
	if (is_another(*found)) {
		close(*found);
		return by_name;
	}
	// Older servers say the identity of a whole disk for its slices, too.
	if (!(found->properties.capacity == server_capacity_)) {
		close(*found);
		if (open_error_ != by_name.code())
			log_warning(label(),
				    "%s is at the server under another name, and of another size",
				    name.c_str());
		return by_name;
	}
	log_info(label(), "The server has the device under another name now: %s", name.c_str());
	return found;
}

void Device::close(const OpenedDevice &opened)
{
	exchange_close(
	    *session_,
	    {.number = opened.number, .id = opened.properties.device, .mode = mode_, .name = name_},
	    opened.epoch, &reserve_);
}

// What a disk can't change under its users; everything else is taken over (protocol G.3-19).
Status Device::check_unchanged(const OpenedDevice &now) const
{
	const bool known = open_error_ == err::einval.code();
	const u32 was = properties_.logical_block_size;
	if (was == now.properties.logical_block_size)
		return {};
	if (!known)
		log_error(label(),
			  "Device stays disconnected: its logical block size has changed from %u "
			  "to %u",
			  was, now.properties.logical_block_size);
	return err::einval;
}

// Link lock held. What a server does not tell is no change.
void Device::check_losses(const OpenedDevice &now)
{
	const u64 instance = now.extension.instance;
	const bool restarted = instance_ && instance && instance_ != instance;
	const bool identified = now.extension.has(feature::identify);
	const bool failed = identified_ && identified && losses_ != now.identity.losses;
	if (instance)
		instance_ = instance;
	if (identified) {
		losses_ = now.identity.losses;
		identified_ = true;
	}
	if (!(restarted || failed) || !properties_.writeback || !published_)
		return;
	// With its epoch every request has ended. One that a close by the server ends has not.
	const bool ended = epoch_ != now.epoch;
	if (unflushed_.server_restarted(disk_openers(disk_), ended))
		log_error(label(),
			  "%s, and may have lost writes that were not flushed: flushes fail until "
			  "nobody has the disk open",
			  restarted ? "The server has started anew"
				    : "The server could not flush the device when it closed it");
}

// Link lock held.
Status Device::take_opened(Link &link, const OpenedDevice &opened)
{
	if (link.epoch != opened.epoch)
		return err::econnreset;
	const DeviceProperties &now = opened.properties;
	switch (state()) {
	case DeviceState::Unmapped:
		return err::enodev;
	case DeviceState::Mapped:
		// Two commands asked; the server gave the same device for both.
		return {};
	case DeviceState::MappedDisconnected:
		TRY(check_unchanged(opened));
		break;
	case DeviceState::Init:
		break;
	}
	check_losses(opened);
	properties_ = now;
	topology_ = opened.topology;
	server_capacity_ = now.capacity;
	if (wwid_.empty())
		wwid_ = opened.identity.wwid;
	configured_ = opened.identity.configured;
	closed_by_server_ = false;
	WRITE_ONCE(open_number_, ++link.opens);
	WRITE_ONCE(id_, now.device.value);
	epoch_ = opened.epoch;
	number_ = opened.number;
	if (published_)
		follow_limits();
	set_state(DeviceState::Mapped);
	waiting_.restore();
	if (published_) {
		change_capacity();
		events_.add(DeviceEvent::Online);
		log_info(label(), "Device reconnected");
	}
	return {};
}

Status Device::remap()
{
	TRY(check_remap(state()));
	return await_open(start_open());
}

} // namespace rnbd::client
