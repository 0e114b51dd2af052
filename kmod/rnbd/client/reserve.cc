// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/reserve.hh>

#include <cxxrt/block.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {

using Verdict = NoPathRule::Verdict;

constexpr unsigned int kUnmappedLookMs = 100;

} // namespace

// What its path or the link did to the question, and not what the server answered.
static bool is_loss(Error e)
{
	return e == err::econnaborted || e == err::econnreset || e == err::enotconn;
}

// By the id that the device has now, in that epoch only.
Result<Ref<Message>> Device::reserve_once(const ReserveRequest &r)
{
	struct At {
		u32 id, epoch, open_number;
	};
	const At at = TRY(session_->with_link([&](Link &) -> Result<At> {
		if (state() != DeviceState::Mapped)
			return err::econnaborted;
		return At{id_, epoch_, open_number_};
	}));
	if (!TRY(session_->extension(at.epoch)).has(feature::reservations))
		return err::eopnotsupp;
	const ReserveQuestion question = make_reserve({at.id}, r);
	Result<Ref<Message>> answered =
	    Message::exchange(*session_,
			      {.message = &question,
			       .size = sizeof(question),
			       .answer_size = reserve_answer_size(r.operation)},
			      {.epoch = &at.epoch, .kind = MessageKind::Slow});
	if (!answered.ok()) {
		if (answered.error() == err::enotconn)
			note_unknown_id(at.open_number);
		return answered.error();
	}
	TRY(ReserveView::parse((*answered)->answer(), r.operation));
	return answered;
}

// Until it can be asked again, or what is to be said instead.
Status Device::await_path_to_reserve(u64 missed)
{
	if (state() == DeviceState::Unmapped)
		return err::enodev;
	if (waiting_.judge(missed) == Verdict::Fail)
		return err::eio;
	return pause_to_reserve();
}

Status Device::pause_to_reserve()
{
	const Status s = changed_.wait_killable_for(
	    msecs_to_jiffies(kUnmappedLookMs), [&] { return state() == DeviceState::Unmapped; });
	return s.ok() ? Status(err::enodev) : s.error() == err::etimedout ? Status() : s;
}

Result<Ref<Message>> Device::reserve(ReserveRequest r)
{
	r.serial = get_random_u64() ?: 1;
	// One at a time: the server remembers the last one.
	TRY(changed_.wait_killable(
	    [&] { return !__atomic_exchange_n(&reserving_, true, __ATOMIC_ACQUIRE); }));
	Result<Ref<Message>> result = reserve_alone(r);
	__atomic_store_n(&reserving_, false, __ATOMIC_RELEASE);
	changed_.wake_all();
	return result;
}

Result<Ref<Message>> Device::reserve_alone(const ReserveRequest &r)
{
	u64 missed = 0; // since when there is no path; 0: there is
	for (;;) {
		Result<Ref<Message>> answered =
		    session_->resend_while_up([&] { return reserve_once(r); });
		if (answered.ok())
			return answered;
		// What was to end at the server has not ended yet.
		if (answered.error() == err::ebusy) {
			missed = 0;
			TRY(pause_to_reserve());
			continue;
		}
		if (!is_loss(answered.error()))
			return answered;
		if (!missed)
			missed = ktime_get_ns();
		TRY(await_path_to_reserve(missed));
	}
}

namespace {

// What the callers of pr_ops expect.
int to_kernel(const Status &s)
{
	return s.code() == err::ebade.code() ? cxxrt::kPrConflict : s.code();
}

ReservationType from_kernel(pr_type type)
{
	return static_cast<ReservationType>(type);
}

Result<Ref<Message>> ask(block_device *bdev, const ReserveRequest &r)
{
	// A part has none of its own, and the disk's is not for whoever may use that.
	if (bdev_is_partition(bdev))
		return err::eopnotsupp;
	return static_cast<Device *>(bdev->bd_disk->private_data)->reserve(r);
}

int change(block_device *bdev, const ReserveRequest &r)
{
	const u8 type = static_cast<u8>(r.type);
	if (type && !is_reservation_type(type))
		return -EOPNOTSUPP;
	const Result<Ref<Message>> answered = ask(bdev, r);
	return answered.ok() ? 0 : to_kernel(answered.error());
}

ReserveRequest request_of(ReserveOperation op, u64 key, u64 second_key = 0,
			  ReservationType type = ReservationType::None)
{
	return {.operation = op,
		.type = type,
		.ignore_key = false,
		.serial = 0,
		.key = key,
		.second_key = second_key};
}

// f(const ReserveView &)
template <class F> int look(block_device *bdev, ReserveOperation op, F &&f)
{
	Result<Ref<Message>> answered = ask(bdev, request_of(op, 0));
	if (!answered.ok())
		return to_kernel(answered.error());
	Result<ReserveView> view = ReserveView::parse((*answered)->answer(), op);
	if (!view.ok())
		return view.code();
	f(*view);
	return 0;
}

struct Calls {
	static int enrol(block_device *bdev, u64 old_key, u64 new_key, u32 flags)
	{
		if (flags & ~static_cast<u32>(PR_FL_IGNORE_KEY))
			return -EOPNOTSUPP;
		ReserveRequest r = request_of(ReserveOperation::Register, old_key, new_key);
		r.ignore_key = flags & PR_FL_IGNORE_KEY;
		return change(bdev, r);
	}

	static int reserve(block_device *bdev, u64 key, pr_type type, u32 flags)
	{
		if (flags)
			return -EOPNOTSUPP;
		return change(bdev,
			      request_of(ReserveOperation::Reserve, key, 0, from_kernel(type)));
	}

	static int release(block_device *bdev, u64 key, pr_type type)
	{
		return change(bdev,
			      request_of(ReserveOperation::Release, key, 0, from_kernel(type)));
	}

	// `key` is the caller's, as all drivers have it, whatever the names of the interface say.
	static int preempt(block_device *bdev, u64 key, u64 victim, pr_type type, bool abort)
	{
		return change(bdev, request_of(abort ? ReserveOperation::PreemptAndAbort
						     : ReserveOperation::Preempt,
					       key, victim, from_kernel(type)));
	}

	static int clear(block_device *bdev, u64 key)
	{
		return change(bdev, request_of(ReserveOperation::Clear, key));
	}

	// `count` is how many `keys` has room for, and then how many there are.
	static int read_keys(block_device *bdev, u32 &generation, u32 &count, u64 *keys)
	{
		return look(bdev, ReserveOperation::ReadKeys, [&](const ReserveView &view) {
			generation = view.state().generation;
			for (u32 i = 0; i < view.count() && i < count; i++)
				keys[i] = view.key(i);
			count = view.count();
		});
	}

	static int read_reservation(block_device *bdev, u64 &key, u32 &generation, pr_type &type)
	{
		return look(bdev, ReserveOperation::ReadReservation, [&](const ReserveView &view) {
			key = view.state().holder;
			generation = view.state().generation;
			type = static_cast<pr_type>(view.state().type);
		});
	}
};

} // namespace

constinit const pr_ops kReservationOperations = [] {
	pr_ops o{};
	cxxrt::set_reservation_operations<Calls>(o);
	return o;
}();

} // namespace rnbd::client
