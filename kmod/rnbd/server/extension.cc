// SPDX-License-Identifier: GPL-2.0
// DEVICE_STATES, IDENTIFY and DEVICE_LIMITS (protocol D.5).
#include <rnbd/server/identity.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd {

// On the session's queue, so OPEN and CLOSE wait meanwhile; force_close may take a mapping away at
// any time, and the answer then tells of it or not.
Result<u32> Session::handle_device_states(const rtrs_srv_request &request)
{
	const DeviceStatesQuestion question =
	    TRY(parse_device_states(message_of(request), transfer_of(request)));
	u32 id = question.first;
	u8 *const answer = static_cast<u8 *>(request.data);
	u32 count = 0;
	u32 size = sizeof(DeviceStatesResponse);
	u32 next = kNoMoreDevices;
	while (ids_.next(id)) {
		if (count == kMaxStateEntries) {
			next = id;
			break;
		}
		if (Mapping *m = enter({id})) {
			const DeviceStateEntry entry = make_device_state(m->condition());
			m->leave();
			__builtin_memcpy(answer + size, &entry, sizeof(entry));
			size += sizeof(entry);
			count++;
		}
		id++;
	}
	put_answer(request, make_device_states_response(count, next, 0));
	return size;
}

Result<u32> Session::handle_identify(const rtrs_srv_request &request)
{
	const DeviceId id = TRY(parse_identify(message_of(request), transfer_of(request)));
	Mapping *m = enter(id);
	if (!m)
		return err::enotconn;
	const Wwid wwid = identify_device(m->device(), module_.server_id());
	m->leave();
	return put_answer(request, make_identify_response({.wwid = wwid}));
}

Result<u32> Session::handle_device_limits(const rtrs_srv_request &request)
{
	const DeviceId id = TRY(parse_device_limits(message_of(request), transfer_of(request)));
	Mapping *m = enter(id);
	if (!m)
		return err::enotconn;
	const DeviceTopology topology = m->topology();
	m->leave();
	return put_answer(request, make_device_limits_response(topology));
}

} // namespace rnbd
