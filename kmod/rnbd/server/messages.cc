// SPDX-License-Identifier: GPL-2.0
// SESS_INFO, OPEN and CLOSE (protocol D.1, D.2, E.2).
#include <cxxrt/log.hh>
#include <rnbd/server/device_search.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd {

namespace {

constexpr u32 kServerFeatures =
    feature::device_states | feature::identify | feature::device_limits;

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
	const OpenRequest want = TRY(parse_open(message_of(request), transfer_of(request)));
	trace::open(*this, want);
	Result<DeviceProperties> properties = open(want);
	if (!properties.ok()) {
		log_warning_limited(Subject(*this, want.name).c_str(),
				    "Opening device failed, access mode %s: error %d",
				    to_text(want.access_mode), properties.code());
		return properties.error();
	}
	return put_answer(request, TRY(make_open_response(properties.value())));
}

Result<DeviceProperties> Session::open(const OpenRequest &want)
{
	cxxrt::Box<ExportUse> use =
	    TRY(module_.configured().admit(*this, want.name.view(), want.access_mode));
	const dev_t number =
	    use ? TRY(use->find_device())
		: TRY(find_device(module_.search_path(), TextView::of(name()), want.name));
	BlockDevice device = TRY(BlockDevice::open(number, may_write(want.access_mode)));
	DeviceProperties properties = device.properties();
	// Whether it can be told at all, before anything else knows of the device.
	TRY(make_open_response(properties));

	cxxrt::Ref<Mapping> fresh = TRY(
	    Mapping::create(*this, module_.exports(), cxxrt::move(device), want, cxxrt::move(use)));
	// Not attached if it fails: the reference is all there is to give back. A session that asks
	// again, as clients do when they reconnect, gets the id that it has and the properties of
	// now; `fresh` was only needed to find that out.
	cxxrt::Ref<Mapping> mapping = TRY(module_.exports().attach(*fresh));
	if (mapping.get() == fresh.get())
		TRY(publish(*mapping));
	properties.device = mapping->id();
	return properties;
}

// Nothing else can take the mapping out of the table meanwhile: CLOSE and the end of the session
// come after this on the queue, force_close needs the file that appears last, and the configured
// export does not know the mapping before published().
Status Session::publish(Mapping &mapping)
{
	mapping.get();
	Result<u32> id = ids_.insert(&mapping, kMaxMappings - 1);
	if (!id.ok()) {
		mapping.put();
		mapping.end();
		return id.error();
	}
	mapping.set_id({id.value()});
	Status files = mapping.add_files();
	if (!files.ok()) {
		take(id.value())->end();
		return files;
	}
	Status published = mapping.published();
	if (!published.ok()) {
		// force_close may have been faster.
		if (cxxrt::Ref<Mapping> mine = take(id.value()))
			mine->end();
		return published;
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
		mapping->end();
	return 0u;
}

} // namespace rnbd
