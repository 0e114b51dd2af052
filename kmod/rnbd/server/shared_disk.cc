// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/shared_disk.hh>

#include <cxxrt/block.hh>
#include <cxxrt/digest.hh>
#include <cxxrt/log.hh>
#include <rnbd/server/export.hh>
#include <rnbd/server/identity.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

using cxxrt::Box;

namespace {

// Clients have few places for messages, and ask again.
constexpr unsigned int kPatienceMs = 1'000;

Nexus nexus_of(const Session &session)
{
	return {TextView::of(session.name()), TextView::of(session.key())};
}

// The disk for oneself.
class Alone {
public:
	explicit Alone(atomic_t &busy) : busy_(busy) {}
	Alone(const Alone &) = delete;
	Alone &operator=(const Alone &) = delete;
	bool take() { return taken_ = !atomic_cmpxchg_acquire(&busy_, 0, 1); }
	bool taken() const { return taken_; }
	void give_back()
	{
		taken_ = false;
		atomic_set_release(&busy_, 0);
	}
	~Alone() { WARN_ON_ONCE(taken_); }

private:
	atomic_t &busy_;
	bool taken_ = false;
};

} // namespace

u64 reservation_key(TextView server_id)
{
	cxxrt::TextBuffer<kServerIdSize + 32> text;
	text.print("rnbd reservations %.*s", static_cast<int>(server_id.size()), server_id.data());
	u64 key = 0;
	cxxrt::blake2s_digest(reinterpret_cast<const u8 *>(text.c_str()), text.view().size(),
			      reinterpret_cast<u8 *>(&key), sizeof(key));
	return key ?: 1;
}

// ---- disks

SharedDisk *SharedDisks::find(Disks &disks, const SharedDisk &like)
{
	for (SharedDisk &d : disks)
		if (d.is(like))
			return &d;
	return nullptr;
}

// A disk without an identity, in whose place another one has come, can't be found any more.
void SharedDisks::take_dead(Disks &disks, const SharedDisk &successor, Disks &dead)
{
	Disks alive;
	while (SharedDisk *d = disks.pop_front()) {
		const bool is_dead =
		    !d->users_ && d->wwid_.empty() && d->number_ == successor.number_;
		(is_dead ? dead : alive).push_back(*d);
	}
	disks.take_all(alive);
}

Status SharedDisks::join(Mapping &mapping)
{
	const block_device *bdev = mapping.device();
	const Wwid wwid = identify_device(bdev_whole(bdev), mapping.session().module().server_id());
	Box<SharedDisk> fresh = TRY(cxxrt::make_box<SharedDisk>(GFP_KERNEL, bdev->bd_disk, wwid));
	Disks dead;
	disks_.with([&](Disks &disks) {
		SharedDisk *disk = find(disks, *fresh);
		if (!disk) {
			take_dead(disks, *fresh, dead);
			disk = fresh.release();
			disks.push_back(*disk);
		} else if (!disk->users_ && disk->instance_ != fresh->instance_) {
			disk->number_ = fresh->number_;
			disk->instance_ = fresh->instance_;
			disk->name_ = fresh->name_;
			disk->mirror_.forget();
		}
		disk->users_++;
		disk->mappings_.push_back(mapping);
		mapping.disk_ = disk;
		if (disk->table_)
			mapping.refuse(disk->table_->refusals(nexus_of(mapping.session())));
	});
	while (SharedDisk *d = dead.pop_front())
		delete d;
	return {};
}

// Under the lock: what has to be freed outside of it.
Box<SharedDisk> SharedDisks::unuse(SharedDisk &disk)
{
	if (--disk.users_ || disk.has_registrants())
		return {};
	disk.node_.unlink();
	return Box<SharedDisk>::adopt(&disk);
}

void SharedDisks::leave(Mapping &mapping)
{
	Box<SharedDisk> unused;
	disks_.with([&](Disks &) {
		SharedDisk *disk = mapping.disk_;
		if (!disk)
			return;
		disk->mappings_.remove(mapping);
		mapping.disk_ = nullptr;
		unused = unuse(*disk);
	});
}

// ---- operations

Status SharedDisks::operate(Mapping &asker, const ReserveRequest &request, const rtrs_srv_op *op)
{
	TRY(check_reservations(asker.device()));
	if (!may_write(asker.access_mode()))
		return err::eacces;
	SharedDisk *disk = disks_.with([&](Disks &) {
		if (asker.disk_)
			asker.disk_->users_++;
		return asker.disk_;
	});
	if (!disk)
		return err::enotconn;

	auto patiently = [&](auto &&condition) -> Status {
		auto over = [&] {
			return rtrs_srv_op_dead(op) || condition();
		};
		if (!exports_.wait_patiently(over, kPatienceMs).ok())
			return err::ebusy;
		return {};
	};
	Alone alone(disk->busy_);
	Status s = patiently([&] { return alone.take(); });
	if (alone.taken()) {
		s = operate_alone(*disk, asker, request);
		alone.give_back();
		exports_.wake();
		if (s.ok())
			s = patiently([&] { return !atomic_read_acquire(&disk->draining_); });
	}
	if (rtrs_srv_op_dead(op))
		s = err::econnaborted;
	Box<SharedDisk> unused = disks_.with([&](Disks &) { return unuse(*disk); });
	return s;
}

