// SPDX-License-Identifier: GPL-2.0
// Which sessions may use configured exports, and the end of mappings whose session no longer may.
#include <rnbd/server/configured.hh>

#include <cxxrt/block.hh>
#include <cxxrt/log.hh>
#include <rnbd/server/module.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

using cxxrt::Ref;

namespace {

// Of the one module object: configfs gives its calls nothing of ours.
constinit ConfiguredExports *table_ = nullptr;

} // namespace

ConfiguredExports &configured_exports()
{
	return *table_;
}

HostAddress host_of(const sockaddr_storage &address)
{
	HostAddress host{};
	switch (address.ss_family) {
	case AF_INET: {
		u8 v4[4];
		__builtin_memcpy(v4, &reinterpret_cast<const sockaddr_in &>(address).sin_addr, 4);
		return HostAddress::from_ipv4(v4);
	}
	case AF_INET6:
		__builtin_memcpy(host.bytes,
				 &reinterpret_cast<const sockaddr_in6 &>(address).sin6_addr,
				 sizeof(host.bytes));
		break;
	case AF_IB:
		__builtin_memcpy(host.bytes,
				 &reinterpret_cast<const sockaddr_ib &>(address).sib_addr,
				 sizeof(host.bytes));
		break;
	}
	return host;
}

// ---- one use

ExportUse::~ExportUse()
{
	table_->entries_.with([&](ConfiguredExports::Entries &) {
		if (node_.linked())
			node_.unlink();
	});
	if (depends_)
		configfs_undepend_item(entry_.item());
	config_item_put(entry_.item());
}

Status ExportUse::published(Mapping &mapping)
{
	return table_->entries_.with([&](ConfiguredExports::Entries &) -> Status {
		if (revoked_)
			return err::eacces;
		mapping_ = &mapping;
		number_ = mapping.device()->bd_dev;
		return {};
	});
}

Status ExportUse::still_allowed()
{
	return table_->entries_.with([&](ConfiguredExports::Entries &) -> Status {
		return revoked_ ? err::eacces : Status();
	});
}

Result<dev_t> ExportUse::find_device() const
{
	return cxxrt::block_device_at(entry_.device_path_.c_str());
}

// ---- rules

bool ConfiguredExport::permits_host(const HostAddress &host) const
{
	for (u32 i = 0; i < address_count_; i++)
		if (addresses_[i].matches(host))
			return true;
	return address_count_ == 0;
}

Result<AccessMode> ConfiguredExport::most_of(Session &session) const
{
	if (!enabled_ || !session_allowed(sessions_.view(), TextView::of(session.name())))
		return err::eacces;
	for (const Session::Host &host : session.hosts)
		if (host.paths && !permits_host(host.address))
			return err::eacces;
	return access_by_key(keys_.view(), TextView::of(session.key()), access_);
}

bool ConfiguredExport::permits(Session &session, AccessMode mode) const
{
	const Result<AccessMode> most = most_of(session);
	return most.ok() && access_allowed(most.value(), mode);
}

// f(), which changes rules, and then out with everybody whom they do not allow any more.
template <class F> Status ConfiguredExport::change(F &&f)
{
	cxxrt::List<Mapping, &Mapping::ending_> ending;
	bool closes_out = false;
	Status changed = table_->entries_.with([&](ConfiguredExports::Entries &) -> Status {
		TRY(f());
		for (ExportUse &use : uses_) {
			if (permits(use.session_, use.mode_))
				continue;
			use.revoked_ = true;
			closes_out = true;
			if (!use.mapping_)
				continue;
			// CLOSE or the end of the session, where it came first, ends the mapping;
			// the end of one that stands in no table yet is its maker's.
			if (Mapping *m = use.session_.retire(*use.mapping_).release())
				ending.push_back(*m);
		}
		return {};
	});
	while (Mapping *m = ending.pop_front()) {
		log_info(item_name(), "Closing %.*s, which is no longer allowed",
			 static_cast<int>(m->name().size()), m->name().data());
		m->end();
		m->put();
	}
	TRY(changed);
	return closes_out ? await_revoked() : Status();
}

// No request is under way of anybody who was closed out, nor of those whose own end was faster and
// waits for the disk: whoever keeps a client out relies on its last write. A fatal signal leaves
// them to their end.
Status ConfiguredExport::await_revoked()
{
	for (;;) {
		// Alive while its use is listed.
		Ref<Mapping> leaving =
		    table_->entries_.with([&](ConfiguredExports::Entries &) -> Ref<Mapping> {
			    for (ExportUse &use : uses_)
				    if (use.revoked_ && use.mapping_)
					    return Ref<Mapping>::share(use.mapping_);
			    return {};
		    });
		if (!leaving)
			return {};
		TRY(leaving->session().module().exports().wait_killable(
		    [&] { return leaving->ended(); }));
	}
}

Status ConfiguredExport::store_device_path(TextView text)
{
	return change([&]() -> Status {
		if (enabled_ || !uses_.empty())
			return err::ebusy;
		if (text.empty() || text.size() >= kPathSize || text[0] != '/')
			return err::einval;
		device_path_.assign(text);
		return {};
	});
}

Status ConfiguredExport::store_access(TextView text)
{
	const AccessMode mode = TRY(parse_access_mode(text));
	return change([&]() -> Status {
		access_ = mode;
		return {};
	});
}

Status ConfiguredExport::change_list(ListText &list, TextView text)
{
	if (text.size() >= kMaxListText)
		return err::einval;
	return change([&]() -> Status {
		list.assign(text);
		return {};
	});
}

