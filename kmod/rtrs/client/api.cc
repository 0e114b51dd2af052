// SPDX-License-Identifier: GPL-2.0
// The client part of rtrs/rtrs.h over the classes.
#include <rtrs/client/module.hh>
#include <rtrs/client/session.hh>
#include <rtrs/rtrs.h>

using namespace cxxrt;
using rtrs::Slot;
using rtrs::client::Session;

namespace {

Session &session_of(rtrs_clt *handle)
{
	return *reinterpret_cast<Session *>(handle);
}

} // namespace

CXXRT_FOR_C int rtrs_clt_open(const rtrs_clt_params *params, rtrs_clt **handle)
{
	return Session::open(*params, handle).code();
}

CXXRT_FOR_C void rtrs_clt_close(rtrs_clt *handle)
{
	Session::close(&session_of(handle));
}

CXXRT_FOR_C void rtrs_clt_abandon_all()
{
	rtrs::client::module_->sessions.with([](auto &sessions) {
		for (Session &session : sessions)
			session.abandon();
	});
}

CXXRT_FOR_C void rtrs_clt_query(rtrs_clt *handle, rtrs_clt_attrs *attrs)
{
	const rtrs::client::SessionLimits &l = session_of(handle).limits();
	attrs->queue_depth = l.layout.queue_depth().value;
	attrs->first_io_slot = l.permits();
	attrs->max_io_size = l.max_io_size;
	attrs->max_segments = l.max_segments;
	attrs->nr_connections = l.connections.irq;
	attrs->auth = to_text(session_of(handle).auth().policy);
	attrs->key = session_of(handle).auth().key.c_str();
}

CXXRT_FOR_C int rtrs_clt_check_settings(rtrs_clt *handle, const rtrs_clt_settings *settings)
{
	const Result<rtrs::SessionSettings> said = rtrs::client::read_settings(*settings);
	if (!said.ok())
		return said.code();
	if (handle && !session_of(handle).has_settings(said.value()))
		return err::einval.code();
	return 0;
}

CXXRT_FOR_C int rtrs_clt_get_permit(rtrs_clt *handle, bool wait, u32 *slot)
{
	rtrs::client::Permits &permits = session_of(handle).permits();
	Result<Slot> r = wait ? permits.take() : permits.try_take();
	if (r.ok())
		*slot = r.value().value;
	return r.code();
}

CXXRT_FOR_C void rtrs_clt_put_permit(rtrs_clt *handle, u32 slot)
{
	session_of(handle).permits().put(Slot{slot});
}

CXXRT_FOR_C int rtrs_clt_submit(rtrs_clt *handle, const rtrs_clt_request *request)
{
	return session_of(handle).submit(*request).code();
}

CXXRT_FOR_C void rtrs_clt_give_up(rtrs_clt *handle, u32 slot, const void *priv)
{
	session_of(handle).lose_answer(Slot{slot}, priv);
}

CXXRT_FOR_C void rtrs_clt_commit(rtrs_clt *handle, unsigned int poll_queue, unsigned int queue)
{
	session_of(handle).commit({poll_queue, queue});
}

CXXRT_FOR_C int rtrs_clt_poll(rtrs_clt *handle, unsigned int queue, io_comp_batch *batch)
{
	return session_of(handle).poll(queue, batch);
}
