// SPDX-License-Identifier: GPL-2.0
// What is exported: one Export for each block device that any session has open. It exists for the
// rules between sessions and for the directory in sysfs.
//
// The key is the device, not the name that a client gave it: links and spellings of one device
// share one export. An export lives while mappings are attached to it.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/sysfs.hh>
#include <cxxrt/wait.hh>
#include <rnbd/pure/access.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/opening.hh>
#include <rnbd/wire/discover.hh>

namespace rnbd::server {

// Under the lock of Exports, but for sessions_folder().
class Export {
public:
	// Makes the directory below `parent`. ENOMEM, ENOENT if the disk is being removed.
	static Result<cxxrt::Box<Export>> create(kobject *parent, block_device *bdev,
						 const char *name);
	~Export() = default;

	bool is(const block_device *bdev) const { return bdev_ == bdev; }
	bool has_number(dev_t number) const;
	bool has_name(TextView name) const { return name_.view() == name; }

	// The mapping of a session of that name, or null.
	Mapping *find(const Session &session);
	// Seen from a session.
	ExportOpeners openers(const Session &session);
	// EPERM if the access mode is not allowed beside the others'.
	Status add(Mapping &mapping);
	void remove(Mapping &mapping);
	bool unused() const { return mappings_.empty(); }

	// Parent of the mappings' directories, while they are attached.
	kobject *sessions_folder() const { return sessions_.kobj(); }

	cxxrt::ListNode node_;

private:
	explicit Export(block_device *bdev) : bdev_(bdev) {}

	// Some mapping has it open.
	block_device *const bdev_;
	cxxrt::TextBuffer<BDEVNAME_SIZE> name_;
	WriteOpens write_opens_;
	cxxrt::List<Mapping, &Mapping::in_export_> mappings_;
	cxxrt::SysfsDir dir_;
	cxxrt::SysfsDir sessions_;
};

class Exports {
public:
	Exports();

	// Directory of all exports; before the first attach().
	void set_parent(kobject *parent) { parent_ = parent; }

	// Admits `fresh` to its device, or finds the mapping that its session has by the same name
	// already: the mapping to use. EEXIST if the session has the device by another name, EPERM
	// if the access mode is not allowed, EBUSY while an export of the same name still ends.
	// ESTALE if a later OPEN of the session has the mapping.
	// Waits for another mapping of a session of that name which is being opened, or still ends;
	// ECONNABORTED if the opener has given up.
	Result<cxxrt::Ref<Mapping>> attach(Mapping &fresh, const Opener &opener);
	// No effect if it was not attached. The mapping's directory is gone. May sleep.
	void detach(Mapping &mapping);
	// No session has anything open. May sleep.
	bool empty();
	// Which sessions have that device open. May sleep.
	ExportOpeners openers(dev_t number, const Session &session);

	// ---- waiting for what becomes of mappings: they are there for others, they have ended
	// Something has become true that somebody may wait for. Any context.
	void wake() { changed_.wake_all(); }
	// In a work item, which may wait for hours.
	template <class F> void wait_idle(F &&condition) { changed_.wait_idle(condition); }
	// ETIMEDOUT when the client's few places for messages are needed for other devices.
	enum : unsigned int { kTimeoutMs = 10'000 };
	template <class F> Status wait_patiently(F &&condition, unsigned int ms = kTimeoutMs)
	{
		return changed_.wait_for(msecs_to_jiffies(ms), condition);
	}
	// Ended by a fatal signal with EINTR.
	template <class F> Status wait_killable(F &&condition)
	{
		return changed_.wait_killable(condition);
	}

	// Sessions and mappings that exist; none when all that any client did has ended.
	void born() { atomic_inc(&alive_); }
	void gone()
	{
		if (atomic_dec_and_test(&alive_))
			wake();
	}
	bool none_alive() const { return !atomic_read(&alive_); }

private:
	using ExportList = cxxrt::List<Export, &Export::node_>;

	Result<cxxrt::Ref<Mapping>> try_attach(ExportList &list, Mapping &fresh);
	static cxxrt::Ref<Mapping> share_other(ExportList &list, const Mapping &fresh);
	static Mapping *elsewhere(ExportList &list, const Mapping &fresh);
	Result<Export *> find_or_create(ExportList &list, block_device *bdev);
	static void remove_if_unused(Export &e);

	kobject *parent_ = nullptr;
	// Held while directories are made and removed, so that a name is free again when a new
	// export needs it. No method of a file below takes it but force_close, whose file is gone
	// by then.
	cxxrt::Guarded<ExportList, cxxrt::Mutex> exports_;
	cxxrt::WaitQueue changed_;
	atomic_t alive_ = ATOMIC_INIT(0);
};

} // namespace rnbd::server
