// SPDX-License-Identifier: GPL-2.0
#include <rtrs/client/module.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/session_events.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

using Kind = SessionEvent::Kind;

kobject_action action_of(Kind kind)
{
	switch (kind) {
	case Kind::Lost:
		return KOBJ_OFFLINE;
	case Kind::Back:
		return KOBJ_ONLINE;
	default:
		return KOBJ_CHANGE;
	}
}

const char *word_of(Kind kind)
{
	switch (kind) {
	case Kind::Lost:
		return "session-lost";
	case Kind::Back:
		return "session-back";
	case Kind::PathLost:
		return "path-lost";
	case Kind::PathBack:
		return "path-back";
	case Kind::PathGaveUp:
		return "path-gave-up";
	case Kind::PathUnproven:
		return "path-unproven";
	}
	return "?";
}

} // namespace

void SessionEvents::add(const SessionEvent &event)
{
	pending_.with([&](Pending &p) { p.add(event); });
	work_.queue(module_->events);
}

void SessionEvents::run()
{
	SessionEvent event;
	while (pending_.with([&](Pending &p) { return p.take(event); }))
		send(event);
}

void SessionEvents::send(const SessionEvent &event)
{
	TextBuffer<sizeof("RTRS_EVENT=path-unproven")> what;
	TextBuffer<sizeof("RTRS_SESSION=") + kSessionNameSize> session;
	TextBuffer<sizeof("RTRS_PATH=") + RTRS_PAIR_TEXT> path;
	TextBuffer<sizeof("RTRS_ERROR=-4095")> error;
	TextBuffer<sizeof("RTRS_REASON=") + kReasonSize> reason;
	char *environment[6] = {what.data(), session.data()};
	u32 count = 2;
	what.print("RTRS_EVENT=%s", word_of(event.kind));
	session.print("RTRS_SESSION=%s", session_.name());
	if (event.kind != Kind::Lost && event.kind != Kind::Back) {
		path.print("RTRS_PATH=%s", event.name.c_str());
		environment[count++] = path.data();
	}
	if (event.reason != PathReason::None) {
		error.print("RTRS_ERROR=%d", event.error);
		reason.print("RTRS_REASON=%s", ReasonText(event.reason, event.error).c_str());
		environment[count++] = error.data();
		environment[count++] = reason.data();
	}
	kobject_uevent_env(session_.device_kobj(), action_of(event.kind), environment);
}

ReasonText::ReasonText(PathReason reason, int error)
{
	if (!names_errno(reason)) {
		text_.print("%s", rtrs::to_text(reason));
		return;
	}
	// Its name with a minus, or the number, as the kernel was built.
	TextBuffer<24> name;
	// raw: nothing of the kernel's but its name for a number
	name.print("%pe", ERR_PTR(error));
	text_.print("%s: %s", rtrs::to_text(reason), name.c_str() + (name.c_str()[0] == '-'));
}

} // namespace rtrs::client
