// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/shared_disk.hh>

#include <cxxrt/block.hh>
#include <cxxrt/digest.hh>
#include <cxxrt/log.hh>
#include <rnbd/server/identity.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

using cxxrt::Box;

namespace {

// Clients have few places for messages, and ask again.
constexpr unsigned int kTimeoutMs = 1'000;

Nexus nexus_of(const Session &session)
{
	return {TextView::of(session.name()), TextView::of(session.key())};
}

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
		    !d->users_ && d->wwid_.empty() && d->place_.number == successor.place_.number;
		(is_dead ? dead : alive).push_back(*d);
	}
	disks.take_all(alive);
}

Status SharedDisks::join(Mapping &mapping)
{
	const block_device *bdev = mapping.device();
	const Wwid wwid = identify_device(bdev_whole(bdev), mapping.session().module().server_id());
	Box<SharedDisk> fresh =
	    TRY(cxxrt::make_box<SharedDisk>(GFP_KERNEL, *this, bdev->bd_disk, wwid));
	mapping.no_reservations_ = no_reservations(mapping.device());
	Disks dead;
	disks_.with([&](Disks &disks) {
		SharedDisk *disk = find(disks, *fresh);
		if (!disk) {
			take_dead(disks, *fresh, dead);
			disk = fresh.release();
			disks.push_back(*disk);
		} else if (!disk->users_ && disk->place_.instance != fresh->place_.instance) {
			disk->place_ = fresh->place_;
			disk->name_ = fresh->name_;
			disk->pr_backend_.forget();
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

// A user more of the mapping's disk, which is open: it has not left.
Result<SharedDisk *> SharedDisks::use(Mapping &asker, DiskPlace &at)
{
	return disks_.with([&](Disks &) -> Result<SharedDisk *> {
		if (!asker.disk_)
			return err::enotconn;
		if (asker.no_reservations_)
			return err::eopnotsupp;
		if (!may_write(asker.access_mode()))
			return err::eacces;
		at = DiskPlace::of(asker.device()->bd_disk);
		asker.disk_->users_++;
		return asker.disk_;
	});
}

Status SharedDisks::operate(Mapping &asker, const ReserveRequest &request, const rtrs_srv_op *op)
{
	DiskPlace at{};
	SharedDisk *disk = TRY(use(asker, at));
	auto patiently = [&](auto &&condition) -> Status {
		auto over = [&] {
			return rtrs_srv_op_dead(op) || condition();
		};
		if (!changed_.wait_for(msecs_to_jiffies(kTimeoutMs), over).ok())
			return err::ebusy;
		return condition() ? Status() : err::econnaborted;
	};
	auto operate = [&]() -> Status {
		bool taken = false;
		auto take = [&] {
			return taken || (taken = disk->turn_.take());
		};
		TRY(patiently(take));
		// The client may have sent it again over another path since, and another one after
		// that.
		const bool dead = rtrs_srv_op_dead(op);
		Result<Box<Reservations>> to =
		    dead ? err::econnaborted
			 : try_on_copy(*disk, nexus_of(asker.session()), request);
		if (!to.ok()) {
			disk->turn_.give_back();
			wake();
			return to.error();
		}
		disks_.with([&](Disks &) {
			begin(*disk, {.at = at,
				      .to = cxxrt::move(*to),
				      .gone_will_do = false,
				      .answer = {}});
		});
		TRY(ask_in_turn(*disk, patiently));
		return patiently([&] { return !atomic_read_acquire(&disk->draining_); });
	};
	Status s = operate();
	if (rtrs_srv_op_dead(op))
		s = err::econnaborted;
	Box<SharedDisk> unused = disks_.with([&](Disks &) { return unuse(*disk); });
	return s;
}

// Of whose turn it is.
Result<Box<Reservations>> SharedDisks::try_on_copy(SharedDisk &disk, const Nexus &who,
						   const ReserveRequest &request)
{
	Box<Reservations> table = disk.table_
				      ? TRY(cxxrt::make_box<Reservations>(GFP_KERNEL, *disk.table_))
				      : TRY(cxxrt::make_box<Reservations>(GFP_KERNEL));
	TRY(table->apply(who, request));
	return table;
}

// Under the lock, by whose turn it is.
void SharedDisks::begin(SharedDisk &disk, SharedDisk::Question question)
{
	disk.users_++;
	disk.question_ = cxxrt::move(question);
	atomic_inc(&asked_);
	disk.work_.queue(queue_);
}

// After begin(), with a user of its own: the answer, or what patiently(condition) said.
template <class F> Status SharedDisks::ask_in_turn(SharedDisk &disk, F &&patiently)
{
	const Status waited = patiently([&] { return disk.turn_.is_over(); });
	if (!waited.ok() && disk.turn_.leave())
		return waited;
	const Status answer = disk.question_.answer;
	disk.turn_.give_back();
	wake();
	return answer;
}

// The work item.
void SharedDisk::ask()
{
	disks_.ask(*this);
}

void SharedDisks::ask(SharedDisk &disk)
{
	const bool gives_up = disk.question_.gone_will_do;
	disk.question_.answer = carry_out(disk, disk.question_);
	disk.turn_.finish();
	Box<SharedDisk> unused = disks_.with([&](Disks &) {
		// A client's question that was still at the disk when the module began to end: the
		// registration that came of it goes, too. end() waits for this one as well, as
		// asked_ does not fall to 0 in between.
		if (ended_ && !gives_up)
			give_up(disk);
		return unuse(disk);
	});
	atomic_dec(&asked_);
	wake();
}

// By an open of its own: the mapping's way of I/O is not held up, nor its end.
Status SharedDisks::carry_out(SharedDisk &disk, SharedDisk::Question &question)
{
	auto follow_there = [&]() -> Status {
		cxxrt::OpenBlockDevice opened =
		    TRY(cxxrt::OpenBlockDevice::open(question.at.number, cxxrt::kBlockRead));
		if (opened.get()->bd_disk->diskseq != question.at.instance)
			return err::enxio;
		return follow(disk, opened.get(), question.to.get());
	};
	const Status followed = follow_there();
	if (!followed.ok()) {
		if (!question.gone_will_do || followed.error() != err::enxio)
			return followed;
		disk.pr_backend_.forget();
	}
	if (question.to)
		replace(disk, cxxrt::move(question.to));
	return {};
}

// The disk's own reservation as that of its clients wants it. If it refuses, it is as it was, as
// far as that can be.
Status SharedDisks::follow(SharedDisk &disk, block_device *bdev, const Reservations *to)
{
	auto wanted_by = [](const Reservations *table) -> PrBackend::Wanted {
		if (!table || !table->registrants())
			return {.registered = false, .type = ReservationType::None};
		return {.registered = true, .type = mirrored(table->state().type)};
	};
	Status s = disk.pr_backend_.follow(bdev, key_, wanted_by(to));
	if (s.ok())
		return {};
	log_warning_limited(disk.name_.c_str(), "The disk refuses a reservation: error %d",
			    s.code());
	static_cast<void>(disk.pr_backend_.follow(bdev, key_, wanted_by(disk.table_.get())));
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
				wake();
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

Status SharedDisks::clear(TextView name)
{
	Box<Reservations> table = TRY(cxxrt::make_box<Reservations>(GFP_KERNEL));
	SharedDisk *disk = TRY(disks_.with([&](Disks &disks) -> Result<SharedDisk *> {
		// Under the lock of ended_: nothing begins after end().
		if (ended_)
			return err::enodev;
		for (SharedDisk &d : disks) {
			if (!d.has_registrants() || !(d.name_.view() == name))
				continue;
			if (!d.turn_.take())
				return err::ebusy;
			*table = *d.table_;
			table->drop_all();
			begin(d, {.at = d.place_,
				  .to = cxxrt::move(table),
				  .gone_will_do = true,
				  .answer = {}});
			d.users_++;
			return &d;
		}
		return err::enoent;
	}));
	const Status s =
	    ask_in_turn(*disk, [&](auto &&condition) { return changed_.wait_killable(condition); });
	Box<SharedDisk> unused = disks_.with([&](Disks &) { return unuse(*disk); });
	return s;
}

// ---- life

Result<Box<SharedDisks>> SharedDisks::create(u64 key)
{
	Box<SharedDisks> disks = TRY(cxxrt::make_box<SharedDisks>(GFP_KERNEL, key));
	disks->queue_ =
	    TRY(cxxrt::Workqueue::create("rnbd_server_reserve", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE));
	return disks;
}

// Under the lock, after ended_: unregisters this server with the disk, if it may be registered. A
// disk that is being asked is left to the work item that asks it (ask()).
void SharedDisks::give_up(SharedDisk &disk)
{
	if (!disk.turn_.take())
		return;
	if (!disk.pr_backend_.may_be_registered()) {
		disk.turn_.give_back();
		return;
	}
	begin(disk, {.at = disk.place_, .to = {}, .gone_will_do = true, .answer = {}});
}

void SharedDisks::end()
{
	disks_.with([&](Disks &disks) {
		ended_ = true;
		for (SharedDisk &d : disks)
			give_up(d);
	});
	changed_.wait_idle([&] { return !atomic_read_acquire(&asked_); });
	queue_.reset();
}

SharedDisks::~SharedDisks()
{
	Disks &disks = disks_.exclusive();
	while (SharedDisk *d = disks.pop_front()) {
		if (d->pr_backend_.may_be_registered())
			log_warning(d->name_.c_str(), "This server's own registration stays");
		delete d;
	}
}

} // namespace rnbd::server