Status SharedDisks::operate_alone(SharedDisk &disk, Mapping &asker, const ReserveRequest &request)
{
	Box<Reservations> table = disk.table_
				      ? TRY(cxxrt::make_box<Reservations>(GFP_KERNEL, *disk.table_))
				      : TRY(cxxrt::make_box<Reservations>(GFP_KERNEL));
	TRY(table->apply(nexus_of(asker.session()), request));
	// The device is open meanwhile. Its gate may be about to be closed by what is to come, so
	// that it is left before.
	if (!asker.queue().enter())
		return err::ebusy;
	Status followed = follow(disk, asker.device(), *table);
	asker.queue().leave();
	TRY(followed);
	replace(disk, cxxrt::move(table));
	return {};
}

// The disk's own reservation as that of its clients wants it. If it refuses, it is as it was, as
// far as that can be.
Status SharedDisks::follow(SharedDisk &disk, block_device *bdev, const Reservations &now)
{
	auto wanted_by = [](const Reservations *table) -> Mirror::Wanted {
		if (!table || !table->registrants())
			return {.registered = false, .type = ReservationType::None};
		return {.registered = true, .type = mirrored(table->state().type)};
	};
	Status s = disk.mirror_.follow(bdev, key_, wanted_by(&now));
	if (s.ok())
		return {};
	log_warning_limited(disk.name_.c_str(), "The disk refuses a reservation: error %d",
			    s.code());
	static_cast<void>(disk.mirror_.follow(bdev, key_, wanted_by(disk.table_.get())));
	return s;
}

// From here on, what is refused by the new table is refused, and what is under way of it drains.
void SharedDisks::replace(SharedDisk &disk, Box<Reservations> table)
{
	Box<Reservations> old;
	disks_.with([&](Disks &) {
		old = cxxrt::move(disk.table_);
		disk.table_ = cxxrt::move(table);
		for (Mapping &m : disk.mappings_) {
			const u8 before = m.refused();
			const u8 now = disk.table_->refusals(nexus_of(m.session()));
			m.refuse(now);
			if (!(now & ~before))
				continue;
			atomic_inc(&disk.draining_);
			if (!m.queue().fence() && disk.drained())
				exports_.wake();
		}
	});
}

// ---- the administrator

void SharedDisks::show(cxxrt::SysfsText &text)
{
	disks_.with([&](Disks &disks) {
		for (const SharedDisk &d : disks) {
			if (!d.has_registrants())
				continue;
			const ReservationState state = d.table_->state();
			text.print("%s %s %u\n", d.name_.c_str(), to_text(state.type),
				   state.generation);
			d.table_->for_each([&](const Nexus &who, u64 key, bool holds) {
				text.print("%s %.*s %.*s %#llx%s\n", d.name_.c_str(),
					   static_cast<int>(who.session.size()), who.session.data(),
					   who.key.empty() ? 1 : static_cast<int>(who.key.size()),
					   who.key.empty() ? "-" : who.key.data(), key,
					   holds ? " holder" : "");
			});
		}
	});
}

// f(block_device *), of a disk that need not be open. ENXIO if it is gone.
template <class F> Status SharedDisks::on_unopened(SharedDisk &disk, F &&f)
{
	cxxrt::OpenBlockDevice opened =
	    TRY(cxxrt::OpenBlockDevice::open(disk.number_, cxxrt::kBlockRead));
	if (opened.get()->bd_disk->diskseq != disk.instance_)
		return err::enxio;
	return f(opened.get());
}

Status SharedDisks::clear(TextView name)
{
	SharedDisk *disk = disks_.with([&](Disks &disks) -> SharedDisk * {
		for (SharedDisk &d : disks)
			if (d.has_registrants() && d.name_.view() == name) {
				d.users_++;
				return &d;
			}
		return nullptr;
	});
	if (!disk)
		return err::enoent;
	auto drop = [&]() -> Status {
		Box<Reservations> table =
		    TRY(cxxrt::make_box<Reservations>(GFP_KERNEL, *disk->table_));
		table->drop_all();
		Status followed = on_unopened(
		    *disk, [&](block_device *bdev) { return follow(*disk, bdev, *table); });
		// A disk that is gone holds nothing.
		if (!followed.ok() && followed.error() != err::enxio)
			return followed;
		replace(*disk, cxxrt::move(table));
		return {};
	};
	Alone alone(disk->busy_);
	Status s = err::ebusy;
	if (alone.take()) {
		s = drop();
		alone.give_back();
		exports_.wake();
	}
	Box<SharedDisk> unused = disks_.with([&](Disks &) { return unuse(*disk); });
	return s;
}

SharedDisks::~SharedDisks()
{
	Disks &disks = disks_.exclusive();
	while (SharedDisk *d = disks.pop_front()) {
		if (d->mirror_.registered()) {
			const Mirror::Wanted nothing{.registered = false,
						     .type = ReservationType::None};
			const Status s = on_unopened(*d, [&](block_device *bdev) {
				return d->mirror_.follow(bdev, key_, nothing);
			});
			if (!s.ok() && s.error() != err::enxio)
				log_warning(d->name_.c_str(),
					    "This server's own registration stays: error %d",
					    s.code());
		}
		delete d;
	}
}

} // namespace rnbd::server
