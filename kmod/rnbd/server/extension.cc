// SPDX-License-Identifier: GPL-2.0
// DEVICE_STATES, IDENTIFY and DEVICE_LIMITS (protocol D.5). What they tell is at hand: none of them
// waits for a device.
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd::server {

// Under the lock of the table, so that nothing is closed meanwhile.
Result<u32> Session::handle_device_states(const rtrs_srv_request &request)
{
	const DeviceStatesQuestion question =
	    TRY(parse_device_states(message_of(request), transfer_of(request)));
	const bool cache = READ_ONCE(features_) & feature::device_cache;
	return table_.with([&](Table &t) {
		u8 *const answer = static_cast<u8 *>(request.data);
		u32 id = question.first;
		u32 count = 0;
		u32 size = sizeof(DeviceStatesResponse);
		u32 next = kNoMoreDevices;
		const u32 serial = cache ? t.states_serial = next_serial(t.states_serial) : 0;
		while (Mapping *m = ids_.next(id)) {
			if (count == kMaxStateEntries) {
				next = id;
				break;
			}
			DeviceCondition condition = m->condition();
			if (cache) {
				m->cache().followed(question.followed);
				m->cache().tells(condition.writeback, serial);
			} else {
				condition.writeback = condition.fua = false;
			}
			const DeviceStateEntry entry = make_device_state(condition);
			__builtin_memcpy(answer + size, &entry, sizeof(entry));
			size += sizeof(entry);
			count++;
			id++;
		}
		put_answer(request, make_device_states_response(count, next, serial));
		return size;
	});
}

Result<u32> Session::handle_identify(const rtrs_srv_request &request)
{
	const DeviceId id = TRY(parse_identify(message_of(request), transfer_of(request)));
	const Identity identity =
	    TRY(with_open(id, [](Mapping &m) -> Result<Identity> { return m.identity(); }));
	return put_answer(request, make_identify_response(identity));
}

Result<u32> Session::handle_device_limits(const rtrs_srv_request &request)
{
	const DeviceId id = TRY(parse_device_limits(message_of(request), transfer_of(request)));
	const DeviceTopology topology =
	    TRY(with_open(id, [](Mapping &m) -> Result<DeviceTopology> { return m.topology(); }));
	return put_answer(request, make_device_limits_response(topology));
}

} // namespace rnbd::server
