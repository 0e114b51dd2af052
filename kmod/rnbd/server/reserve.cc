// SPDX-License-Identifier: GPL-2.0
// RESERVE (protocol D.5).
#include <cxxrt/log.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/shared_disk.hh>
#include <rnbd/wire/reserve.hh>

namespace rnbd::server {

Result<u32> Session::handle_reserve(const rtrs_srv_request &request)
{
	const ReserveMessage m = TRY(parse_reserve(message_of(request), transfer_of(request)));
	using Found = Result<cxxrt::Ref<Mapping>>;
	cxxrt::Ref<Mapping> mapping = TRY(with_open(
	    m.device, [](Mapping &open) -> Found { return cxxrt::Ref<Mapping>::share(&open); }));
	SharedDisks &disks = module_.disks();
	if (mapping->no_reservations_)
		log_warning_limited(name(), "%.*s can have no reservations: %s",
				    static_cast<int>(mapping->name().size()),
				    mapping->name().data(), mapping->no_reservations_);
	if (!only_reads(m.request.operation))
		TRY(disks.operate(*mapping, m.request, request.op));

	u8 *const keys = static_cast<u8 *>(request.data) + sizeof(ReserveResponse);
	u32 count = 0;
	auto add_key = [&](const Nexus &, u64 key, bool) {
		const Le64 wire(key);
		__builtin_memcpy(keys + count * sizeof(wire), &wire, sizeof(wire));
		count++;
	};
	static_assert(Reservations::kMaxRegistrants <= kMaxReserveKeys);
	TRY(disks.read(*mapping, [&](const ReservationState &state, const Reservations *table) {
		if (table && m.request.operation == ReserveOperation::ReadKeys)
			table->for_each(add_key);
		put_answer(request, make_reserve_response(state, count));
	}));
	return static_cast<u32>(sizeof(ReserveResponse) + count * sizeof(Le64));
}

} // namespace rnbd::server
