// SPDX-License-Identifier: GPL-2.0
// SESS_INFO, OPEN and CLOSE (protocol D.1, D.2, E.2).
#include <cxxrt/log.hh>
#include <rnbd/server/device_search.hh>
#include <rnbd/server/identity.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd::server {

namespace {

constexpr u32 kServerFeatures = feature::all;

} // namespace

void Session::run_message(const rtrs_srv_request &request)
{
	Result<u32> produced = handle_message(request);
	rtrs_srv_respond(request.op, produced.code(), produced.ok() ? produced.value() : 0);
}

Result<u32> Session::handle_message(const rtrs_srv_request &request)
{
	switch (TRY(parse_message_type(message_of(request), features_))) {
	case MessageType::SessionInfo:
		return handle_session_info(request);
	case MessageType::Open:
		return handle_open(request);
	case MessageType::Close:
		return handle_close(request);
	case MessageType::DeviceStates:
		return handle_device_states(request);
	case MessageType::Identify:
		return handle_identify(request);
	case MessageType::DeviceLimits:
		return handle_device_limits(request);
	case MessageType::Discover:
		return handle_discover(request);
	case MessageType::Reserve:
		return handle_reserve(request);
	case MessageType::NumberedOpen:
		return handle_numbered_open(request);
	case MessageType::NumberedClose:
		return handle_numbered_close(request);
	default:
		return err::einval;
	}
}

Result<u32> Session::handle_session_info(const rtrs_srv_request &request)
{
	const u8 version = TRY(parse_session_info(message_of(request), transfer_of(request)));
	trace::session_info(*this, request, version);
	WRITE_ONCE(version_, version);
	SessionInfo answer = make_session_info_response(version);
	const Extension ours{.features = kServerFeatures, .instance = module_.instance()};
	WRITE_ONCE(features_, answer_extension(message_of(request), ours, answer));
	return put_answer(request, answer);
}

Result<u32> Session::handle_open(const rtrs_srv_request &request)
{
	const OpenRequest want =
	    TRY(parse_open(message_of(request), transfer_of(request), READ_ONCE(features_)));
	trace::open(*this, want);
	Result<DeviceProperties> properties =
	    open(want, {.number = {}, .op = request.op, .opening = nullptr});
	if (!properties.ok()) {
		log_warning_limited(Subject(*this, want.name).c_str(),
				    "Opening device failed, access mode %s: error %d",
				    to_text(want.access_mode), properties.code());
		return properties.error();
	}
	return put_answer(request, TRY(make_open_response(properties.value())));
}

bool Session::asks_by_wwid(const DeviceName &device) const
{
	constexpr u32 kBoth = feature::open_by_wwid | feature::identify;
	return (READ_ONCE(features_) & kBoth) == kBoth && is_wwid_name(device.view());
}

Result<dev_t> Session::find(const DeviceName &device, const Opener &opener)
{
	// A folder of its own is for who is it, and not for who says so.
	if (names_session(TextView::of(module_.search_path())))
		TRY(Status::from_code(rtrs_srv_check_name(key(), name())));
	const TextView session = TextView::of(name());
	if (asks_by_wwid(device))
		return module_.searches().find(module_.search_path(), session, searches_, device,
					       opener);
	return find_device(module_.search_path(), session, device);
}

Result<DeviceProperties> Session::open(const OpenRequest &want, const Opener &opener)
{
	cxxrt::Box<ExportUse> use =
	    TRY(module_.configured().admit(*this, want.name.view(), want.access_mode));
	const dev_t number = use ? TRY(use->find_device()) : TRY(find(want.name, opener));
	const bool write = may_write(want.access_mode);
	BlockDevice device =
	    use ? TRY(use->open(number, write, opener)) : TRY(BlockDevice::open(number, write));
	Mapping::Told told{.properties = device.properties(), .wwid = {}};
	// Whether it can be told at all, before anything else knows of the device.
	TRY(make_open_response(told.properties));
	// Here, where a disk that hangs delays its own OPEN.
	if (READ_ONCE(features_) & feature::identify)
		told.wwid = identify_device(device.get(), module_.server_id());
	// That number may be another disk's by now.
	if (!use && asks_by_wwid(want.name) &&
	    !(told.wwid == TRY(parse_wwid_name(want.name.view()))))
		return err::enoent;

	cxxrt::Ref<Mapping> fresh =
	    TRY(Mapping::create(*this, cxxrt::move(device), want, told, cxxrt::move(use)));
	fresh->set_open_number(opener.number);
	// Not attached if it fails: the reference is all there is to give back. A session that asks
	// again, as clients do when they reconnect, gets the id that it has and the properties of
	// now; `fresh` was only needed to find that out.
	cxxrt::Ref<Mapping> mapping = TRY(module_.exports().attach(*fresh, opener));
	if (mapping.get() == fresh.get())
		TRY(publish(*mapping));
	told.properties.device = mapping->id();
	return told.properties;
}

// No other thread can end the mapping before it stands in the table: CLOSE does not find the id,
// force_close finds another owner, nor does a change of its export's rules, which waits for the
// end of the mapping from published() on. A change between published() and the table is found by
// still_allowed(): from the moment the mapping stands there its client may write, and anybody may
// be faster than a failure of that.
Status Session::publish(Mapping &mapping)
{
	Status known = module_.disks().join(mapping);
	if (known.ok())
		known = mapping.published();
	if (!known.ok()) {
		mapping.end();
		return known;
	}
	Status reserved = table_.with([&](Table &t) -> Status {
		if (t.down)
			return err::enotconn;
		mapping.set_id({TRY(ids_.reserve(kMaxMappings - 1))});
		t.making.push_back(mapping);
		return {};
	});
	if (!reserved.ok()) {
		mapping.end();
		return reserved;
	}
	const u32 id = mapping.id().value;
	Status made = mapping.add_files();
	table_.with([&](Table &t) {
		t.making.remove(mapping);
		if (made.ok() && t.down)
			made = err::enotconn;
		if (!made.ok()) {
			ids_.remove(id);
			return;
		}
		mapping.get();
		ids_.fill(id, &mapping);
	});
	if (!made.ok()) {
		mapping.end();
		return made;
	}
	// Other OPENs of the same number, which wait here, get the same answer.
	module_.exports().wake();
	Status allowed = mapping.still_allowed();
	if (!allowed.ok()) {
		if (cxxrt::Ref<Mapping> mine = take(mapping))
			mine->end();
		return allowed;
	}
	mapping.announce();
	return {};
}

Result<u32> Session::handle_close(const rtrs_srv_request &request)
{
	const DeviceId id = TRY(parse_close(message_of(request), transfer_of(request)));
	trace::close(*this, id);
	// An id that is unknown, or was force-closed, is as closed as the client wants it.
	if (cxxrt::Ref<Mapping> mapping = take(id.value))
		end_for(*mapping, request.op);
	return 0u;
}

// Of a message that took it out of the table. What takes longer is waited for by the next OPEN of
// the device.
void Session::end_for(Mapping &mapping, const rtrs_srv_op *op)
{
	mapping.end();
	static_cast<void>(module_.exports().wait_patiently(
	    [&] { return mapping.ended() || rtrs_srv_op_dead(op); }));
}

} // namespace rnbd::server
