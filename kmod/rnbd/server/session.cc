// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/session.hh>

#include <cxxrt/list.hh>
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rnbd/server/io.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/trace.hh>

namespace rnbd::server {

// A message on its way through the session's queue, with a reference of it. Lives in the slot's
// area, which is its own until the answer; nothing of it is touched afterwards.
class MessageJob {
public:
	MessageJob(Session &session, const rtrs_srv_request &request)
	    : session_(session), request_(request), work_(this)
	{
	}

	void queue()
	{
		session_.get();
		work_.queue(session_.queue_);
	}

private:
	void run()
	{
		cxxrt::Ref<Session> session = cxxrt::Ref<Session>::adopt(&session_);
		const rtrs_srv_request request = request_;
		session->run_message(request);
	}

	Session &session_;
	const rtrs_srv_request request_;
	cxxrt::Work<MessageJob, &MessageJob::run> work_;
};

Subject::Subject(const Session &session, const DeviceName &device)
{
	text_.print("%s@%s", device.c_str(), session.name());
}

Session::Session(Module &module, const rtrs_srv_sess *transport, u32 max_io_bytes,
		 cxxrt::Workqueue queue, cxxrt::Workqueue openings)
    : module_(module), max_io_bytes_(max_io_bytes),
      queue_depth_(rtrs_srv_sess_queue_depth(transport)), queue_(cxxrt::move(queue)),
      openings_(cxxrt::move(openings))
{
	name_.print("%s", rtrs_srv_sess_name(transport));
	key_.print("%s", rtrs_srv_sess_key(transport));
	module_.exports().born();
}

Session::~Session()
{
	module_.exports().gone();
}

// Its queue can't be destroyed from its own work.
void Session::destroy()
{
	free_work_.queue(module_.endings());
}

void Session::free()
{
	delete this;
}

Result<Session *> Session::create(Module &module, rtrs_srv_sess *transport)
{
	const u32 max_io_bytes = TRY(module.max_io_bytes());
	cxxrt::Workqueue queue =
	    TRY(cxxrt::Workqueue::create(rtrs_srv_sess_name(transport), WQ_UNBOUND, WQ_MAX_ACTIVE));
	cxxrt::Workqueue openings =
	    TRY(cxxrt::Workqueue::create("rnbd_server_opens", WQ_UNBOUND, WQ_MAX_ACTIVE));
	Session *session = new (GFP_KERNEL)
	    Session(module, transport, max_io_bytes, cxxrt::move(queue), cxxrt::move(openings));
	if (!session)
		return err::enomem;
	trace::create_session(*session);
	return session;
}

// What is being opened meanwhile finds the table down. What force_close took out of it ends by
// itself, as do these.
void Session::down()
{
	trace::destroy_session(*this);
	cxxrt::List<Mapping, &Mapping::ending_> ending;
	table_.with([&](Table &t) {
		t.down = true;
		give_up_openings(t);
		ids_.for_each([&](u32 id, Mapping *m) {
			ids_.remove(id);
			ending.push_back(*m);
		});
	});
	while (Mapping *m = ending.pop_front()) {
		m->end();
		m->put();
	}
	// OPENs that wait for a device.
	module_.exports().wake();
	// raw: tools look for this line as it is (protocol F.8)
	printk_ratelimited(KERN_INFO KBUILD_MODNAME ": RTRS Session %s disconnected\n", name());
	put();
}

Status Session::path_up(const sockaddr_storage &client)
{
	return module_.configured().add_host(*this, host_of(client));
}

void Session::path_closing()
{
	DiskQueue::Dropped dropped;
	table_.with([&](Table &) {
		ids_.for_each([&](u32, Mapping *m) { m->queue().path_closing(dropped); });
	});
	dropped.answer();
	// Messages that wait for a device.
	module_.exports().wake();
}

void Session::path_down(const sockaddr_storage &client)
{
	module_.configured().remove_host(*this, host_of(client));
}

usize Session::area_size()
{
	return cxxrt::max_of(sizeof(MessageJob), io_area_size());
}

// What is no I/O.
noinline void Session::handle_other(const rtrs_srv_request &request)
{
	Result<MessageType> type = parse_message_type(message_of(request), READ_ONCE(features_));
	if (!type.ok()) {
		log_warning_limited(name(), "Unknown message of %u bytes", request.msg_len);
		rtrs_srv_respond(request.op, type.code(), 0);
		return;
	}
	(new (request.area) MessageJob(*this, request))->queue();
}

cxxrt::Ref<Mapping> Session::take(u32 id)
{
	return table_.with([&](Table &t) {
		for (const Mapping &m : t.making)
			if (m.id().value == id)
				return cxxrt::Ref<Mapping>();
		Mapping *m = ids_.remove(id);
		return m ? cxxrt::Ref<Mapping>::adopt(m) : cxxrt::Ref<Mapping>();
	});
}

cxxrt::Ref<Mapping> Session::take(Mapping &mapping)
{
	return table_.with([&](Table &) {
		if (!knows(mapping))
			return cxxrt::Ref<Mapping>();
		ids_.remove(mapping.id().value);
		return cxxrt::Ref<Mapping>::adopt(&mapping);
	});
}

cxxrt::Ref<Mapping> Session::retire(Mapping &mapping)
{
	return table_.with([&](Table &) {
		return ids_.retire(mapping.id().value, &mapping)
			   ? cxxrt::Ref<Mapping>::adopt(&mapping)
			   : cxxrt::Ref<Mapping>();
	});
}

} // namespace rnbd::server
