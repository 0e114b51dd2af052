// SPDX-License-Identifier: GPL-2.0
// Disks as clients share them: which of them are registered with one, who has reserved it, and
// whose I/O is refused for that (protocol D.5, design "Reservations").
//
// A disk is one by its identity, or by the kernel's number of it while it is plugged in, whatever
// devices lead to it: its partitions are under its reservation. It is known here while a session
// has it open, and as long as somebody is registered.
//
// The lock is that of SharedDisks. Disks are asked by work items, one for each disk at a time,
// whose turn it is (SingleFlight): only the moment in which the new table takes the old one's place
// is under the lock. Who has asked waits for a while and goes on; a disk that hangs has its item,
// and nothing else waits for that but what wants the same disk, and the end of the module.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rnbd/pure/reservations.hh>
#include <rnbd/server/single_flight.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/pr_backend.hh>

namespace rnbd::server {

class SharedDisks;

// A disk while it is plugged in, as the kernel knows it.
struct DiskPlace {
	static DiskPlace of(const gendisk *disk)
	{
		return {disk_devt(const_cast<gendisk *>(disk)), disk->diskseq};
	}
	dev_t number;
	u64 instance; // that the kernel gives each disk that comes, once
};

class SharedDisk {
public:
	SharedDisk(SharedDisks &disks, const gendisk *disk, const Wwid &wwid)
	    : disks_(disks), place_(DiskPlace::of(disk)), wwid_(wwid)
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
		return place_.instance == other.place_.instance ||
		       (!wwid_.empty() && wwid_ == other.wwid_);
	}
	bool has_registrants() const { return table_ && table_->registrants(); }
	void ask();

	SharedDisks &disks_;
	// Of the lock.
	DiskPlace place_;
	Wwid wwid_; // may be empty
	cxxrt::TextBuffer<DISK_NAME_LEN> name_;
	cxxrt::List<Mapping, &Mapping::on_disk_> mappings_;
	u32 users_ = 0; // mappings, and operations
	// Changed under the lock by whose turn it is, who may read it without.
	cxxrt::Box<Reservations> table_;

	SingleFlight turn_;
	// Of whose turn it is.
	struct Question {
		DiskPlace at;		     // by which it is asked
		cxxrt::Box<Reservations> to; // what follows table_; empty: nobody is registered
		bool gone_will_do;	     // a disk that is gone holds nothing
		Status answer;
	};
	Question question_{};
	PrBackend pr_backend_;
	cxxrt::Work<SharedDisk, &SharedDisk::ask> work_{this};

	// Mappings that have lost a right, and have I/O that began before.
	atomic_t draining_ = ATOMIC_INIT(0);
};

class SharedDisks {
public:
	// `key` is what the server registers itself by. ENOMEM. May sleep.
	static Result<cxxrt::Box<SharedDisks>> create(u64 key);
	// No mapping is left. Gives up the server's own registrations, of all disks at a time.
	// Sleeps as long as they do.
	void end();
	// After end(), or if no mapping has ever joined.
	~SharedDisks();

	// The mapping is about to be published: from now on it is refused what it has to be.
	// ENOMEM. May sleep.
	Status join(Mapping &mapping);
	// Its I/O has ended. No effect if it has not joined. May sleep.
	void leave(Mapping &mapping);

	// One of the operations that change something, by the session of that mapping; done, it is
	// answered when nothing is under way of those who have lost a right. EACCES, EOPNOTSUPP,
	// ENOTCONN, what Reservations or the disk say. Sleeps for seconds where the disk hangs;
	// then EBUSY: the disk is still asked, and the same question again learns what has become
	// of it. ECONNABORTED when nobody waits for `op` any more.
	Status operate(Mapping &asker, const ReserveRequest &request, const rtrs_srv_op *op);
	// f(const ReservationState &, const Reservations *) of the mapping's disk; no table if
	// nobody has registered yet. EOPNOTSUPP. May sleep.
	template <class F> Status read(Mapping &asker, F &&f)
	{
		return disks_.with([&](Disks &) -> Status {
			const SharedDisk *disk = asker.disk_;
			if (!disk)
				return err::enotconn;
			if (asker.no_reservations_)
				return err::eopnotsupp;
			const Reservations *table = disk->table_.get();
			f(table ? table->state() : ReservationState{}, table);
			return {};
		});
	}

	// What was under way of mappings that have lost a right has ended. Any context.
	void wake() { changed_.wake_all(); }

	// ctl/reservations: all that there is; and the end of those of the disk of that name.
	// ENOENT, EBUSY, ENODEV at the end. Sleeps as long as the disk does; EINTR if a fatal
	// signal ended that, while the disk is still asked.
	void show(cxxrt::SysfsText &text);
	Status clear(TextView name);

private:
	template <class T, class... Args>
	friend Result<cxxrt::Box<T>> cxxrt::make_box(gfp_t, Args &&...);
	explicit SharedDisks(u64 key) : key_(key) {}

	friend class SharedDisk;
	using Disks = cxxrt::List<SharedDisk, &SharedDisk::node_>;

	static SharedDisk *find(Disks &disks, const SharedDisk &like);
	static void take_dead(Disks &disks, const SharedDisk &successor, Disks &dead);
	cxxrt::Box<SharedDisk> unuse(SharedDisk &disk);
	Result<SharedDisk *> use(Mapping &asker, DiskPlace &at);
	void begin(SharedDisk &disk, SharedDisk::Question question);
	void give_up(SharedDisk &disk);
	template <class F> Status ask_in_turn(SharedDisk &disk, F &&patiently);
	Result<cxxrt::Box<Reservations>> try_on_copy(SharedDisk &disk, const Nexus &who,
						     const ReserveRequest &request);
	void ask(SharedDisk &disk);
	Status carry_out(SharedDisk &disk, SharedDisk::Question &question);
	Status follow(SharedDisk &disk, block_device *bdev, const Reservations *to);
	void replace(SharedDisk &disk, cxxrt::Box<Reservations> table);

	const u64 key_;
	bool ended_ = false;		  // under the lock
	atomic_t asked_ = ATOMIC_INIT(0); // disks
	cxxrt::WaitQueue changed_{cxxrt::lock_class<"rnbd-server reservations changed">()};
	cxxrt::Guarded<Disks, cxxrt::Mutex> disks_{cxxrt::lock_class<"rnbd-server reservations">()};
	// Destroyed first: its work uses the rest.
	cxxrt::Workqueue queue_;
};

// The key of the machine with that identity, never 0.
u64 reservation_key(TextView server_id);

} // namespace rnbd::server
