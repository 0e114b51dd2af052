// SPDX-License-Identifier: GPL-2.0
// Start and end of rtrs-server, and the functions of rtrs.h that concern the server as a whole.
#include <rtrs/server/module.hh>

#include <cxxrt/log.hh>
#include <cxxrt/newest.hh>
#include <rtrs/pure/geometry.hh>

using namespace cxxrt;

namespace rtrs::server {

constinit Module *module_ = nullptr;

namespace {

constexpr char kModuleSubject[] = "module";

constinit AuthPolicy auth_policy_ = AuthPolicy::Optional;

// Protocol F.5. The message names the parameter.
Result<Settings> check_params(const rtrs_server_params &p)
{
	const GeometryFault fault = check_geometry(p.max_chunk_size, p.sess_queue_depth, PAGE_SIZE);
	if (fault != GeometryFault::None) {
		log_error(kModuleSubject, "%s (max_chunk_size %d, sess_queue_depth %d)",
			  to_text(fault), p.max_chunk_size, p.sess_queue_depth);
		return err::einval;
	}
	// A chunk is one run of physical memory.
	if (get_order(p.max_chunk_size) > kMaxPageOrder) {
		log_error(kModuleSubject, "max_chunk_size is too large: %d, at most %lu",
			  p.max_chunk_size, PAGE_SIZE << kMaxPageOrder);
		return err::einval;
	}
	return Settings{
	    .always_invalidate = p.always_invalidate,
	    .capsules = p.capsules,
	    .layout = TRY(ImmLayout::create({static_cast<u32>(p.sess_queue_depth)},
					    {static_cast<u32>(p.max_chunk_size)})),
	    .header_size = PAGE_SIZE,
	};
}

Result<Box<Module>> create_module(const Settings &s, const rtrs_server_limits &limits)
{
	Box<Module> m = TRY(make_box<Module>(GFP_KERNEL, s, limits));
	// In sysfs, where the number of items that run at a time can be changed.
	m->control = TRY(Workqueue::create("rtrs_server_wq", WQ_UNBOUND | WQ_SYSFS));
	// Each may sleep for a second (DelayedDreq), of as many paths as a cable carries.
	m->closing = TRY(
	    Workqueue::create("rtrs_server_close", WQ_UNBOUND | WQ_SYSFS, WQ_UNBOUND_MAX_ACTIVE));
	m->timers = TRY(Workqueue::create("rtrs_server_time", WQ_UNBOUND | WQ_SYSFS));
	m->strangers = TRY(
	    Workqueue::create("rtrs_server_new", WQ_UNBOUND | WQ_SYSFS, kStrangersServedAtOnce));
	m->known_hosts = TRY(Workqueue::create("rtrs_server_known", WQ_UNBOUND | WQ_SYSFS));
	m->io = TRY(Workqueue::create("rtrs_server_io", WQ_UNBOUND | WQ_MEM_RECLAIM));
	m->device_class = TRY(DeviceClass::create(cxxrt::lock_class<"rtrs-server">()));
	m->debug_dir = DebugDir::create("rtrs-server");
	m->debug_dir.add_file<Module, &Module::show_refusals>("refusals", m.get());
	TRY(m->key_lists.create());
	return m;
}

// Behind it nothing runs that belongs to the server.
void end_server(Server &server)
{
	server.stop();
	// The last works of the paths may still be on their way out of code that belongs to them.
	module_->strangers.flush();
	module_->known_hosts.flush();
	module_->control.flush();
	module_->closing.flush();
	module_->timers.flush();
	module_->io.flush();
	// And the last answers out of what ended them, a thread of the device mapper perhaps. They
	// don't sleep on that way.
	synchronize_rcu_tasks(); // raw: in no header of cxxrt that says when
}

Status open_server(const rtrs_srv_ops &ops, u16 port, rtrs_srv *&out)
{
	return module_->server.with([&](Box<Server> &server) -> Status {
		if (server)
			return err::eexist;
		server = TRY(make_box<Server>(GFP_KERNEL, ops));
		out = server.get();
		if (const Status s = server->start(port); !s.ok()) {
			// One of two listeners may have been there, and have taken requests.
			end_server(*server);
			server.reset();
			return s.error();
		}
		return {};
	});
}

Result<Box<ListenRules>> parse_listen(TextView text)
{
	Box<ListenRules> rules = TRY(make_box<ListenRules>(GFP_KERNEL));
	TRY(rules->parse(text, [](TextView word) -> Result<AddressRule> {
		rtrs_addr_rule rule;
		TRY(Status::from_code(rtrs_addr_parse_rule(word.data(), word.size(), &rule)));
		return AddressRule{HostAddress::of(rule.address), rule.bits};
	}));
	return rules;
}

Status set_listen(TextView text)
{
	const Box<ListenRules> rules = TRY(parse_listen(text));
	module_->listen.with([&](ListenRules &now) { now = *rules; });
	return {};
}

} // namespace

AuthPolicy auth_policy()
{
	return READ_ONCE(auth_policy_);
}

void Module::show_refusals(DebugText &text)
{
	for (unsigned i = 0; i < kRefusals; i++) {
		const Refusal r = static_cast<Refusal>(i);
		text.print("%s %llu\n", to_text(r), refusals.get(r));
	}
}

} // namespace rtrs::server