Status ConfiguredExport::store_sessions(TextView text)
{
	return change_list(sessions_, text);
}

Status ConfiguredExport::store_keys(TextView text)
{
	return change_list(keys_, text);
}

static Result<AddressRule> parse_address_rule(TextView word)
{
	rtrs_addr_rule parsed;
	TRY(Status::from_code(rtrs_addr_parse_rule(word.data(), word.size(), &parsed)));
	return AddressRule{HostAddress::of(parsed.address), parsed.bits};
}

Status ConfiguredExport::store_addresses(TextView text)
{
	struct Rules {
		AddressRule rules[kMaxAddressRules];
		u32 count = 0;
	};
	if (text.size() >= kMaxListText)
		return err::einval;
	cxxrt::Box<Rules> parsed = TRY(cxxrt::make_box<Rules>(GFP_KERNEL));
	const bool bad = cxxrt::any_word(text, [&](TextView word) {
		Result<AddressRule> rule = parse_address_rule(word);
		if (!rule.ok() || parsed->count == kMaxAddressRules)
			return true;
		parsed->rules[parsed->count++] = rule.value();
		return false;
	});
	if (bad)
		return err::einval;
	return change([&]() -> Status {
		address_count_ = parsed->count;
		for (u32 i = 0; i < address_count_; i++)
			addresses_[i] = parsed->rules[i];
		addresses_text_.assign(text);
		return {};
	});
}

Status ConfiguredExport::store_local_use(TextView text)
{
	const LocalUse use = TRY(parse_local_use(text));
	return change([&]() -> Status {
		local_use_ = use;
		return {};
	});
}

Status ConfiguredExport::store_enable(TextView text)
{
	Result<int> on = cxxrt::parse_int(text, 0, 1);
	if (!on.ok())
		return on.error();
	if (on.value())
		TRY(check_local_users());
	return change([&]() -> Status {
		if (on.value() && device_path_.view().empty())
			return err::einval;
		enabled_ = on.value() != 0;
		return {};
	});
}

// ---- the table

ConfiguredExports::ConfiguredExports(bool exports_only)
    : exports_only_(exports_only), entries_(cxxrt::lock_class<"rnbd-server configured exports">())
{
	table_ = this;
}

ConfiguredExport *ConfiguredExports::find(Entries &entries, TextView name)
{
	for (ConfiguredExport &e : entries)
		if (TextView::of(e.item_name()) == name)
			return &e;
	return nullptr;
}

Result<cxxrt::Box<ExportUse>> ConfiguredExports::admit(Session &session, TextView name,
						       AccessMode mode)
{
	using Admitted = Result<cxxrt::Box<ExportUse>>;
	Admitted use = entries_.with([&](Entries &entries) -> Admitted {
		ConfiguredExport *e = find(entries, name);
		if (!e) {
			if (exports_only_) {
				denied_unlisted_++;
				return err::eacces;
			}
			if (!access_allowed(kMostWithoutExport, mode))
				return err::eacces;
			return cxxrt::Box<ExportUse>();
		}
		if (!e->permits(session, mode)) {
			e->denied_++;
			return err::eacces;
		}
		auto admitted = TRY(cxxrt::make_box<ExportUse>(GFP_KERNEL, *e, session, mode));
		config_item_get(e->item());
		e->uses_.push_back(*admitted);
		return admitted;
	});
	// Not under the lock, since configfs locks its folders for it. If the export was removed in
	// between, it is not to be found, and that is the answer.
	if (use.ok() && use.value()) {
		TRY(Status::from_code(
		    configfs_depend_item(subsystem_.get(), use.value()->entry_.item())));
		use.value()->depends_ = true;
	}
	return use;
}

bool ConfiguredExports::see(Session &session, u32 first, Seen &seen)
{
	return entries_.with([&](Entries &entries) {
		for (ConfiguredExport &e : entries) {
			const Result<AccessMode> most = e.most_of(session);
			if (e.number_ < first || !most.ok())
				continue;
			seen.number = e.number_;
			seen.access = most.value();
			seen.name.assign(TextView::of(e.item_name()));
			seen.device_path.assign(e.device_path_.view());
			return true;
		}
		return false;
	});
}

Status ConfiguredExports::add_host(Session &session, const HostAddress &host)
{
	return entries_.with([&](Entries &entries) -> Status {
		for (ConfiguredExport &e : entries)
			for (ExportUse &use : e.uses_)
				if (&use.session_ == &session && !e.permits_host(host)) {
					e.denied_++;
					return err::eacces;
				}
		Session::Host *place = nullptr;
		for (Session::Host &known : session.hosts) {
			if (known.paths && known.address == host) {
				known.paths++;
				return {};
			}
			if (!known.paths && !place)
				place = &known;
		}
		// The transport has no more paths than there are places.
		if (WARN_ON_ONCE(!place))
			return err::enospc;
		*place = {host, 1};
		return {};
	});
}

void ConfiguredExports::remove_host(Session &session, const HostAddress &host)
{
	entries_.with([&](Entries &) {
		for (Session::Host &known : session.hosts)
			if (known.paths && known.address == host) {
				known.paths--;
				return;
			}
	});
}

void ConfiguredExports::drop(ConfiguredExport &entry)
{
	// No session has it open: each such one has had rmdir refused. One that is being admitted
	// finds its use revoked.
	entries_.with([&](Entries &) {
		entry.table_node.unlink();
		while (ExportUse *use = entry.uses_.pop_front())
			use->revoked_ = true;
	});
	config_item_put(entry.item());
}

} // namespace rnbd::server
