// SPDX-License-Identifier: GPL-2.0
// For the debug objects, reference counts, lists, scatterlists, DMA mappings and caches.
#include <cxxrt/memory.hh>

#include "misdeeds.hh"

using namespace cxxrt;
using misdeeds::hidden;

namespace {

struct Timer {
	timer_list timer;
};

void expired(timer_list *) {}

Status free_active_timer()
{
	Timer *t = new (GFP_KERNEL) Timer;
	if (!t)
		return err::enomem;
	timer_setup(&t->timer, expired, 0);
	mod_timer(&t->timer, jiffies + 600 * HZ);
	delete t;
	return {};
}

Status unset_timer()
{
	Box<Timer> t = TRY(make_box<Timer>(GFP_KERNEL));
	memset(&t->timer, 0, sizeof(t->timer));
	mod_timer_pending(&t->timer, jiffies);
	return {};
}

struct Deferred {
	work_struct work;
};

void nothing(work_struct *) {}

Status init_active_work()
{
	static constinit Deferred deferred{};
	INIT_WORK(&deferred.work, nothing);
	// Queued twice without having run: while it is pending, it is set up anew.
	local_irq_disable();
	schedule_work(&deferred.work);
	INIT_WORK(&deferred.work, nothing);
	local_irq_enable();
	flush_scheduled_work();
	return {};
}

Status refcount()
{
	refcount_t count = REFCOUNT_INIT(0);
	refcount_inc(&count);
	return {};
}

Status list_corruption()
{
	list_head head = LIST_HEAD_INIT(head);
	list_head entry;
	list_add(&entry, &head);
	list_add(hidden(&entry), &head);
	return {};
}

Status scatterlist_end()
{
	scatterlist entries[2];
	sg_init_table(entries, 2);
	sg_chain(entries, 2, entries);
	return sg_page(hidden(&entries[1])) ? Status() : Status(err::einval);
}

Status busy_cache()
{
	kmem_cache *cache = kmem_cache_create("misdeeds", 128, 0, 0, nullptr);
	if (!cache)
		return err::enomem;
	if (!hidden(kmem_cache_alloc(cache, GFP_KERNEL)))
		return err::enomem;
	kmem_cache_destroy(cache);
	return {};
}

Status dma_unmapped()
{
	static constinit device dev{};
	device_initialize(&dev);
	dev_set_name(&dev, "misdeeds");
	dev.coherent_dma_mask = DMA_BIT_MASK(64);
	dev.dma_mask = &dev.coherent_dma_mask;
	dma_unmap_single(&dev, 0x1000, 64, DMA_TO_DEVICE);
	return {};
}

constexpr misdeeds::Misdeed kMisdeeds[] = {
    {"free-active-timer", free_active_timer},
    {"unset-timer", unset_timer},
    {"init-active-work", init_active_work},
    {"refcount", refcount},
    {"list-corruption", list_corruption},
    {"scatterlist-end", scatterlist_end},
    {"busy-cache", busy_cache},
    {"dma-unmapped", dma_unmapped},
};

} // namespace

constexpr misdeeds::List misdeeds::object_misdeeds = {kMisdeeds, ARRAY_SIZE(kMisdeeds)};
