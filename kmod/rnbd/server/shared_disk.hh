// SPDX-License-Identifier: GPL-2.0
// Disks as clients share them: which of them are registered with one, who has reserved it, and
// whose I/O is refused for that (protocol D.5, design "Reservations").
//
// A disk is one by its identity, or by the kernel's number of it while it is plugged in, whatever
// devices lead to it: its partitions are under its reservation. It is known here while a session
// has it open, and as long as somebody is registered.
//
// The lock is that of SharedDisks. An operation has its disk for itself by a flag, since it sleeps
// as long as the disk does; only the moment in which the new table takes the old one's place is
// under the lock.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/sysfs.hh>
#include <rnbd/pure/reservations.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/mirror.hh>

namespace rnbd::server {

class Exports;

class SharedDisk {
public:
	explicit SharedDisk(const gendisk *disk, const Wwid &wwid)
	    : number_(disk_devt(const_cast<gendisk *>(disk))), instance_(disk->diskseq), wwid_(wwid)
	{
		name_.print("%s", disk->disk_name);
	}

	// What was taken from a mapping of it has drained. Any context.
	[[nodiscard]] bool drained() { return atomic_dec_and_test(&draining_); }

	cxxrt::ListNode node_;

private:
	friend class SharedDisks;

	bool is(const SharedDisk &other) const
	{
		return instance_ == other.instance_ || (!wwid_.empty() && wwid_ == other.wwid_);
	}
	bool has_registrants() const { return table_ && table_->registrants(); }

	// Of the lock.
	dev_t number_;
	u64 instance_; // that the kernel gives each disk that comes, once
	Wwid wwid_;    // may be empty
	cxxrt::TextBuffer<DISK_NAME_LEN> name_;
	cxxrt::List<Mapping, &Mapping::on_disk_> mappings_;
	u32 users_ = 0; // mappings, and operations
	// Changed under the lock by who has the disk for himself, who may read it without.
	cxxrt::Box<Reservations> table_;

	Mirror mirror_;			 // of who has the disk for himself
	atomic_t busy_ = ATOMIC_INIT(0); // somebody has
	// Mappings that have lost a right, and have I/O that began before.
	atomic_t draining_ = ATOMIC_INIT(0);
};

class SharedDisks {
public:
	// `key` is what the server registers itself by.
	SharedDisks(Exports &exports, u64 key) : exports_(exports), key_(key) {}
	// Nobody has anything open. Gives up what it holds of disks. Sleeps as long as they do.
	~SharedDisks();

	// The mapping is about to be published: from now on it is refused what it has to be.
	// ENOMEM. May sleep.
	Status join(Mapping &mapping);
	// Its I/O has ended. No effect if it has not joined. May sleep.
	void leave(Mapping &mapping);

	// One of the operations that change something, by the session of that mapping; done, it is
	// answered when nothing is under way of those who have lost a right. EACCES, EOPNOTSUPP,
	// EBUSY: ask again; what Reservations or the disk say. Sleeps as long as the disk does;
	// ECONNABORTED when nobody waits for `op` any more.
	Status operate(Mapping &asker, const ReserveRequest &request, const rtrs_srv_op *op);
	// f(const ReservationState &, const Reservations *) of the mapping's disk; no table if
	// nobody has registered yet. EOPNOTSUPP. May sleep.
	template <class F> Status read(Mapping &asker, F &&f)
	{
		TRY(check_reservations(asker.device()));
		return disks_.with([&](Disks &) -> Status {
			const SharedDisk *disk = asker.disk_;
			if (!disk)
				return err::enotconn;
			const Reservations *table = disk->table_.get();
			f(table ? table->state() : ReservationState{}, table);
			return {};
		});
	}

	// ctl/reservations: all that there is; and the end of those of the disk of that name.
	// ENOENT, EBUSY. May sleep as long as the disk does.
	void show(cxxrt::SysfsText &text);
	Status clear(TextView name);

private:
	using Disks = cxxrt::List<SharedDisk, &SharedDisk::node_>;

	static SharedDisk *find(Disks &disks, const SharedDisk &like);
	static void take_dead(Disks &disks, const SharedDisk &successor, Disks &dead);
	cxxrt::Box<SharedDisk> unuse(SharedDisk &disk);
	Status operate_alone(SharedDisk &disk, Mapping &asker, const ReserveRequest &request);
	Status follow(SharedDisk &disk, block_device *bdev, const Reservations &now);
	void replace(SharedDisk &disk, cxxrt::Box<Reservations> table);
	template <class F> Status on_unopened(SharedDisk &disk, F &&f);

	Exports &exports_;
	const u64 key_;
	cxxrt::Guarded<Disks, cxxrt::Mutex> disks_{cxxrt::lock_class<"rnbd-server reservations">()};
};

// The key of the machine with that identity, never 0.
u64 reservation_key(TextView server_id);

} // namespace rnbd::server
