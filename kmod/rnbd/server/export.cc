// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/export.hh>

#include <rnbd/server/session.hh>

namespace rnbd::server {

Result<cxxrt::Box<Export>> Export::create(kobject *parent, block_device *bdev, const char *name)
{
	Export *e = new (GFP_KERNEL) Export(bdev);
	if (!e)
		return err::enomem;
	cxxrt::Box<Export> box = cxxrt::Box<Export>::adopt(e);
	e->name_.print("%s", name);
	// sysfs turns slashes of a name into exclamation marks.
	e->dir_ = TRY(cxxrt::SysfsDir::create_empty(parent, name, e));
	// The whole disk, also for a partition.
	TRY(Status::from_code(
	    sysfs_create_link(e->dir_.kobj(), &disk_to_dev(bdev->bd_disk)->kobj, "block_dev")));
	e->sessions_ = TRY(cxxrt::SysfsDir::create_empty(e->dir_.kobj(), "sessions", e));
	return box;
}

Mapping *Export::find(const Session &session)
{
	for (Mapping &m : mappings_)
		if (TextView::of(m.session().name()) == TextView::of(session.name()))
			return &m;
	return nullptr;
}

bool Export::has_number(dev_t number) const
{
	return bdev_->bd_dev == number;
}

ExportOpeners Export::openers(const Session &session)
{
	ExportOpeners seen{};
	for (const Mapping &m : mappings_) {
		if (TextView::of(m.session().name()) == TextView::of(session.name())) {
			seen.here = true;
			continue;
		}
		seen.elsewhere = true;
		if (may_write(m.access_mode()))
			seen.written_elsewhere = true;
	}
	return seen;
}

Status Export::add(Mapping &mapping)
{
	TRY(write_opens_.open(mapping.access_mode()));
	mapping.export_ = this;
	mappings_.push_back(mapping);
	return {};
}

void Export::remove(Mapping &mapping)
{
	mappings_.remove(mapping);
	mapping.export_ = nullptr;
	write_opens_.close(mapping.access_mode());
}

Exports::Exports()
    : exports_(cxxrt::lock_class<"rnbd-server exports">()),
      changed_(cxxrt::lock_class<"rnbd-server changed">())
{
}

Result<Export *> Exports::find_or_create(ExportList &list, block_device *bdev)
{
	char name[BDEVNAME_SIZE];
	snprintf(name, sizeof(name), "%pg", bdev);
	for (Export &e : list) {
		if (e.is(bdev))
			return &e;
		// A disk that was removed, but is still open here, and its successor.
		if (e.has_name(TextView::of(name)))
			return err::ebusy;
	}
	cxxrt::Box<Export> e = TRY(Export::create(parent_, bdev, name));
	list.push_back(*e);
	return e.release();
}

void Exports::remove_if_unused(Export &e)
{
	if (!e.unused())
		return;
	e.node_.unlink();
	delete &e;
}

// EAGAIN: the mapping that is there is not, or no longer, for others to use.
Result<cxxrt::Ref<Mapping>> Exports::try_attach(ExportList &list, Mapping &fresh)
{
	if (elsewhere(list, fresh))
		return err::eagain;
	Export *e = TRY(find_or_create(list, fresh.device()));
	if (Mapping *have = e->find(fresh.session())) {
		if (!fresh.session().knows(*have))
			return err::eagain;
		// Two disks of the client would share one id, and to unmap one would take the
		// device from the other.
		if (!(have->name() == fresh.name()))
			return err::eexist;
		TRY(check_reopen(have->access_mode(), fresh.access_mode()));
		TRY(fresh.session().take_over(*have, fresh.open_number()));
		return cxxrt::Ref<Mapping>::share(have);
	}
	Status s = e->add(fresh);
	if (!s.ok()) {
		remove_if_unused(*e);
		return s.error();
	}
	return cxxrt::Ref<Mapping>::share(&fresh);
}

Result<cxxrt::Ref<Mapping>> Exports::attach(Mapping &fresh, const Opener &opener)
{
	for (;;) {
		cxxrt::Ref<Mapping> other;
		Result<cxxrt::Ref<Mapping>> attached =
		    exports_.with([&](ExportList &list) -> Result<cxxrt::Ref<Mapping>> {
			    Result<cxxrt::Ref<Mapping>> r = try_attach(list, fresh);
			    if (!r.ok() && r.error() == err::eagain)
				    other = share_other(list, fresh);
			    return r;
		    });
		if (!other)
			return attached;
		auto over = [&] {
			return other->ended() || fresh.session().knows(*other) || opener.given_up();
		};
		// A client of this project asks again. In-tree ones do not, and one that numbers
		// its OPENs has its answer already.
		if (!fresh.session().asks_again() || opener.opening)
			wait_idle(over);
		else if (!wait_patiently(over).ok())
			return err::ebusy;
		if (opener.given_up())
			return err::econnaborted;
	}
}

// What an earlier life of the session still does to the same disk under another device: one that
// was unplugged and is back already. A disk with several paths may be open by two of them in one
// life.
Mapping *Exports::elsewhere(ExportList &list, const Mapping &fresh)
{
	for (Export &e : list) {
		if (e.is(fresh.device()))
			continue;
		Mapping *have = e.find(fresh.session());
		if (have && have->is_same_disk(fresh) && !fresh.session().knows(*have))
			return have;
	}
	return nullptr;
}

// The mapping of the session on the same device or disk.
cxxrt::Ref<Mapping> Exports::share_other(ExportList &list, const Mapping &fresh)
{
	if (Mapping *have = elsewhere(list, fresh))
		return cxxrt::Ref<Mapping>::share(have);
	for (Export &e : list)
		if (e.is(fresh.device()))
			if (Mapping *have = e.find(fresh.session()))
				return cxxrt::Ref<Mapping>::share(have);
	return {};
}

void Exports::detach(Mapping &mapping)
{
	exports_.with([&](ExportList &) {
		Export *e = mapping.export_;
		if (!e)
			return;
		e->remove(mapping);
		remove_if_unused(*e);
	});
}

ExportOpeners Exports::openers(dev_t number, const Session &session)
{
	return exports_.with([&](ExportList &list) -> ExportOpeners {
		for (Export &e : list)
			if (e.has_number(number))
				return e.openers(session);
		return {};
	});
}

bool Exports::empty()
{
	return exports_.with([](const ExportList &list) { return list.empty(); });
}

} // namespace rnbd::server
