// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/opening.hh>

#include <cxxrt/log.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.hh>

namespace rnbd::server {

namespace {

// A device that opens within this time is told by the first answer. The client has few places for
// messages of this kind, and may have hundreds of devices that hang.
constexpr unsigned int kFirstAnswerMs = 200;

} // namespace

Opening::Opening(Session &session, const NumberedOpenRequest &r) : session_(session), request_(r) {}

Result<cxxrt::Ref<Opening>> Opening::create(Session &session, const NumberedOpenRequest &r)
{
	return cxxrt::make_ref<Opening>(GFP_KERNEL, session, r);
}

void Opening::start(const cxxrt::Workqueue &queue)
{
	session_.get();
	work_.queue(queue);
}

void Opening::run()
{
	cxxrt::Ref<Session> session = cxxrt::Ref<Session>::adopt(&session_);
	Result<DeviceProperties> opened =
	    given_up() ? Result<DeviceProperties>(err::econnaborted)
		       : session->open(request_.want,
				       {.number = request_.number, .op = nullptr, .opening = this});
	session->opened(*this, cxxrt::move(opened));
}

// Rule: nothing begins after its path
// Under the lock of the table, which path_closing() takes too: so an OPEN of a path that is closing
// either is listed when that path is quiet, where a CLOSE finds it, or never begins. Empty if the
// device is open under that number: then the mapping has the answer.
Result<cxxrt::Ref<Opening>> Session::begin_opening(const NumberedOpenRequest &r,
						   const rtrs_srv_op *op, bool &fresh)
{
	using Begun = Result<cxxrt::Ref<Opening>>;
	fresh = false;
	return table_.with([&](Table &t) -> Begun {
		if (t.down || rtrs_srv_op_dead(op))
			return err::econnaborted;
		for (Opening &o : t.openings)
			if (o.number() == r.number)
				return o.asks_for(r.want) ? Begun(cxxrt::Ref<Opening>::share(&o))
							  : Begun(err::einval);
		if (r.number.value <= t.newest_number && find_numbered(r.number))
			return cxxrt::Ref<Opening>();
		if (t.opening_count == kMaxMappings)
			return err::ebusy;
		cxxrt::Ref<Opening> opening = TRY(Opening::create(*this, r));
		opening->get();
		t.openings.push_back(*opening);
		t.opening_count++;
		t.newest_number = cxxrt::max_of(t.newest_number, r.number.value);
		opening->start(openings_);
		fresh = true;
		return opening;
	});
}

// Table lock held.
void Session::forget(Table &t, Opening &opening)
{
	t.openings.remove(opening);
	t.opening_count--;
	opening.put();
}

// By its work item, once.
void Session::opened(Opening &opening, Result<DeviceProperties> result)
{
	cxxrt::Ref<Mapping> unwanted;
	table_.with([&](Table &t) {
		opening.code_ = result.code();
		if (result.ok())
			opening.properties_ = result.value();
		smp_store_release(&opening.ended_, true);
		if (opening.given_up() && result.ok())
			if (Mapping *m = find_numbered(opening.number())) {
				ids_.remove(m->id().value);
				unwanted = cxxrt::Ref<Mapping>::adopt(m);
			}
		if (opening.given_up() || result.ok())
			forget(t, opening);
	});
	if (!result.ok() && !opening.given_up())
		log_warning_limited(Subject(*this, opening.request_.want.name).c_str(),
				    "Opening device failed, access mode %s: error %d",
				    to_text(opening.request_.want.access_mode), result.code());
	if (unwanted)
		unwanted->end();
	module_.exports().wake();
}

Result<u32> Session::handle_numbered_open(const rtrs_srv_request &request)
{
	const NumberedOpenRequest r = TRY(
	    parse_numbered_open(message_of(request), transfer_of(request), READ_ONCE(features_)));
	bool fresh = false;
	cxxrt::Ref<Opening> opening = TRY(begin_opening(r, request.op, fresh));
	if (!opening) {
		const DeviceProperties have = TRY(properties_of(r.number));
		return put_answer(request, TRY(make_open_response(have)));
	}
	if (fresh) {
		trace::open(*this, r.want);
		static_cast<void>(module_.exports().wait_patiently(
		    [&] { return opening->ended() || rtrs_srv_op_dead(request.op); },
		    kFirstAnswerMs));
	}
	if (!opening->ended())
		return err::einprogress;
	if (opening->status().ok())
		return put_answer(request, TRY(make_open_response(opening->properties())));
	// The answer may be lost with its path. Then the client asks again, and it begins anew.
	table_.with([&](Table &t) {
		for (Opening &o : t.openings)
			if (&o == opening.get()) {
				forget(t, o);
				break;
			}
	});
	return opening->status().error();
}

// Rule: a close names its open
// What another OPEN has opened, or taken over, stays.
Result<u32> Session::handle_numbered_close(const rtrs_srv_request &request)
{
	const OpenNumber number =
	    TRY(parse_numbered_close(message_of(request), transfer_of(request)));
	cxxrt::Ref<Mapping> mapping;
	table_.with([&](Table &t) {
		for (Opening &o : t.openings)
			if (o.number() == number) {
				o.give_up();
				if (o.ended())
					forget(t, o);
				return;
			}
		if (Mapping *m = find_numbered(number)) {
			ids_.remove(m->id().value);
			mapping = cxxrt::Ref<Mapping>::adopt(m);
		}
	});
	if (!mapping) {
		module_.exports().wake();
		return 0u;
	}
	trace::close(*this, mapping->id());
	end_for(*mapping, request.op);
	return 0u;
}

// Table lock held.
Mapping *Session::find_numbered(OpenNumber number)
{
	Mapping *found = nullptr;
	ids_.for_each([&](u32, Mapping *m) {
		if (m->open_number() == number)
			found = m;
	});
	return found;
}

// ENOTCONN if the device is closed meanwhile.
Result<DeviceProperties> Session::properties_of(OpenNumber number)
{
	return table_.with([&](Table &) -> Result<DeviceProperties> {
		Mapping *m = find_numbered(number);
		if (!m)
			return err::enotconn;
		return m->properties();
	});
}

// Rule: a later open takes over
// EAGAIN if the mapping is not there for the client, ESTALE if a later OPEN has it.
Status Session::take_over(Mapping &mapping, OpenNumber number)
{
	return table_.with([&](Table &) -> Status {
		if (!knows(mapping))
			return err::eagain;
		if (number && number.value < mapping.open_number().value)
			return err::estale;
		mapping.set_open_number(number);
		return {};
	});
}

// Table lock held, the session is down.
void Session::give_up_openings(Table &t)
{
	cxxrt::List<Opening, &Opening::node_> running;
	while (Opening *o = t.openings.pop_front()) {
		o->give_up();
		if (o->ended()) {
			t.opening_count--;
			o->put();
		} else {
			running.push_back(*o);
		}
	}
	t.openings.take_all(running);
}

} // namespace rnbd::server