using rtrs::server::module_;

CXXRT_FOR_C int rtrs_server_set_auth(const char *text)
{
	const rtrs::Result<rtrs::AuthPolicy> policy = rtrs::parse_auth_policy(TextView::of(text));
	if (policy.ok())
		WRITE_ONCE(rtrs::server::auth_policy_, policy.value());
	return policy.code();
}

CXXRT_FOR_C const char *rtrs_server_get_auth()
{
	return to_text(rtrs::server::auth_policy());
}

CXXRT_FOR_C int rtrs_server_check_listen(const char *text)
{
	static_assert(RTRS_SERVER_LISTEN_SIZE == rtrs::kMaxListenText + 1);
	return rtrs::server::parse_listen(TextView::of(text)).code();
}

CXXRT_FOR_C int rtrs_server_set_listen(const char *text)
{
	return rtrs::server::set_listen(TextView::of(text)).code();
}

CXXRT_FOR_C int rtrs_server_start(const rtrs_server_params *params,
				  const rtrs_server_limits *limits)
{
	using namespace rtrs::server;
	Result<Settings> s = check_params(*params);
	if (!s.ok())
		return s.code();
	Result<Box<Module>> m = create_module(s.value(), *limits);
	if (!m.ok())
		return m.code();
	module_ = m->release();
	log_info(kModuleSubject,
		 "protocol %u.%u, max_chunk_size %u (data %u, headers %u), sess_queue_depth %u, "
		 "always_invalidate %c",
		 rtrs::kProtocolMajor, rtrs::kProtocolMinor, settings().chunk_size(),
		 settings().max_io_size(), settings().header_size, settings().queue_depth(),
		 settings().always_invalidate ? 'Y' : 'N');
	return 0;
}

CXXRT_FOR_C void rtrs_server_stop()
{
	delete module_;
	module_ = nullptr;
}

CXXRT_FOR_C int rtrs_srv_open(const rtrs_srv_ops *ops, u16 port, rtrs_srv **server)
{
	return rtrs::server::open_server(*ops, port, *server).code();
}

CXXRT_FOR_C void rtrs_srv_close(rtrs_srv *server)
{
	rtrs::server::end_server(*static_cast<rtrs::server::Server *>(server));
	module_->server.with([](auto &box) { box.reset(); });
}

CXXRT_FOR_C u32 rtrs_srv_max_io_size(const rtrs_srv *)
{
	return rtrs::server::settings().max_io_size();
}

CXXRT_FOR_C int rtrs_srv_check_name(const char *key, const char *session)
{
	using namespace rtrs::server;
	const bool fine = auth_policy() != rtrs::AuthPolicy::Required ||
			  module_->key_lists.bound(TextView::of(key), TextView::of(session));
	return fine ? 0 : -EACCES;
}
